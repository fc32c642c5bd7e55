package chart

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// Gathered reports whether the evidence on the target is kept, or will not be: only then the step may go on that could
// destroy it. It is asked for once per incident and instance, before the look, so that the look stays the last word
// before the step.
func (c *Chart) Gathered() bool {
	r := c.M.Repair
	switch i := c.M.Incident; {
	case r.Gather == "":
		if c.Situation.Spec.Evidence.Off || r.Kind != belief.RepairHeal || i == nil || !r.Step.Destroys() ||
			r.Target.None() || i.Evidence == r.Target.ID {
			return true
		}
		i.Evidence = r.Target.ID
		c.gather()
		return false
	case r.GatherBy == 0: // hale ended while it was gathered; were that the reason, it would end again
		c.keep(fleet.NoEvidence(fleet.ReasonInterrupted))
	case c.Situation.Now.Due(r.GatherBy):
		c.keep(fleet.NoEvidence(fleet.ReasonTooLate))
	default:
		return false
	}
	return true
}

// TakeGathered keeps the evidence that has come, also while the rung is held: it comes once.
func (c *Chart) TakeGathered() {
	r := c.M.Repair
	if g := c.View.Gathered; g != nil && r.Gather != "" && g.ID == r.Gather {
		c.keep(g.Evidence)
	}
}

func (c *Chart) gather() {
	r := c.M.Repair
	r.Gather = r.ID + "/" + string(r.Target.ID)
	r.GatherBy = c.Now().Add(c.Situation.Spec.Evidence.Patience())
	c.Actions = append(c.Actions, situation.Action{Kind: situation.ActionGather, Machine: c.M.Name, Gather: r.Gather,
		Incident: c.M.Incident.ID, Instance: r.Target.ID, Host: r.Target.Host, Mark: c.Mark(r.Target),
		Adopted: r.Target.Adopted})
}

// keep notes what became of the evidence, and how long that took, unless hale began anew meanwhile.
func (c *Chart) keep(e fleet.Evidence) {
	r := c.M.Repair
	rec := record.Record{Kind: record.Evidence, Reason: fleet.ReasonGathered, Instance: r.Target.ID,
		Generation: r.Target.Generation, Host: r.Target.Host, Evidence: &e}
	if r.GatherBy != 0 {
		rec.Took = c.Now().Sub(r.GatherBy.Add(-c.Situation.Spec.Evidence.Patience()))
	}
	if !e.Some() {
		rec.Reason = fleet.ReasonNotGathered
	}
	c.Record(rec)
	r.Gathering = belief.Gathering{}
}
