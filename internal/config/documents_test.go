package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"hale/internal/adapters"
	"hale/internal/config/fleets"
	"hale/internal/keys"

	"github.com/google/go-cmp/cmp"
)

const (
	schemaFile    = "../../docs/hale.schema.json"
	referenceFile = "../../docs/reference/configuration.md"
)

// The published documents are made from the tables; go test ./internal/config -update writes them anew.
func TestDocumentsAreUpToDate(t *testing.T) {
	t.Parallel()
	schema, err := Schema(adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{schemaFile: string(schema), referenceFile: reference()} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("%s is stale: go test ./internal/config -update\n%s", path, diff)
		}
	}
}

// Every key says what it means, and every default is a value that could be written.
func TestEveryKeyIsDescribed(t *testing.T) {
	t.Parallel()
	seen := 0
	documentShape(adapters.All()).Schema().Walk("", func(path string, object *keys.Schema) {
		for _, key := range object.Order {
			seen++
			if p := object.Properties[key]; p.Description == "" {
				t.Errorf("%s.%s has no description", path, key)
			}
		}
	})
	if seen < 60 {
		t.Errorf("only %d keys were visited", seen)
	}
}

// A file that writes every default out means the same as one that leaves them out: the documents state what happens.
func TestStatedDefaultsAreTheRealOnes(t *testing.T) {
	t.Parallel()
	provider, web := providerShape(adapters.All()).Schema(), fleets.Shape(adapters.All()).Schema()
	for _, key := range []string{"boot", "latency", "timeout", "parallel"} {
		delete(provider.Properties, key) // of the other type
	}
	text := func(providerKeys, templateKeys, checkKeys, httpKeys, startKeys, rebootKeys, recreateKeys, repairKeys,
		fleetKeys string) string {
		return fmt.Sprintf(`
providers: {lab: {type: libvirt, uri: qemu:///system%s}}
fleets:
  web:
    provider: lab
    size: 3
    template: {kernel: k, initrd: i%s}
    checks: {page: {http: {%s}%s}}
    repair: {steps: [start: {%s}, reboot: {%s}, recreate: {%s}]%s}%s
`, providerKeys, templateKeys, strings.TrimPrefix(httpKeys, ", "), checkKeys, strings.TrimPrefix(startKeys, ", "),
			strings.TrimPrefix(rebootKeys, ", "), strings.TrimPrefix(recreateKeys, ", "), repairKeys, fleetKeys)
	}
	check := web.Properties["checks"].Each()
	step := func(kind string) string {
		return presets(web.Properties["repair"].Properties["steps"].Items.AnyOf[1].Properties[kind])
	}
	fleetKeys := strings.ReplaceAll(presets(web), ", ", "\n    ")
	fleetKeys += "\n    limits: {" + strings.TrimPrefix(presets(web.Properties["limits"]), ", ") +
		", brake: {" + strings.TrimPrefix(presets(web.Properties["limits"].Properties["brake"]), ", ") + "}}"
	fleetKeys += "\n    shared_fate: {" + strings.TrimPrefix(presets(web.Properties["shared_fate"]), ", ") + "}"
	repair := presets(web.Properties["repair"]) +
		", fence: {" + strings.TrimPrefix(presets(web.Properties["repair"].Properties["fence"]), ", ") + "}"
	full := text(presets(provider), presets(web.Properties["template"]), presets(check),
		presets(check.Properties["http"]),
		step("start"), step("reboot"), step("recreate"), repair, fleetKeys)
	bare := text("", "", "", "", "", "", "", "", "")
	if diff := cmp.Diff(sound(t, bare), sound(t, full), addresses); diff != "" {
		t.Errorf("with the defaults written out (-bare +full):\n%s\n%s", diff, full)
	}
	if n := strings.Count(full, ":") - strings.Count(bare, ":"); n < 28 {
		t.Errorf("only %d defaults were written out:\n%s", n, full)
	}
}

// presets writes an object's own defaults as ", key: value" each.
func presets(object *keys.Schema) string {
	var b strings.Builder
	for _, key := range object.Order {
		if p, ok := object.Properties[key]; ok && p.Default != nil {
			fmt.Fprintf(&b, ", %s: %v", key, p.Default)
		}
	}
	return b.String()
}

// reference renders the page from the tables.
func reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration reference

<!-- Made from the tables of package config: go test ./internal/config -update. Do not edit. -->

The configuration is one YAML file, or a folder with ` + "`*.yaml`" + ` files, which are read as one. It is read strictly: a key that is
not listed here is an error, every problem is reported at once with file, line and column, and nothing is accepted by
half. Anchors, aliases and tags are not supported. Words in capitals stand for names that you choose: lower-case letters,
digits and inner hyphens, starting with a letter, at most 48 long. Ready files are in [examples](../../examples), a schema
for editors is [hale.schema.json](../hale.schema.json).

| type | written as |
|---|---|
| duration | a Go duration: ` + "`500ms`, `30s`, `1h30m`" + ` |
| size | a whole number of ` + "`KiB`, `MiB`, `GiB` or `TiB`" + ` |
| percentage | a whole number with its sign: ` + "`20%`" + ` |
| number in time | ` + "`3 in 1h`" + ` |
| condition | a check's name, ` + "`provider`, or a mapping with `any`, `all`, or `at_least` and `of`" + `; conditions may contain conditions |
`)
	documentShape(adapters.All()).Schema().Walk("", func(path string, object *keys.Schema) {
		if len(object.Order) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", heading(path))
		b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
		for _, key := range object.Order {
			p := object.Properties[key]
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", key, typeOf(p), defaultOf(object, key),
				strings.ReplaceAll(p.Description,
					"|", `\|`))
		}
		if len(object.Later) > 0 {
			fmt.Fprintf(&b, "\nNot available yet, and refused: `%s`.\n",
				strings.Join(slices.Sorted(maps.Keys(object.Later)),
					"`, `"))
		}
	})
	return b.String()
}

func heading(path string) string {
	if path == "" {
		return "The top of the file"
	}
	return path
}

func typeOf(s *keys.Schema) string {
	var words []string
	switch {
	case s.AnyOf != nil:
		for _, a := range s.AnyOf {
			words = append(words, typeOf(a))
		}
		return strings.Join(slices.Compact(words), " or ")
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Items != nil:
		return "list of " + typeOf(s.Items)
	case s.Each() != nil:
		return "mapping of " + s.EachKey + " to " + typeOf(s.Each())
	case s.Properties != nil:
		return "mapping"
	case s.Enum != nil:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case s.Bounds != "":
		return s.Noun + ", " + s.Bounds
	}
	return s.Noun
}

func defaultOf(object *keys.Schema, key string) string {
	p := object.Properties[key]
	switch {
	case slices.Contains(object.Required, key):
		return "required"
	case p.Words != "":
		return p.Words
	case p.Default != nil:
		value, err := json.Marshal(p.Default)
		if err != nil {
			return err.Error()
		}
		return "`" + strings.Trim(string(value), `"`) + "`"
	}
	return ""
}
