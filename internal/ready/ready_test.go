package ready_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/ready"
)

var dawn = time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)

// well is a fleet in which everything is ready.
func well(name fleet.Name, on fleet.ProviderName) published.Fleet {
	return published.Fleet{State: situation.State{Spec: policy.Spec{Name: name, Provider: on},
		Now:      fleet.Now{Wall: dawn, Mono: 100},
		Provider: fleet.ProviderState{Standing: fleet.ProviderUp, Since: 40}}}
}

// plant is what is asked, and may be spoiled.
type plant struct {
	fleets []published.Fleet
	store  published.Store
	file   error
	stuck  bool
}

func (p *plant) options() ready.Options {
	return ready.Options{
		Version: "1.2.3", Started: dawn,
		Fleets:   func() []published.Fleet { return p.fleets },
		Stored:   func() published.Store { return p.store },
		Reloaded: func() (time.Time, error) { return dawn, p.file },
		Stuck:    func(time.Duration) (fleet.Name, bool) { return "web", p.stuck },
	}
}

func asked(t *testing.T, h http.Handler, as access.Principal) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(access.With(t.Context(), as), http.MethodGet, "/", http.NoBody))
	return w
}

func viewer(fleets ...fleet.Name) access.Principal {
	return access.Principal{Grants: []access.Grant{{Role: access.Viewer, Fleets: fleets}}}
}

func TestWhatIsNotReadyIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(p *plant)
		as    access.Principal
		want  []string // part, of and reason of what is lacking; none: all is ready
	}{
		"all is well": {spoil: func(*plant) {}},
		"the store is full": {spoil: func(p *plant) { p.store.Trouble = fleet.ReasonStoreFull },
			want: []string{"store  store-full"}},
		"no lease": {spoil: func(p *plant) { p.fleets[1].Acting = fleet.ReasonNotOwner },
			want: []string{"fleet db not-owner"}},
		"a provider is down, for two fleets": {spoil: func(p *plant) {
			for i := range p.fleets {
				p.fleets[i].Provider.Standing = fleet.ProviderDown
			}
		}, want: []string{"provider lab provider-down"}},
		"nothing was asked yet": {spoil: func(p *plant) { p.fleets = p.fleets[:1]; p.fleets[0].Provider = fleet.ProviderState{} },
			want: []string{"provider lab amnesty"}},
		"the file is no configuration": {spoil: func(p *plant) { p.file = errors.New("hunter2") },
			want: []string{"configuration  refused"}},
		"another fleet's": {spoil: func(p *plant) {
			p.fleets[1].Acting, p.store.Trouble = fleet.ReasonStoreFull, fleet.ReasonStoreFull
		}, as: viewer("web")},
		"one's own": {spoil: func(p *plant) { p.fleets[1].Acting = fleet.ReasonStoreFull }, as: viewer("db"),
			want: []string{"fleet db store-full"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plant{fleets: []published.Fleet{well("web", "lab"), well("db", "lab")}}
			c.spoil(p)
			if c.as.Grants == nil {
				c.as = viewer()
			}
			w := asked(t, ready.Ready(p.options()), c.as)
			var is api.Readiness
			if err := json.Unmarshal(w.Body.Bytes(), &is); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range is.Lacks {
				got = append(got, l.Part+" "+l.Of+" "+l.Reason)
				if l.Text == "" {
					t.Errorf("%s says nothing to people", l.Part)
				}
			}
			code := http.StatusOK
			if len(c.want) > 0 {
				code = http.StatusServiceUnavailable
			}
			if strings.Join(got, ", ") != strings.Join(c.want, ", ") || w.Code != code ||
				is.Ready != (len(c.want) == 0) ||
				is.Version != "1.2.3" || strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

func TestWhoMayNotSeeLearnsNothingOfReadiness(t *testing.T) {
	t.Parallel()
	p := &plant{fleets: []published.Fleet{well("web", "lab")}}
	if w := asked(t, ready.Ready(p.options()), access.Principal{}); w.Code != http.StatusForbidden ||
		strings.Contains(w.Body.String(), "web") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Anybody may ask whether hale lives, and learns no name.
func TestHaleLivesUnlessAnOwnerIsStuck(t *testing.T) {
	t.Parallel()
	p := &plant{}
	if w := asked(t, ready.Alive(p.options()), access.Principal{}); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	p.stuck = true
	if w := asked(t, ready.Alive(p.options()), access.Principal{}); w.Code != http.StatusServiceUnavailable ||
		strings.Contains(w.Body.String(), "web") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
