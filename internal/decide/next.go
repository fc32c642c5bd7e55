package decide

import (
	"hale/internal/fleet"
	"hale/internal/guard"
)

// next returns the earliest instant after now at which a deadline of the decided machines or of the fleet ends.
func (r *round) next(d Decision) fleet.Instant {
	c := calendar{now: r.s.Now}
	c.add(r.s.SteadyAt)
	if d.Brake.CalmSince != 0 {
		c.add(d.Brake.CalmSince.Add(r.s.Spec.Limits.Brake.ReleaseAfter))
	}
	for i := range d.Machines {
		c.addMachine(d.Machines[i].Belief, r.s.Spec)
	}
	return c.earliest
}

type calendar struct {
	now      fleet.Now
	earliest fleet.Instant
}

// add notes a deadline that is still to come.
func (c *calendar) add(at fleet.Instant) {
	if at > c.now.Mono && (c.earliest == 0 || at < c.earliest) {
		c.earliest = at
	}
}

func (c *calendar) addMachine(m fleet.Machine, spec fleet.Spec) {
	c.add(m.Health.Grace)
	c.add(m.RetryAt)
	for _, s := range m.Strays {
		c.add(s.RetryAt)
	}
	if m.Anchor != nil {
		c.add(m.Anchor.Until)
	}
	if m.Repair != nil {
		c.add(m.Repair.RetryAt)
		c.add(m.Repair.AskAt)
		if m.Repair.Phase == fleet.PhaseVerify {
			c.add(m.Repair.Deadline)
		}
	}
	if m.Health.Verdict == fleet.VerdictUnknown && m.Incident == nil {
		c.add(m.Health.SinceMono.Add(spec.BlindAfter))
	}
	if m.Waiting == fleet.ReasonUnclear {
		c.add(m.Health.SinceMono.Add(guard.SettleTime(spec)))
	}
	if i := m.Incident; i != nil && !i.HoldUntil.IsZero() && !i.Paged {
		c.add(c.now.Mono.Add(i.HoldUntil.Sub(c.now.Wall)))
	}
}
