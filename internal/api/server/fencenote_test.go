package server_test

import (
	"context"
	"io"
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
	"hale/internal/state"
	"hale/internal/state/inbox"
	"hale/internal/state/memory"
)

// breakers are the hosts of switches that can be turned off. Stuck: an order has no effect.
type breakers struct {
	switches
	stuck bool
	off   []fleet.HostName
}

func (b *breakers) Off(_ context.Context, _ fleet.ProviderName, h fleet.HostName) []api.FenceTry {
	b.off = append(b.off, h)
	if b.stuck {
		return []api.FenceTry{{Method: "own", Number: 1, Detail: "the breaker\nis stuck"}}
	}
	return []api.FenceTry{{Method: "own", Number: 1, OK: true, Proof: string(fleet.ProofHostOff)}}
}

func (b *breakers) Uncut(ctx context.Context, p fleet.ProviderName, h fleet.HostName,
	free func() []string) ([]api.FenceTry, []string) {
	tries, against := b.switches.Uncut(ctx, p, h, free)
	if b.stuck && len(against) == 0 {
		tries[0].OK, tries[0].Detail = false, "it is cut still"
	}
	return tries, against
}

// ask posts the request to a server with fleets on h1 and h2. It returns the answer, and the notes made for fleet web.
func (b *breakers) ask(t *testing.T, path, body string,
	change func(all []published.Fleet)) (code int, said string, notes []fleet.Order) {
	t.Helper()
	status := func() []published.Fleet {
		all := standing()
		for i := range all {
			all[i].Hosts = []fleet.Host{{Name: "h1"}, {Name: "h2"}}
		}
		all[0].Machines[0].Machine.Current.Host = "h1"
		change(all)
		return all
	}
	store := state.Store(memory.New(memory.Options{}).Open(nil))
	server := server.New(server.Options{
		Status:  status,
		Fencing: b,
		Store:   store,
		Logger:  slog.New(slog.DiscardHandler),
	})
	w := httptest.NewRecorder()
	asAdmin(server).ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	answer, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	letters, _, err := inbox.Pending(t.Context(), store, "web")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		if err := l.Order.Check(); err != nil {
			t.Errorf("%+v: %v", l.Order, err)
		}
		notes = append(notes, l.Order)
	}
	return w.Code, string(answer), notes
}

func asIs([]published.Fleet) {}

// Who has a cut undone, why, and how it ended is written down: once before anybody is asked, and once after. Of what is
// refused at once, nothing is.
func TestTheUndoingOfACutIsWrittenDown(t *testing.T) {
	t.Parallel()
	const body = `{"subject":"h1","reason":"the switch is mended","as":"kim"}`
	for name, c := range map[string]struct {
		stuck  bool
		change func(all []published.Fleet)
		code   int
		proof  fleet.Proof // at its end; empty: nothing is noted
		why    string
	}{
		"it has its access back": {false, asIs, http.StatusOK, fleet.ProofNone, ""},
		"it is cut still":        {true, asIs, http.StatusOK, fleet.ProofAccessCut, "ports: it is cut still"},
		"something rests on it": {false, func(all []published.Fleet) {
			all[0].Machines[0].Machine.Left = []belief.LeftBehind{
				{Incarnation: belief.Incarnation{ID: "i-old", Host: "h1"}, Proof: fleet.ProofAccessCut},
			}
		}, http.StatusConflict, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &breakers{stuck: c.stuck}
			code, said, notes := b.ask(t, "/v1/fences/uncut", body, c.change)
			if code != c.code {
				t.Fatalf("%d %s", code, said)
			}
			if c.proof == "" {
				if len(notes) > 0 || len(b.undone) > 0 {
					t.Errorf("noted %+v, undone %v", notes, b.undone)
				}
				return
			}
			if len(notes) != 2 || notes[0].Kind != fleet.OrderUncut || notes[0].Host != "h1" ||
				notes[0].Reason != "the switch is mended" || !strings.HasPrefix(notes[0].By, "kim (") {
				t.Fatalf("noted %+v", notes)
			}
			if end := notes[1]; end.Kind != fleet.OrderUncut || end.After != notes[0].ID || end.Proof != c.proof ||
				end.Reason != c.why || end.By != notes[0].By {
				t.Errorf("its end is noted as %+v", end)
			}
		})
	}
}

// A machine that may be well keeps its host on, be it known here or of another server's fleet: only force turns the
// host off. A forced fencing is noted for the other server's fleet, too.
func TestAMachineThatMayBeWellIsTurnedOffByForceOnly(t *testing.T) {
	t.Parallel()
	fails := func(all []published.Fleet) { all[0].Machines[0].Machine.Health.Verdict = belief.VerdictUnhealthy }
	others := func(all []published.Fleet) {
		fails(all)
		all[0].Acting, all[0].Hosts = fleet.ReasonNotOwner, nil
	}
	const plain = `{"subject":"h1","as":"kim"}`
	const forced = `{"subject":"h1","force":true,"as":"kim"}`
	tried := map[bool]string{true: "?dry_run=true"}
	for name, c := range map[string]struct {
		body   string
		change func(all []published.Fleet)
		stuck  bool
		says   string // of a refusal
		proof  fleet.Proof
	}{
		"one machine is well":           {plain, asIs, false, "web-1 on it is not known to fail", ""},
		"one machine is well, by force": {forced, asIs, false, "", fleet.ProofHostOff},
		"all fail there":                {plain, fails, false, "", fleet.ProofHostOff},
		"another server may have one": {plain, others, false,
			"another server looks after fleet web, which may have machines on it", ""},
		"another server may have one, by force": {forced, others, false, "", fleet.ProofHostOff},
		"the breaker is stuck":                  {forced, asIs, true, "", fleet.ProofNone},
		"only asked what it would mean":         {forced, fails, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &breakers{stuck: c.stuck}
			code, said, notes := b.ask(t, "/v1/fences/off"+tried[c.proof == "" && c.says == ""], c.body, c.change)
			if (code == http.StatusConflict) != (c.says != "") || !strings.Contains(said, c.says) {
				t.Errorf("%d %s", code, said)
			}
			done := c.proof != ""
			if slices.Equal(b.off, []fleet.HostName{"h1"}) != done || (len(notes) == 2) != done {
				t.Fatalf("asked to turn off %v, noted %+v: %d %s", b.off, notes, code, said)
			}
			if done &&
				(notes[0].Kind != fleet.OrderCut || notes[1].Proof != c.proof ||
					strings.ContainsAny(notes[1].Reason, "\n")) {
				t.Errorf("noted %+v", notes)
			}
		})
	}
}
