package openstack_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"hale/internal/core/fault"
	"hale/internal/provider/openstack"
)

// TestTheWayToSpeakIsAgreedOn: of what Nova and hale both speak the newest, in every request; where there is none that
// is said, and nothing is asked for.
func TestTheWayToSpeakIsAgreedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ oldest, newest, spoken string }{
		"a newer cloud":               {"2.1", "2.96", "2.93"},
		"an older cloud":              {"2.1", "2.60", "2.60"},
		"the oldest that will do":     {"2.1", "2.53", "2.53"},
		"one that is too old":         {"2.1", "2.52", ""},
		"one that has forgotten ours": {"2.94", "2.99", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(w *twin) { w.oldest, w.newest = c.oldest, c.newest })
			synctest.Test(t, func(t *testing.T) {
				p, err := openstack.New(h.options())
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				var spoken []string
				h.makeTrouble(func(q *http.Request) effect {
					if strings.Contains(q.URL.Path, "/servers") {
						spoken = append(spoken,
							q.Header.Get("OpenStack-API-Version")+", "+q.Header.Get("X-OpenStack-Nova-API-Version"))
					}
					return effect{}
				})
				_, err = p.List(t.Context())
				h.makeTrouble(nil)
				if c.spoken == "" {
					if !fault.Is(err, fault.Unsupported) || len(spoken) > 0 ||
						!strings.Contains(err.Error(), "hale 2.53 to 2.93") {
						t.Errorf("%v; asked for servers as %q", err, spoken)
					}
					return
				}
				if err != nil || len(spoken) == 0 {
					t.Fatalf("%v; asked for servers as %q", err, spoken)
				}
				for _, s := range spoken {
					if s != "compute "+c.spoken+", "+c.spoken {
						t.Errorf("it speaks %q", s)
					}
				}
			})
		})
	}
}
