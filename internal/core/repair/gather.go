package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// gathered reports whether the evidence on the target is kept, or will not be: only then the step may go on that could
// destroy it. It is asked for once per incident and instance, before the look, so that the look stays the last word
// before the step.
func (p looking) gathered() bool {
	switch i := p.M.Incident; {
	case p.r.Gather == "":
		if p.Situation.Spec.Evidence.Off || p.r.Kind != belief.RepairHeal || i == nil || !p.r.Step.Destroys() ||
			p.r.Target.None() || i.Evidence == p.r.Target.ID {
			return true
		}
		i.Evidence = p.r.Target.ID
		p.gather()
		return false
	case p.r.GatherBy == 0: // hale ended while it was gathered; were that the reason, it would end again
		p.keep(fleet.NoEvidence(fleet.ReasonInterrupted))
	case p.Situation.Now.Due(p.r.GatherBy):
		p.keep(fleet.NoEvidence(fleet.ReasonTooLate))
	default:
		return false
	}
	return true
}

// takeGathered keeps the evidence that has come, also while the rung is held: it comes once.
func (p looking) takeGathered() {
	if g := p.View.Gathered; g != nil && p.r.Gather != "" && g.ID == p.r.Gather {
		p.keep(g.Evidence)
	}
}

func (p looking) gather() {
	p.r.Gather = p.r.ID + "/" + string(p.r.Target.ID)
	p.r.GatherBy = p.Now().Add(p.Situation.Spec.Evidence.Patience())
	p.Actions = append(p.Actions, situation.Action{Kind: situation.ActionGather, Machine: p.M.Name, Gather: p.r.Gather,
		Incident: p.M.Incident.ID, Instance: p.r.Target.ID, Host: p.r.Target.Host, Mark: p.Mark(p.r.Target),
		Adopted: p.r.Target.Adopted})
}

// keep notes what became of the evidence, and how long that took, unless hale began anew meanwhile.
func (p looking) keep(e fleet.Evidence) {
	rec := record.Record{Kind: record.Evidence, Reason: fleet.ReasonGathered, Instance: p.r.Target.ID,
		Generation: p.r.Target.Generation, Host: p.r.Target.Host, Evidence: &e}
	if p.r.GatherBy != 0 {
		rec.Took = p.Now().Sub(p.r.GatherBy.Add(-p.Situation.Spec.Evidence.Patience()))
	}
	if !e.Some() {
		rec.Reason = fleet.ReasonNotGathered
	}
	p.Record(rec)
	p.r.Gathering = belief.Gathering{}
}
