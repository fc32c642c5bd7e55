package server_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/api/server"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/state/memory"
)

// switches are two hosts; h1 can be cut. It undoes a cut whenever there is no objection.
type switches struct{ undone []fleet.HostName }

func (s *switches) Fences() []api.FencedHost {
	cuts := api.FenceMethod{Name: "ports", Proof: string(fleet.ProofAccessCut)}
	power := api.FenceMethod{Name: "own", Proof: string(fleet.ProofHostOff)}
	return []api.FencedHost{
		{Provider: "lab", Host: "h1", Methods: []api.FenceMethod{power, cuts}},
		{Provider: "lab", Host: "h2", Methods: []api.FenceMethod{power}},
	}
}

func (s *switches) Test(context.Context, fleet.ProviderName, fleet.HostName) {}
func (s *switches) Off(context.Context, fleet.ProviderName, fleet.HostName) []api.FenceTry {
	return nil
}

func (s *switches) Uncut(_ context.Context, _ fleet.ProviderName, h fleet.HostName,
	free func() []string) ([]api.FenceTry, []string) {
	if against := free(); len(against) > 0 {
		return nil, against
	}
	s.undone = append(s.undone, h)
	return []api.FenceTry{{Method: "ports", OK: true}}, nil
}

// TestACutStaysAsLongAsSomethingRestsOnIt: who might write if it were undone is asked of every fleet of the provider,
// and what cannot be asked counts.
func TestACutStaysAsLongAsSomethingRestsOnIt(t *testing.T) {
	t.Parallel()
	old := belief.Incarnation{ID: "i-old", Generation: 1, Host: "h1"}
	left := func(host fleet.HostName, proof fleet.Proof) func(*published.Fleet) {
		return func(f *published.Fleet) {
			at := old
			at.Host = host
			f.Machines[0].Machine.Left = []belief.LeftBehind{{Incarnation: at, Proof: proof}}
		}
	}
	for name, c := range map[string]struct {
		host   string
		change func(*published.Fleet) // of fleet web
		says   string                 // empty: it is undone
	}{
		"nothing rests on it": {"h1", func(*published.Fleet) {}, ""},
		"an old instance runs there": {"h1", left("h1", fleet.ProofAccessCut),
			"an old instance of web-1 may run there"},
		"it runs elsewhere": {"h1", left("h2", fleet.ProofAccessCut), ""},
		"it was off":        {"h1", left("h1", fleet.ProofHostOff), ""},
		"of another provider's": {"h1",
			func(f *published.Fleet) { left("h1", fleet.ProofAccessCut)(f); f.Spec.Provider = "other" }, ""},
		"another server looks after them": {"h1", func(f *published.Fleet) { f.Acting = fleet.ReasonNotOwner },
			"another server looks after fleet web"},
		"a build is to rest on it": {"h1", func(f *published.Fleet) {
			f.Machines[0].Machine.Repair = &belief.Repair{
				Climb: belief.Climb{Aim: belief.Aim{Target: old, Finding: belief.Finding{Proof: fleet.ProofAccessCut}}},
			}
		}, "an old instance of web-1 may run there"},
		"it is being cut": {"h1", func(f *published.Fleet) {
			f.Machines[0].Machine.Repair = &belief.Repair{
				Intent: &belief.Intent{Op: fleet.OpFence}, Climb: belief.Climb{Aim: belief.Aim{Target: old}},
			}
		}, "an old instance of web-1 may run there"},
		"nothing can cut it": {"h2", func(*published.Fleet) {}, "host h2 has no method that cuts its access"},
		"no such host":       {"h9", func(*published.Fleet) {}, "h9"},
		"no host is named":   {"", func(*published.Fleet) {}, "no host is named"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &switches{}
			status := func() []published.Fleet {
				all := standing()
				c.change(&all[0])
				return all
			}
			server := server.New(server.Options{
				Status:  status,
				Fencing: s,
				Store:   memory.New(memory.Options{}).Open(nil),
				Logger:  slog.New(slog.DiscardHandler),
			})
			w := httptest.NewRecorder()
			asAdmin(server).ServeHTTP(w,
				httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/fences/uncut",
					strings.NewReader(`{"subject":"`+c.host+`"}`)))
			switch {
			case c.says == "" && (w.Code != http.StatusOK || !slices.Equal(s.undone, []fleet.HostName{"h1"})):
				t.Errorf("%d %s, undone %v", w.Code, w.Body, s.undone)
			case c.says != "" &&
				(w.Code == http.StatusOK || !strings.Contains(w.Body.String(), c.says) || len(s.undone) > 0):
				t.Errorf("%d %s, undone %v; want %q", w.Code, w.Body, s.undone, c.says)
			}
		})
	}
}
