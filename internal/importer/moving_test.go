package importer_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/policy"
	"hale/internal/importer"
)

// samples are the files of the script of hale import.
func samples(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../cmd/hale/testdata/script/import.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range txtar.Parse(data).Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

// spot is a mapping of a file, and how to put a key into it.
type spot struct {
	path string
	with func() any // the whole file, with the key
}

// mappings returns every mapping of the tree.
func mappings(v any, path string, whole func(any) any) []spot {
	var found []spot
	switch v := v.(type) {
	case yaml.MapSlice:
		found = append(found, spot{
			path,
			func() any { return whole(append(v[:len(v):len(v)], yaml.MapItem{Key: "zzz", Value: "lost"})) },
		})
		for i, item := range v {
			key, _ := item.Key.(string)
			found = append(found, mappings(item.Value, strings.TrimPrefix(path+"."+key, "."), func(inner any) any {
				out := append(yaml.MapSlice{}, v...)
				out[i].Value = inner
				return whole(out)
			})...)
		}
	case []any:
		for i, item := range v {
			found = append(found, mappings(item, path+"["+strconv.Itoa(i)+"]", func(inner any) any {
				out := append([]any{}, v...)
				out[i] = inner
				return whole(out)
			})...)
		}
	}
	return found
}

// TestS70NoKeyIsLostSilently puts an unknown key into every mapping of the samples. The importer carries it over, or
// names it, or names what it is in.
func TestS70NoKeyIsLostSilently(t *testing.T) {
	t.Parallel()
	files := samples(t)
	senlin := []string{"policy.yaml", "profile.yaml", "cluster.yaml", "out.yaml", "in.yaml", "deletion.yaml"}
	for _, name := range append([]string{"old-policy.yaml", "blueprint.yaml"}, senlin...) {
		var tree any
		if err := yaml.UnmarshalWithOptions([]byte(files[name]), &tree, yaml.UseOrderedMap()); err != nil {
			t.Fatal(err)
		}
		all := mappings(tree, "", func(v any) any { return v })
		if len(all) < 4 && name != "cluster.yaml" && name != "deletion.yaml" && name != "out.yaml" &&
			name != "in.yaml" {
			t.Errorf("%s has only %d mappings", name, len(all))
		}
		for _, s := range all {
			data, err := yaml.Marshal(s.with())
			if err != nil {
				t.Fatal(err)
			}
			var r importer.Result
			if name == "blueprint.yaml" {
				r, err = importer.Healer(importer.Source{Name: name, Data: data})
			} else {
				sources := []importer.Source{{Name: name, Data: data}}
				for _, other := range senlin {
					if name != "old-policy.yaml" && other != name {
						sources = append(sources, importer.Source{Name: other, Data: []byte(files[other])})
					}
				}
				r, err = importer.Senlin(sources)
			}
			if err != nil {
				t.Errorf("%s, in %s: %v", name, s.path, err)
			} else if !told(r, name, s.path) {
				t.Errorf("%s: a key in %q is lost without a word:\n%s", name, s.path, r.Config)
			}
		}
	}
}

// told reports whether the key is carried over, or a note says that it, or what it is in, is not.
func told(r importer.Result, file, path string) bool {
	_, made, _ := strings.Cut(string(r.Config), "\n\n")
	if strings.Contains(made, "zzz") {
		return true
	}
	for _, n := range r.Notes {
		about, _, _ := strings.Cut(strings.Replace(n.Text, " ", ":", 1), ":")
		if n.Kind == importer.Lost && n.File == file &&
			(strings.Contains(n.Text, "zzz") || about != "" && strings.HasPrefix(path, about)) {
			return true
		}
	}
	return false
}

// TestS70WhatIsMadeIsValid, also of files that say little, or what is wrong.
func TestS70WhatIsMadeIsValid(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "type: senlin.policy.health\n",
		"wrong forms": "type: senlin.policy.health\nversion: 7\nproperties: {detection: {interval: often, " +
			"detection_modes: NODE_STATUS_POLLING}, recovery: {actions: REBOOT, fencing: COMPUTE}}\n",
		"unknown words": "type: senlin.policy.health\n" +
			"properties: {detection: {interval: 100000, detection_modes: [{type: MOON_PHASE}, {type: " +
			"LIFECYCLE_EVENTS}, {type: HYPERVISOR_STATUS_POLLING}]}, recovery: {actions: [{name: PRAY}]}}\n",
		"a URL that is none": "type: senlin.policy.health\nproperties: {detection: {detection_modes: [{type: " +
			"NODE_STATUS_POLL_URL, options: {poll_url: 'ftp://u:hunter2@x/'}}]}}\n",
		"an expression of PCRE": "type: senlin.policy.health\n" +
			"properties: {detection: {detection_modes: [{type: NODE_STATUS_POLL_URL, options: {poll_url: " +
			"'http://{nodename}/', poll_url_healthy_response: '(?<=a)b'}}]}}\n",
		"an anchor": "type: senlin.policy.health\nproperties: {detection: {detection_modes: [&m {type: " +
			"NODE_STATUS_POLLING}], interval: 60}, recovery: {actions: [{name: REBOOT, params: {type: HARD}}]}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := importer.Senlin([]importer.Source{{Name: "p.yaml", Data: []byte(text)}})
			if err != nil {
				t.Fatal(err)
			}
			c, err := config.Parse("hale.yaml", r.Config, adapters.All())
			if err != nil {
				t.Fatalf("%v\n%s", err, r.Config)
			}
			for _, f := range c.Fleets { // the other healer still runs
				if f.Mode != policy.ModeObserve {
					t.Errorf("fleet %s is in mode %s, and not only watched at first:\n%s", f.Name, f.Mode, r.Config)
				}
			}
			if strings.Contains(string(r.Config), "hunter2") {
				t.Errorf("a secret is repeated:\n%s", r.Config)
			}
		})
	}
}

// TestS70AnErrorShowsNoLineOfTheFile: there may be a secret in it.
func TestS70AnErrorShowsNoLineOfTheFile(t *testing.T) {
	t.Parallel()
	_, err := importer.Senlin([]importer.Source{
		{Name: "p.yaml", Data: []byte("type: senlin.policy.health\nadmin_pass: \"hunter2\n x: [")},
	})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "p.yaml") {
		t.Errorf("%v", err)
	}
}

// Nine lists of nine aliases each are a few hundred bytes, and would be 400 million values.
func TestAliasesOfAliasesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n")
	for n := 1; n < 9; n++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", n, n, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", n-1), 9),
			", "))
	}
	if _, err := importer.Healer(importer.Source{Name: "blueprint.yaml", Data: []byte(b.String())}); err == nil ||
		!strings.Contains(err.Error(), "aliases") {
		t.Errorf("read: %v", err)
	}
}
