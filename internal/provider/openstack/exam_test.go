package openstack_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/openstack"
	"hale/internal/provider/providertest"
)

// harness examines the adapter on the twin. What real clouds say to the same questions: e2e/openstack.
type harness struct {
	*twin
	file string
}

func newHarness(t *testing.T, shape func(*twin)) harness {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(file, []byte(twinClouds), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newTwin()
	shape(w)
	return harness{w, file}
}

func (h harness) options() openstack.Options {
	return openstack.Options{
		Cloud:      "twin",
		CloudsFile: h.file,
		Wrap:       func(http.RoundTripper) http.RoundTripper { return h.twin },
	}
}

func (h harness) New(t providertest.T) provider.Provider {
	p, err := openstack.New(h.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func (h harness) Hosts() []fleet.HostName { return []fleet.HostName{""} }

func (h harness) Template() policy.Template {
	return policy.Template{
		Image:   "tiny",
		Network: "private",
		Disks:   []policy.Disk{{Name: "root", Ephemeral: true}},
		Server:  &policy.Server{Flavor: "m1.nano"},
	}
}

func (h harness) Adjusted() policy.Template {
	t := h.Template()
	t.Server = &policy.Server{Flavor: "84"} // the id of m1.micro
	t.Metadata, t.Tags = fleet.MetadataOf(map[string]string{"tier": "gold"}), fleet.TagsOf([]string{"blue"})
	return t
}

func (h harness) Noting() {}

func (h harness) Patience() time.Duration { return time.Minute }

// nova returns Nova's id of the instance.
func (h harness) nova(id fleet.InstanceID) string {
	for _, s := range h.living() {
		if s.Metadata["hale_id"] == string(id) || s.ID == string(id) {
			return s.ID
		}
	}
	return ""
}

func (h harness) Kill(_ providertest.T, id fleet.InstanceID) {
	nova := h.nova(id)
	h.look(func() { h.crash(nova) })
}

func (h harness) Pause(_ providertest.T, id fleet.InstanceID) {
	nova := h.nova(id)
	h.look(func() {
		s := h.servers[nova]
		s.record("pause", "an operator")
		s.later(0, "", func() { s.Status = "PAUSED" })
	})
}

func (h harness) Unrescue(_ providertest.T, id fleet.InstanceID) {
	nova := h.nova(id)
	h.look(func() { h.act(h.servers[nova], map[string]any{"unrescue": nil}) })
}

func (h harness) Counts() []policy.Usage { return policy.Usages() }

func (h harness) Printed(providertest.T, provider.Ref) string { return "FAKE CONSOLE" }

func (h harness) Stranger(_ providertest.T, _ fleet.HostName, name string) provider.Ref {
	id := ""
	h.look(func() { id = h.plant(name, nil, nil, "") })
	return provider.Ref{ID: fleet.InstanceID(id)}
}

// CopyOf is a server with the metadata and tags of another one, as a backup makes that is restored beside it.
func (h harness) CopyOf(t providertest.T, ref provider.Ref, name string) provider.Ref {
	of, id := h.nova(ref.ID), ""
	h.look(func() {
		id = h.plant(name, maps.Clone(h.servers[of].Metadata), slices.Clone(h.servers[of].Tags), "SHUTOFF")
	})
	t.Cleanup(func() { h.look(func() { delete(h.servers, id) }) })
	return provider.Ref{ID: fleet.InstanceID(id)}
}

func (h harness) Disconnect(providertest.T) {
	h.makeTrouble(func(*http.Request) effect { return effect{err: errUnplugged} })
}
func (h harness) Reconnect(providertest.T) { h.makeTrouble(nil) }

func (h harness) Freeze(providertest.T) {
	h.makeTrouble(func(*http.Request) effect { return effect{hang: true} })
}
func (h harness) Thaw(providertest.T) { h.makeTrouble(nil) }

// LoseAnswers loses those to requests that change something.
func (h harness) LoseAnswers(_ providertest.T, after int) <-chan struct{} {
	var orders atomic.Int64
	h.makeTrouble(func(q *http.Request) effect {
		order := q.Method != http.MethodGet && !strings.Contains(q.URL.Path, "/identity/")
		return effect{unsaid: order && orders.Add(1) > int64(after)}
	})
	return nil
}
func (h harness) HearAnswers(providertest.T) { h.makeTrouble(nil) }

// Belongings are the ports and volumes that bear the installation's name or belong to one of the instances.
func (h harness) Belongings(_ providertest.T, installation fleet.Installation, ids []fleet.InstanceID) []string {
	var found []string
	h.look(func() {
		for _, p := range h.ports {
			of := func(id fleet.InstanceID) bool {
				return strings.Contains(p.Description, string(id)) || p.Device == string(id)
			}
			if strings.Contains(p.Description, string(installation)) || slices.ContainsFunc(ids, of) {
				found = append(found, p.ID)
			}
		}
		for _, v := range h.volumes {
			if v.Metadata["hale_installation"] == string(installation) {
				found = append(found, v.ID)
			}
		}
	})
	slices.Sort(found)
	return found
}

func TestExam(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]func(*twin){
		"a network of its own":  func(*twin) {},
		"another's network":     func(w *twin) { w.owner = false },
		"pages of two, no wait": func(w *twin) { w.pageSize, w.boot = 2, 0 },
	} {
		for _, c := range providertest.Cases(harness{}) {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				h := newHarness(t, shape)
				synctest.Test(t, func(t *testing.T) { c.Run(t, h) })
			})
		}
	}
}

// TestExamLeavesNothing: neither a server nor a port stays of what the exam built and removed.
func TestExamLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range providertest.Cases(harness{}) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(*twin) {})
			synctest.Test(t, func(t *testing.T) { c.Run(t, h) })
			for _, s := range h.living() {
				if s.Name != "stranger" {
					t.Errorf("server %s stays, %s", s.Name, s.Status)
				}
			}
			h.look(func() {
				for _, p := range h.ports {
					if strings.HasPrefix(p.Description, "hale") {
						t.Errorf("port %s stays: %q of %q", p.ID, p.Description, p.Device)
					}
				}
			})
		})
	}
}
