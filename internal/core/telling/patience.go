package telling

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Patience is why a person is told of a machine if nothing else happens, when, and how long all of that time is.
type Patience struct {
	why   fleet.Reason
	until fleet.Instant
	all   time.Duration
}

// With finds the patience that hale has with a machine for one of the reasons, if it has any.
type With func(*belief.Machine, *policy.Spec, fleet.Now) (Patience, bool)

// patiences are those that hale can have with a machine.
var patiences = [...]With{WithHeld, WithStopped, WithUnknown}

// Impatience is of what a person is told in a round, since hale's patience is over.
type Impatience struct {
	why    []fleet.Reason // the reasons
	jammed bool           // all that take a place in the fleet's budget wait for what may last
}

// WithHeld is the patience with a machine that is held because no host answers that is needed (L8), or behind such
// machines for a place in the budget. Whatever else holds a machine for long is told of for itself: the brake, a doubt,
// a parent incident, the provider.
func WithHeld(m *belief.Machine, spec *policy.Spec, now fleet.Now) (Patience, bool) {
	i := m.Incident
	if i == nil || i.Paged && !i.ToldOfHost() || m.Waiting != fleet.ReasonBudget && !outlasts(m.Waiting) {
		return Patience{}, false
	}
	// what shares a fate that is over is told of with its domain, and of another fleet that says nothing
	if i.Parent != "" && m.Waiting != fleet.ReasonAfter {
		return Patience{}, false
	}
	return Patience{m.Waiting, now.At(i.Lasts().Add(spec.BlindAfter)), spec.BlindAfter}, true
}

// WithStopped is the patience with a machine that a person stopped.
func WithStopped(m *belief.Machine, spec *policy.Spec, now fleet.Now) (Patience, bool) {
	i := m.Incident
	if i == nil || i.HoldUntil.IsZero() || i.Paged || m.Repair != nil {
		return Patience{}, false
	}
	return Patience{fleet.ReasonHoldExpired, now.At(i.HoldUntil), HoldTime(m, spec)}, true
}

// WithUnknown is the patience with a machine while nothing is known of it.
func WithUnknown(m *belief.Machine, spec *policy.Spec, _ fleet.Now) (Patience, bool) {
	if m.Health.Verdict != belief.VerdictUnknown || m.Health.Muted() || !untold(m) || m.Current.None() ||
		m.Repair != nil && !m.Repair.Aside() {
		return Patience{}, false
	}
	return Patience{fleet.ReasonBlind, m.Health.SinceMono.Add(spec.BlindAfter), spec.BlindAfter}, true
}

// LosePatience finds of what a person is told in this round, since the time of a machine is over. It takes the memory
// of a former one.
func LosePatience(s *situation.Situation, sit *guard.Situation, former Impatience) Impatience {
	t := Impatience{why: former.why[:0], jammed: jammed(s)}
	for _, i := range s.Open {
		m := &s.Machines[i].Machine
		for _, with := range patiences {
			p, ok := with(m, &s.Spec, s.Now)
			if !ok || !p.counts(&t) || !s.Now.Due(p.until) || slices.Contains(t.why, p.why) ||
				guard.HoldOn(m, sit) != nil || p.why == fleet.ReasonBlind && sit.Whole.Doubt.Reason != "" {
				continue
			}
			t.why = append(t.why, p.why)
		}
	}
	return t
}

// jammed reports whether machines take places in the fleet's budget, and all of them wait for what may last: then no
// place comes free for those that wait for one.
func jammed(s *situation.Situation) (is bool) {
	for _, i := range s.Open {
		if m := &s.Machines[i].Machine; m.Repair.Budgeted() {
			if is = outlasts(m.Waiting); !is {
				return false
			}
		}
	}
	return is
}

// counts reports whether the reason is one that a person is told of now: as long as any repair goes on, whoever waits
// for a place has only to wait.
func (p Patience) counts(t *Impatience) bool { return p.why != fleet.ReasonBudget || t.jammed }

// isOver reports whether the time is over; or nearly so, while another machine's for the same reason is: what one hand
// did to forty machines within a minute is one page.
func (p Patience) isOver(t *Impatience, now fleet.Now) bool {
	return p.counts(t) && (now.Due(p.until) ||
		slices.Contains(t.why, p.why) && now.Due(p.until.Add(-min(round.PagePause, p.all/5))))
}

// Lost reports whether a person is to be told of the machine now, since this patience with it is over.
func Lost(c *chart.Chart, with With, t *Impatience) bool {
	p, ok := with(c.M, &c.Situation.Spec, c.Situation.Now)
	return ok && p.isOver(t, c.Situation.Now)
}

// SomeLost reports whether hale has lost its patience with a machine, for whichever reason, so that a person is told.
func SomeLost(m *belief.Machine, s *situation.Situation, t *Impatience) bool {
	for _, with := range patiences {
		if p, ok := with(m, &s.Spec, s.Now); ok && p.isOver(t, s.Now) {
			return true
		}
	}
	return false
}

// rescueHold is how long a person may repair a machine before another one is told, where the policy has no time for
// that since it heals every other stop.
const rescueHold = 15 * time.Minute

// HoldTime is how long a machine is left alone that a person stopped.
func HoldTime(m *belief.Machine, spec *policy.Spec) time.Duration {
	if m.Health.Cause == belief.CauseRescued && spec.Repair.OnExternalStop == policy.ExternalStopHeal {
		return rescueHold
	}
	return spec.Repair.ExternalStopHold
}

// untold reports whether no person was told of the machine, by itself or with those that share its fate.
func untold(m *belief.Machine) bool {
	return m.Incident == nil || !m.Incident.Paged && m.Incident.Parent == ""
}

// outlasts reports whether the machine is held by what may last: no host can be asked, or none be built on, or another
// fleet comes first.
func outlasts(held fleet.Reason) bool {
	return slices.Contains([]fleet.Reason{fleet.ReasonHostDown, fleet.ReasonRepairRate, fleet.ReasonHostUnasked,
		fleet.ReasonNoHost,
		fleet.ReasonNoPlace, fleet.ReasonDiskElsewhere,
		fleet.ReasonNoWitness, fleet.ReasonAfter}, held)
}
