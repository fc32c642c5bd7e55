package decide

import (
	"slices"

	"hale/internal/core/correlation"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// mostAsked is how many machines are asked on demand in one round at most: the others have their turn in the next.
const mostAsked = 256

// askAround has every machine asked once, on demand, in the domains in which some fail and others may: until each has
// said how it is since a machine there failed, nothing disruptive begins for that one. When another one comes under
// suspicion while a rung looks at it, they are asked anew: what the look does not hear may be the place's.
func (r inference) askAround(works []*work) {
	if !r.census.Unsure() {
		return
	}
	unclear := r.census.Unclear(r.besides(r.question(), nil))
	suspected := r.lastSuspected(works, len(unclear))
	since := make([]fleet.Instant, len(unclear)) // by domain, since when its machines are to have said how they are
	for _, w := range works {
		if !r.waits(w) {
			continue
		}
		for _, d := range r.census.In(w.site) {
			if unclear[d] {
				since[d] = max(since[d], tellsSince(w.M, suspected[d]))
			}
		}
	}
	if slices.Max(since) == 0 {
		return
	}
	oldest := r.askWhere(since, works)
	for _, w := range works {
		if r.waits(w) {
			w.unasked = slices.ContainsFunc(r.census.In(w.site), func(d int) bool {
				return since[d] != 0 && oldest[d] < tellsSince(w.M, suspected[d])
			})
		}
	}
}

// lastSuspected returns, by domain, when a machine came under suspicion there last.
func (r inference) lastSuspected(works []*work, domains int) []fleet.Instant {
	last := make([]fleet.Instant, domains)
	for _, w := range works {
		if w.site < 0 || r.stateOf(w) != correlation.Suspect {
			continue
		}
		for _, d := range r.census.In(w.site) {
			last[d] = max(last[d], w.M.Health.SinceMono)
		}
	}
	return last
}

// tellsSince returns how old the answers of the machines near this one may be: they count since it failed, or, while a
// rung looks at it, since the last of them came under suspicion.
func tellsSince(m *fleet.Machine, suspected fleet.Instant) fleet.Instant {
	if r := m.Repair; r != nil && r.Phase == fleet.PhaseLook && suspected > r.Since {
		return suspected
	}
	return m.Health.SinceMono
}

// waits reports whether the machine fails for itself, as far as is known, and nothing is done for it just now: no
// repair was begun, a rung looks at it, or the last one did not help.
func (r inference) waits(w *work) bool {
	return w.site >= 0 && !w.broken && idle(w.M) && w.M.Incident != nil && r.parentOf(w) == nil &&
		r.stateOf(w) == correlation.Failing
}

func idle(m *fleet.Machine) bool {
	switch r := m.Repair; {
	case r == nil:
		return true
	case r.Kind != fleet.RepairHeal:
		return false
	default:
		return r.Phase == fleet.PhaseLook ||
			r.Phase == fleet.PhaseVerify && m.Health.Verdict == fleet.VerdictUnhealthy
	}
}

// askWhere notes who is to be asked, and returns, by domain, when the one was asked that was asked first.
func (r inference) askWhere(since []fleet.Instant, works []*work) (oldest []fleet.Instant) {
	oldest = make([]fleet.Instant, len(since))
	for d := range oldest {
		oldest[d] = r.s.Now.Mono
	}
	next := 0 // of the works, which are in the machines' order
	for i := range r.s.Machines {
		v, site := &r.s.Machines[i], r.settled.sites[i]
		fails := v.Machine.Repair != nil || guard.Surplus(&v.Machine, &r.s.Spec)
		if next < len(works) && works[next].index == i {
			w := works[next]
			site, fails = w.site, fails || w.M.Repair != nil || r.stateOf(w) == correlation.Failing
			next++
		}
		if site < 0 || fails {
			continue
		}
		var need fleet.Instant
		for _, d := range r.census.In(site) {
			if since[d] != 0 {
				need, oldest[d] = max(need, since[d]), min(oldest[d], v.Asked.At)
			}
		}
		if v.Asked.At < need && v.Asking == 0 && len(r.asks) < mostAsked {
			r.asks = append(r.asks, i)
		}
	}
	return oldest
}

// inVain reports whether the machine was asked on demand of late, and did not answer: its place may be at fault, before
// its checks have failed as often as they must.
func (r inference) inVain(v *fleet.View) bool {
	a := v.Asked
	return a.Down && r.s.Now.Within(guard.SettleTime(r.s.Spec), a.At) && a.At > v.Machine.Acted &&
		v.Machine.Repair == nil && v.Machine.Health.Verdict != fleet.VerdictUnhealthy
}
