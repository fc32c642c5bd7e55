package decide

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/chore"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/repair"
)

// power returns what is to be done with the machine's power, as it is a spare, or was one; empty: nothing.
func (r *deciding) power(m *belief.Machine) fleet.OrderKind {
	switch {
	case slices.Contains(r.Rises, m.Name):
		return fleet.OrderStart
	case slices.Contains(r.Rests, m.Name):
		return fleet.OrderStop
	}
	return ""
}

// standBy turns a spare off, or on, where nothing is against it: no one waits for that, so nothing is said of it
// before it begins. What cannot be started is not turned off. It reports whether that begins.
func (w *work) standBy() bool {
	m, s := w.M, w.Situation
	fits := w.power == fleet.OrderStart && m.Health.Cause == belief.CauseSpareOff ||
		w.power == fleet.OrderStop && m.Health.Verdict == belief.VerdictHealthy
	if !fits || m.Repair != nil || m.Wanted != nil || w.busy() {
		return false
	}
	step := chore.Step(w.power, m)
	if !chore.Restarts(s) || chore.Refused(w.power, m, s) != "" || guard.NewChore(m, s, step) != "" {
		return false
	}
	repair.BeginChore(&w.Work, &belief.Wanted{Order: fleet.SpareOrder(m.Name, s.Now.Wall), Chore: w.power}, step)
	return true
}
