package openstack_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/openstack"
)

// administrator makes an adapter that sees hypervisors. It is called in the bubble.
func (h harness) administrator(t *testing.T) (*openstack.Provider, *twin) {
	t.Helper()
	o := h.options()
	o.Hypervisors = true
	p, err := openstack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, h.twin
}

// running builds an instance and waits until it runs; it returns it with a reference to where it is.
func running(t *testing.T, p provider.Provider) (fleet.Instance, provider.Ref) {
	t.Helper()
	order := (&scene{}).order(1)
	if err := p.Create(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		i, err := p.Get(t.Context(), order.Ref)
		if err != nil {
			t.Fatal(err)
		}
		if i.Power == fleet.PowerRunning {
			ref := order.Ref
			ref.Host = i.Host
			return i, ref
		}
		time.Sleep(time.Second)
	}
	t.Fatal("it never ran")
	return fleet.Instance{}, provider.Ref{}
}

func hostOf(l provider.Listing, name fleet.HostName) provider.HostAnswer {
	for _, h := range l.Hosts {
		if h.Name == name {
			return h
		}
	}
	return provider.HostAnswer{}
}

// TestHypervisorsAreHosts: an administrator's listing tells where each server is and how its hypervisor stands.
func TestHypervisorsAreHosts(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(*twin) {})
	synctest.Test(t, func(t *testing.T) {
		p, w := h.administrator(t)
		made, _ := running(t, p)
		l, err := p.List(t.Context())
		if err != nil || len(l.Hosts) != 4 || len(l.Instances) != 1 || l.Instances[0].Host != "compute1" ||
			made.Host != "compute1" {
			t.Fatalf("%+v, %v", l, err)
		}
		if h := hostOf(l, ""); h.Closed || h.Err != nil {
			t.Errorf("orders go to the project, which is %+v", h)
		}
		if h := hostOf(l, "compute1"); !h.Closed || h.Disabled || h.Err != nil || h.Place.Zone != "nova" {
			t.Errorf("its hypervisor is %+v", h)
		}
		w.look(func() { w.hosts["compute1"].disabled = true })
		if l, err = p.List(t.Context()); err != nil || len(l.Instances) != 1 || !hostOf(l, "compute1").Disabled ||
			hostOf(l, "compute1").Err != nil {
			t.Errorf("disabled: %+v, %v", l, err)
		}
	})
}

// TestL04HypervisorsHaveAddresses: a hypervisor's own address is a witness where Nova tells it, and only one;
// credentials that may not read it list all the same, and it is said once.
func TestL04HypervisorsHaveAddresses(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(w *twin) {
		w.hosts["compute1"].addresses = []string{"192.0.2.11"}
		w.hosts["compute2"].addresses = []string{"192.0.2.12", "192.0.2.13"}
		w.hosts["compute3"].addresses = []string{"127.0.0.1"}
	})
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		o := h.options()
		o.Hypervisors, o.Logger = true, slog.New(slog.NewTextHandler(&said, nil))
		p, err := openstack.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		at := func(want ...netip.Addr) {
			t.Helper()
			l, err := p.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range []fleet.HostName{"compute1", "compute2", "compute3"} {
				if got := hostOf(l, name).Address; got != want[i] {
					t.Errorf("%s is at %v, want %v", name, got, want[i])
				}
			}
		}
		none, one := netip.Addr{}, netip.MustParseAddr("192.0.2.11")
		at(one, none, none)
		h.twin.look(func() { h.twin.hosts["compute1"].addresses = []string{"192.0.2.21"} })
		at(one, none, none)
		time.Sleep(11 * time.Minute)
		at(netip.MustParseAddr("192.0.2.21"), none, none)
		h.twin.look(func() { h.twin.hidesAddresses = true })
		for range 3 {
			time.Sleep(11 * time.Minute)
			at(none, none, none)
		}
		if n := strings.Count(said.String(), "may not read the addresses"); n != 1 {
			t.Errorf("it is said %d times: %s", n, said.String())
		}
	})
}

// TestOfASilentHypervisorNothingIsSaid: the list leaves out its servers, and Get fails as transient.
func TestOfASilentHypervisorNothingIsSaid(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(*twin) {})
	synctest.Test(t, func(t *testing.T) {
		p, w := h.administrator(t)
		_, ref := running(t, p)
		for what, change := range map[string]func(*twinHost){
			"it sends no heartbeats":         func(h *twinHost) { h.silent = true },
			"an operator forced it down":     func(h *twinHost) { h.forced = true },
			"it is disabled, and sends none": func(h *twinHost) { h.silent, h.disabled = true, true },
		} {
			w.look(func() { change(w.hosts["compute1"]) })
			l, err := p.List(t.Context())
			if err != nil || len(l.Instances) != 0 || !fault.Is(hostOf(l, "compute1").Err, fault.Transient) ||
				hostOf(l, "compute2").Err != nil {
				t.Errorf("%s: %+v, %v", what, l, err)
			}
			if _, err := p.Get(t.Context(), ref); !fault.Is(err, fault.Transient) {
				t.Errorf("%s: get says %v", what, err)
			}
			w.look(func() { *w.hosts["compute1"] = twinHost{} })
		}
	})
}

// TestHypervisorsThatAreNotShown: an error says that the credentials may not see them. Without the option hale does not
// ask for them.
func TestHypervisorsThatAreNotShown(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(*twin) {})
	synctest.Test(t, func(t *testing.T) {
		p, w := h.administrator(t)
		w.look(func() { w.admin = false })
		if _, err := p.List(t.Context()); !fault.Is(err, fault.Unauthorised) ||
			!strings.Contains(err.Error(), "hypervisors") {
			t.Errorf("%v", err)
		}
		w.look(func() { w.admin, w.hosts = true, map[string]*twinHost{} })
		if _, err := p.List(t.Context()); !fault.Is(err, fault.Transient) {
			t.Errorf("a cloud without any: %v", err)
		}
	})
	h = newHarness(t, func(w *twin) { w.admin = false })
	synctest.Test(t, func(t *testing.T) {
		plain := h.New(t)
		if l, err := plain.List(t.Context()); err != nil || len(l.Hosts) != 1 {
			t.Errorf("%+v, %v", l, err)
		}
		moved := plain.(*openstack.Provider).Evacuate(t.Context(), provider.Ref{ID: "x"})
		if lacks := provider.Cannot(plain); !fault.Is(moved, fault.Unsupported) ||
			!strings.Contains(joined(lacks), "evacuate migrate") {
			t.Errorf("%v, and it lacks %v", moved, lacks)
		}
	})
}

func joined(ops []fleet.Op) string {
	var words []string
	for _, op := range ops {
		words = append(words, string(op))
	}
	return strings.Join(words, " ")
}

// moved are the two ways to another hypervisor.
var moves = map[string]struct {
	sick func(*twinHost)
	move func(*openstack.Provider, context.Context, provider.Ref) error
	done func(*twinServer) int
	word string
}{
	"evacuated": {
		func(h *twinHost) { h.silent = true },
		(*openstack.Provider).Evacuate,
		func(s *twinServer) int { return s.evacuated },
		"evacuate",
	},
	"evacuated off a disabled one": {
		func(h *twinHost) { h.silent, h.disabled = true, true },
		(*openstack.Provider).Evacuate,
		func(s *twinServer) int { return s.evacuated },
		"evacuate",
	},
	"migrated": {
		func(h *twinHost) { h.disabled = true },
		(*openstack.Provider).Migrate,
		func(s *twinServer) int { return s.migrated },
		"os-migrateLive",
	},
}

// TestMoved: the server lives on elsewhere under its id, mark and address, and an order that is repeated does nothing
// more, also when the answer to the first was lost.
func TestMoved(t *testing.T) {
	t.Parallel()
	for name, way := range moves {
		for _, answer := range []string{"heard", "lost"} {
			t.Run(name+", "+answer, func(t *testing.T) {
				t.Parallel()
				h := newHarness(t, func(*twin) {})
				synctest.Test(t, func(t *testing.T) {
					p, w := h.administrator(t)
					was, ref := running(t, p)
					w.look(func() { way.sick(w.hosts["compute1"]) })
					if answer == "lost" {
						w.makeTrouble(func(q *http.Request) effect {
							return effect{unsaid: q.Method == http.MethodPost}
						})
						ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
						defer cancel()
						if err := way.move(p, ctx, ref); !fault.Is(err, fault.UnknownOutcome) {
							t.Fatalf("unheard: %v", err)
						}
						w.makeTrouble(nil)
					}
					for range 3 {
						if err := way.move(p, t.Context(), ref); err != nil {
							t.Fatal(err)
						}
					}
					now, err := p.Get(t.Context(), ref)
					if err != nil || now.Host != "compute2" || now.ID != was.ID || now.Mark != was.Mark ||
						now.Address != was.Address || now.Power != fleet.PowerRunning {
						t.Errorf("%+v became %+v, %v", was, now, err)
					}
					if all := w.living(); len(all) != 1 || way.done(all[0]) != 1 {
						t.Errorf("%d servers, moved %d times", len(all), way.done(all[0]))
					}
				})
			})
		}
	}
}

// TestNotMoved: what must not move does not, and what could not says so.
func TestNotMoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		way   string
		shape func(*twin, *provider.Ref)
		want  fault.Kind
	}{
		"evacuated off a hypervisor that answers": {"evacuated", func(*twin, *provider.Ref) {}, fault.Conflict},
		"evacuated off one that is only disabled": {
			"evacuated",
			func(w *twin, _ *provider.Ref) { w.hosts["compute1"].disabled = true },
			fault.Conflict,
		},
		"evacuated under another's mark": {"evacuated", func(w *twin, r *provider.Ref) {
			w.hosts["compute1"].silent = true
			r.Mark.Generation++
		}, fault.Conflict},
		"evacuated to nowhere": {"evacuated", func(w *twin, _ *provider.Ref) {
			w.hosts["compute1"].silent, w.hosts["compute2"].full, w.hosts["compute3"].full = true, true, true
		}, fault.Permanent},
		"migrated to nowhere": {
			"migrated",
			func(w *twin, _ *provider.Ref) { w.hosts["compute2"].full, w.hosts["compute3"].disabled = true, true },
			fault.Permanent,
		},
		"migrated off a hypervisor that does not answer": {
			"migrated",
			func(w *twin, _ *provider.Ref) { w.hosts["compute1"].silent = true },
			fault.Transient,
		},
		"migrated while it is off": {"migrated", func(w *twin, _ *provider.Ref) {
			for _, s := range w.servers {
				s.Status, s.Power = "SHUTOFF", 4
			}
		}, fault.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(*twin) {})
			synctest.Test(t, func(t *testing.T) {
				p, w := h.administrator(t)
				_, ref := running(t, p)
				w.look(func() { c.shape(w, &ref) })
				if err := moves[c.way].move(p, t.Context(), ref); !fault.Is(err, c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				for _, s := range w.living() {
					if s.Host != "compute1" {
						t.Errorf("it is on %s", s.Host)
					}
				}
			})
		})
	}
}
