package guard_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// S39: one beyond the size goes once as many others serve as are of the size. What is only suspect may serve, and stays
// as long; what fails may go.
func TestOneBeyondTheSizeGoesOnceTheOthersServe(t *testing.T) {
	t.Parallel()
	for story, c := range map[string]struct {
		serving int // with it, where it is well
		is      func(m *belief.Machine)
		want    fleet.Reason
	}{
		"too few others serve": {3, func(*belief.Machine) {}, fleet.ReasonInService},
		"enough others serve":  {4, func(*belief.Machine) {}, ""},
		"it is suspect, and too few others serve": {2, func(m *belief.Machine) {
			m.Health.Verdict = belief.VerdictSuspect
		}, fleet.ReasonInService},
		"nothing is known of it, and too few others serve": {2, func(m *belief.Machine) {
			m.Health.Verdict, m.Incident = belief.VerdictUnknown, &belief.Incident{Cause: belief.CauseBlind}
		}, fleet.ReasonInService},
		"it fails": {2, func(m *belief.Machine) {
			m.Health.Verdict, m.Incident = belief.VerdictUnhealthy, &belief.Incident{Cause: belief.CauseChecks}
		}, ""},
		"it failed on its template": {2, func(m *belief.Machine) { m.Quarantine = &belief.Quarantine{} }, ""},
		"it was never built":        {2, func(m *belief.Machine) { m.Current = belief.Incarnation{} }, ""},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			s := &guard.Situation{Serving: c.serving}
			s.Spec.Name, s.Spec.Size, s.Spec.Update.Surge = "web", 4, 1
			s.Whole.Ledger = &belief.Ledger{Size: 4, Surge: []belief.Surge{{Machine: "web-4", Order: "o"}}}
			m := &belief.Machine{Name: "web-4", Health: belief.Health{Verdict: belief.VerdictHealthy},
				Current: belief.Incarnation{ID: "vm", Certified: true}}
			c.is(m)
			if got := guard.Relieved(m, &situation.View{}, s); got != c.want {
				t.Errorf("it stays for %q, want %q", got, c.want)
			}
		})
	}
}

// S39: while others are changed, one that is to go by an order serves no longer than until then; one whose time beyond
// the size is over serves until it goes.
func TestWhatIsToGoServesNoMore(t *testing.T) {
	t.Parallel()
	m := &belief.Machine{Name: "web-1", Health: belief.Health{Verdict: belief.VerdictHealthy},
		Current: belief.Incarnation{ID: "vm", Certified: true}}
	spec := policy.Spec{Name: "web", Size: 2}
	for why, want := range map[fleet.Reason]bool{fleet.ReasonNamed: false, fleet.ReasonSurgeOver: true} {
		l := &belief.Ledger{Size: 2, Removals: []belief.Removal{{Machine: "web-1", Why: why}}}
		if got := guard.Serves(m, &spec, l); got != want {
			t.Errorf("to go for %s, it serves: %v", why, got)
		}
	}
	if !guard.Serves(m, &spec, &belief.Ledger{Size: 2}) {
		t.Error("it is not to go, and does not serve")
	}
}
