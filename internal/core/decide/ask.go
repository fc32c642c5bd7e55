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
// said how it is since a machine there failed, nothing disruptive begins for that one.
func askAround(r *round, works []*work) {
	if !r.census.Unsure() {
		return
	}
	unclear := r.census.Unclear(besides(r, r.question(), nil))
	since := make([]fleet.Instant, len(unclear)) // by domain, when a machine failed there last
	for _, w := range works {
		if !waits(r, w) {
			continue
		}
		for _, d := range r.census.In(w.site) {
			if unclear[d] {
				since[d] = max(since[d], w.M.Health.SinceMono)
			}
		}
	}
	if slices.Max(since) == 0 {
		return
	}
	oldest := r.askWhere(since, works)
	for _, w := range works {
		if waits(r, w) {
			w.unasked = slices.ContainsFunc(r.census.In(w.site), func(d int) bool {
				return since[d] != 0 && oldest[d] < w.M.Health.SinceMono
			})
		}
	}
}

// waits reports whether the machine fails for itself, as far as is known, and nothing was begun for it.
func waits(r *round, w *work) bool {
	return w.site >= 0 && !w.broken && w.M.Repair == nil && w.M.Incident != nil && r.parentOf(w) == nil &&
		r.stateOf(w) == correlation.Failing
}

// askWhere notes who is to be asked, and returns, by domain, when the one was asked that was asked first.
func (r *round) askWhere(since []fleet.Instant, works []*work) (oldest []fleet.Instant) {
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
func inVain(r *round, v *fleet.View) bool {
	a := v.Asked
	return a.Down && r.s.Now.Within(guard.SettleTime(r.s.Spec), a.At) && a.At > v.Machine.Acted &&
		v.Machine.Repair == nil && v.Machine.Health.Verdict != fleet.VerdictUnhealthy
}
