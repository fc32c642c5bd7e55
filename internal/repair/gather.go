package repair

import "hale/internal/fleet"

// gathered reports whether the evidence on the target is kept, or will not be: only then the step may go on that could destroy it. It is
// asked for once per incident and instance, before the look, so that the look stays the last word before the step.
func (w *Work) gathered(r *fleet.Repair) bool {
	switch g, i := w.View.Gathered, w.M.Incident; {
	case r.Gather == "":
		if w.Situation.Spec.Evidence.Off || r.Kind != fleet.RepairHeal || i == nil || !r.Step.Destroys() || r.Target.None() || i.Evidence == r.Target.ID {
			return true
		}
		i.Evidence = r.Target.ID
		w.gather(r)
		return false
	case g != nil && g.ID == r.Gather:
		w.keep(r, g.Evidence)
	case r.GatherBy == 0: // hale ended while it was gathered; were that the reason, it would end again
		w.keep(r, fleet.NoEvidence(fleet.ReasonInterrupted))
	case w.Situation.Now.Due(r.GatherBy):
		w.keep(r, fleet.NoEvidence(fleet.ReasonTooLate))
	default:
		return false
	}
	return true
}

func (w *Work) gather(r *fleet.Repair) {
	r.Gather = r.ID + "/" + string(r.Target.ID)
	r.GatherBy = w.now().Add(w.Situation.Spec.Evidence.Patience())
	w.Actions = append(w.Actions, fleet.Action{Kind: fleet.ActionGather, Machine: w.M.Name, Gather: r.Gather, Incident: w.M.Incident.ID,
		Instance: r.Target.ID, Host: r.Target.Host, Mark: w.mark(r.Target), Adopted: r.Target.Adopted})
}

// keep notes what became of the evidence.
func (w *Work) keep(r *fleet.Repair, e fleet.Evidence) {
	rec := fleet.Record{Kind: fleet.RecordEvidence, Reason: fleet.ReasonKept, Instance: r.Target.ID, Generation: r.Target.Generation,
		Host: r.Target.Host, Evidence: &e}
	if !e.Some() {
		rec.Reason = fleet.ReasonNotKept
	}
	w.Record(rec)
	r.Gather, r.GatherBy = "", 0
}
