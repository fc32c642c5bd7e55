package openstack_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// diagnoses answers as Nova does of what a server uses: in the hypervisor's own words up to microversion 2.47, in those
// of all hypervisors from then on. Each server works a tenth of its two processors, and its guest uses a quarter of its
// memory.
func (w *twin) diagnoses() {
	w.handle("GET /compute/v2.1/servers/{id}/diagnostics", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		s := w.servers[q.PathValue("id")]
		var minor int
		fmt.Sscanf(q.Header.Get("X-OpenStack-Nova-API-Version"), "2.%d", &minor)
		switch {
		case s == nil || s.Status == "DELETED":
			return 404, mistake("itemNotFound", 404, "Instance "+q.PathValue("id")+" could not be found.")
		case !w.admin:
			return 403, mistake("forbidden", 403, "Policy doesn't allow os_compute_api:os-server-diagnostics to be "+
				"performed.")
		case s.Status != "ACTIVE":
			return 409, mistake("conflictingRequest", 409, "Cannot 'get_diagnostics' instance "+s.ID+
				" while it is in power state shutdown")
		case minor < 48:
			return 200, w.ownWords(s)
		}
		return 200, w.sharedWords(s)
	})
}

func (w *twin) ownWords(s *twinServer) map[string]any {
	if cmp.Or(w.driver, "libvirt") != "libvirt" {
		return map[string]any{"vmware:overallCpuUsage": 42, "vmware:guestMemoryUsage": 256}
	}
	ran := time.Since(s.Created)
	return map[string]any{
		"cpu0_time": int64(ran) / 20, "cpu1_time": int64(ran) / 5 * 3 / 4, "vda_read": 262144, "vda_errors": -1,
		"tap0_rx": int64(ran.Seconds() * 1000), "tap0_rx_packets": 12, "tap1_rx": 7, "tap0_tx": 500,
		"memory": 524288, "memory-available": 400000, "memory-unused": 100000, "memory-usable": 300000,
	}
}

func (w *twin) sharedWords(s *twinServer) map[string]any {
	out := map[string]any{"driver": cmp.Or(w.driver, "libvirt"), "cpu_details": []any{}, "nic_details": []any{},
		"memory_details": map[string]any{"maximum": 1024, "used": 256}}
	if out["driver"] == "libvirt" {
		ran := time.Since(s.Created)
		out["cpu_details"] = []any{map[string]any{"id": 0, "time": int64(ran) / 10, "utilisation": nil}}
		out["nic_details"] = []any{map[string]any{"mac_address": "fa:16:3e:00:00:01", "rx_octets": nil},
			map[string]any{"mac_address": "fa:16:3e:00:00:02", "rx_octets": 1000, "tx_octets": 500}}
		out["memory_details"] = map[string]any{"maximum": 1, "used": 1} // what it was given
	}
	return out
}

// used asks what all instances of the scene use.
func (s *scene) used() (map[fleet.InstanceID]provider.Usage, error) {
	s.Helper()
	refs := make([]provider.Ref, len(s.orders))
	for i, o := range s.orders {
		refs[i] = o.Ref
	}
	return s.p.(provider.UsageReader).Usage(s.Context(), refs)
}

// The old words of libvirt say all, and one question is enough. What the other hypervisors have is in the words that
// all share, and what libvirt says of memory there is no use of it.
func TestUsageIsReadInEitherVocabulary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		driver, oldest string
		asked          []string // the microversions, in order
		want           []policy.Usage
		memory         float64
	}{
		"libvirt": {"libvirt", "2.1", []string{"2.47"}, policy.Usages(), 25},
		"vmware":  {"vmwareapi", "2.1", []string{"2.47", "2.93"}, []policy.Usage{policy.UsageMemory}, 25},
		"a cloud that has forgotten the old words": {"libvirt", "2.53", []string{"2.93"},
			[]policy.Usage{policy.UsageCPU, policy.UsageReceived, policy.UsageSent}, 0},
	} {
		play(t, 1, func(s *scene) {
			s.look(func() { s.driver, s.oldest = c.driver, c.oldest })
			var asked []string
			s.makeTrouble(func(q *http.Request) effect {
				if strings.HasSuffix(q.URL.Path, "/diagnostics") {
					asked = append(asked, q.Header.Get("X-OpenStack-Nova-API-Version"))
				}
				return effect{}
			})
			s.p = s.New(s.T) // it agrees anew on how to speak
			all, err := s.used()
			of := all[s.orders[0].ID].Of
			if got := slices.Sorted(maps.Keys(of)); err != nil ||
				!slices.Equal(got, slices.Sorted(slices.Values(c.want))) {
				s.Errorf("%s: %v, %v", name, of, err)
			}
			if m := of[policy.UsageMemory]; m.Value != c.memory || m.Counts {
				s.Errorf("%s: its memory is %+v", name, m)
			}
			if !slices.Equal(asked, c.asked) {
				s.Errorf("%s: asked in %v", name, asked)
			}
		})
	}
}

// Clouds tell it to administrators alone, where their operators did not say otherwise.
func TestUsageIsRefusedToAMember(t *testing.T) {
	t.Parallel()
	play(t, 2, func(s *scene) {
		s.look(func() { s.admin = false })
		_, err := s.used()
		if !fault.Is(err, fault.Unauthorised) || !strings.Contains(err.Error(), "os-server-diagnostics") {
			s.Errorf("it says %v", err)
		}
	})
}

// A hypervisor that does not answer keeps nobody from the others' answers.
func TestUsageOfOthersIsToldWhileOneHangs(t *testing.T) {
	t.Parallel()
	play(t, 3, func(s *scene) {
		hangs := s.nova(s.orders[1].ID)
		s.makeTrouble(func(q *http.Request) effect { return effect{hang: strings.Contains(q.URL.Path, hangs)} })
		began := time.Now()
		all, err := s.used()
		if _, told := all[s.orders[1].ID]; err != nil || told || len(all) != 2 || time.Since(began) > 10*time.Second {
			s.Errorf("after %s: %v, %v", time.Since(began), all, err)
		}
		s.makeTrouble(func(q *http.Request) effect { return effect{hang: strings.Contains(q.URL.Path, "diagnostics")} })
		all, err = s.used()
		if !fault.Is(err, fault.Transient) {
			s.Errorf("when all hang: %v, %v", all, err)
		}
	})
}

// Nova writes down a fault of a server that is asked while it does not run. So it is not, once the list shows it.
func TestAServerThatRestsIsNotAsked(t *testing.T) {
	t.Parallel()
	play(t, 2, func(s *scene) {
		s.must("power off", s.p.PowerOff(s.Context(), s.orders[0].Ref))
		s.pass(10 * time.Second)
		if _, err := s.p.List(s.Context()); err != nil {
			s.Fatal(err)
		}
		rests := s.nova(s.orders[0].ID)
		s.makeTrouble(func(q *http.Request) effect {
			if strings.Contains(q.URL.Path, rests) {
				s.Errorf("%s is asked", q.URL.Path)
			}
			return effect{}
		})
		if all, err := s.used(); err != nil || len(all) != 1 {
			s.Errorf("%v, %v", all, err)
		}
	})
}
