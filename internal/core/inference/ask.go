package inference

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/correlation"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// mostAsked is how many machines are asked on demand in one round at most: the others have their turn in the next.
const mostAsked = 256

// askAround has every machine asked once, on demand, in the domains in which some fail and others may: until each has
// said how it is since a machine there failed, nothing disruptive begins for that one. When another one comes under
// suspicion while a rung looks at it, they are asked anew: what the look does not hear may be the place's.
func (r *Inference) askAround(members []*round.Member) {
	if !r.census.Unsure() {
		return
	}
	unclear := r.census.Unclear(r.besides(r.question(), nil))
	suspected := r.lastSuspected(members, len(unclear))
	since := make([]fleet.Instant, len(unclear)) // by domain, since when its machines are to have said how they are
	for _, w := range members {
		if !r.waits(w) {
			continue
		}
		for _, d := range r.census.In(w.Site) {
			if unclear[d] {
				since[d] = max(since[d], tellsSince(w.On.M, suspected[d]))
			}
		}
	}
	if slices.Max(since) == 0 {
		return
	}
	oldest := r.askWhere(since, members)
	for _, w := range members {
		if r.waits(w) {
			w.Unasked = slices.ContainsFunc(r.census.In(w.Site), func(d int) bool {
				return since[d] != 0 && oldest[d] < tellsSince(w.On.M, suspected[d])
			})
		}
	}
}

// lastSuspected returns, by domain, when a machine came under suspicion there last.
func (r *Inference) lastSuspected(members []*round.Member, domains int) []fleet.Instant {
	last := make([]fleet.Instant, domains)
	for _, w := range members {
		if w.Site < 0 || r.stateOf(w) != correlation.Suspect {
			continue
		}
		for _, d := range r.census.In(w.Site) {
			last[d] = max(last[d], w.On.M.Health.SinceMono)
		}
	}
	return last
}

// tellsSince returns how old the answers of the machines near this one may be: they count since it failed, or, while a
// rung looks at it, since the last of them came under suspicion.
func tellsSince(m *belief.Machine, suspected fleet.Instant) fleet.Instant {
	if r := m.Repair; r != nil && r.Phase == belief.PhaseLook && suspected > r.Since {
		return suspected
	}
	return m.Health.SinceMono
}

// waits reports whether the machine fails for itself, as far as is known, and nothing is done for it just now: no
// repair was begun, a rung looks at it, or the last one did not help.
func (r *Inference) waits(w *round.Member) bool {
	return w.Site >= 0 && !w.Broken && idle(w.On.M) && w.On.M.Incident != nil && r.ParentOf(w) == nil &&
		r.stateOf(w) == correlation.Failing
}

func idle(m *belief.Machine) bool {
	switch r := m.Repair; {
	case r == nil:
		return true
	case r.Kind != belief.RepairHeal:
		return false
	default:
		return r.Phase == belief.PhaseLook ||
			r.Phase == belief.PhaseVerify && m.Health.Verdict == belief.VerdictUnhealthy
	}
}

// askWhere notes who is to be asked, and returns, by domain, when the one was asked that was asked first.
func (r *Inference) askWhere(since []fleet.Instant, members []*round.Member) (oldest []fleet.Instant) {
	oldest = make([]fleet.Instant, len(since))
	for d := range oldest {
		oldest[d] = r.S.Now.Mono
	}
	next := 0 // of the works, which are in the machines' order
	for i := range r.S.Machines {
		v, site := &r.S.Machines[i], r.settled.sites[i]
		fails := v.Machine.Repair != nil || guard.Surplus(&v.Machine, &r.S.Spec)
		if next < len(members) && members[next].Index == i {
			w := members[next]
			site, fails = w.Site, fails || w.On.M.Repair != nil || r.stateOf(w) == correlation.Failing
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
		if v.Asked.At < need && v.Asking == 0 && len(r.Asks) < mostAsked {
			r.Asks = append(r.Asks, i)
		}
	}
	return oldest
}

// mostWitnesses is how many machines near a silent one are asked whether they are heard: one answer is enough, and the
// one that is asked may just have died as well.
const mostWitnesses = 3

// askWitnesses has machines near one asked that a look found silent, after that look: when the way to all of them broke
// as it began, their regular checks do not tell yet.
func (r *Inference) askWitnesses(members []*round.Member) {
	for _, w := range members {
		p := w.On.M.Repair
		if w.Broken || p == nil || p.SilentAt == 0 {
			continue
		}
		near, left := w.On.M.Current.Neighbourhood(), mostWitnesses
		for i := range r.S.Machines {
			v := &r.S.Machines[i]
			if left == 0 {
				break
			}
			if i == w.Index || v.Machine.Current.Neighbourhood() != near || !r.testifies(v, p.SilentAt) {
				continue
			}
			left--
			r.hear(w, i, p.SilentAt)
		}
	}
}

// testifies reports whether the machine said something since then, or may if it is asked.
func (r *Inference) testifies(v *situation.View, since fleet.Instant) bool {
	return v.Asked.At >= since || guard.MayTestify(v, &r.S.Spec)
}

// hear counts what the machine says since then, and has it asked if it was not.
func (r *Inference) hear(w *round.Member, i int, since fleet.Instant) {
	v := &r.S.Machines[i]
	switch {
	case v.Asked.At >= since && v.Asked.Heard:
		w.Near.Heard++
	case v.Asked.At >= since:
		w.Near.Mute++
	default:
		w.Near.Pending++
		if v.Asking == 0 && !slices.Contains(r.Asks, i) {
			r.Asks = append(r.Asks, i)
		}
	}
}

// inVain reports whether the machine was asked on demand of late, and did not answer: its place may be at fault, before
// its checks have failed as often as they must.
func (r *Inference) inVain(v *situation.View) bool {
	a := v.Asked
	return a.Down && r.S.Now.Within(guard.SettleTime(r.S.Spec), a.At) && a.At > v.Machine.Acted &&
		v.Machine.Repair == nil && v.Machine.Health.Verdict != belief.VerdictUnhealthy
}
