package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// running is the operation of the step run: a command on hale's side.
type running struct{ onTheSpot }

func (running) failed(w *Work, _ *belief.Repair, o fleet.Outcome) onward {
	reason := fleet.ReasonRunFailed
	if o.Kind == fleet.OutcomeUnsupported {
		reason = fleet.ReasonUnsupported
	}
	return w.failRung(reason, o.Detail)
}

func (running) refused(w *Work, detail string) onward {
	return w.giveUp(fleet.ReasonNoProgram, detail)
}

// resolve: when hale died, how far its command came cannot be observed. It is run again if it was declared to bear
// that, and else a person must look (L12).
func (running) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	r.Intent = nil
	if !in.Repeatable {
		return w.giveUp(fleet.ReasonRunUnclear, "")
	}
	w.Record(record.Record{Kind: record.Outcome, Op: in.Op, Call: in.ID, Outcome: fleet.OutcomeUnknown,
		Instance: in.Instance, Generation: in.Generation, Host: in.Host, Detail: "it is declared idempotent"})
	return w.repeat(r, in)
}
