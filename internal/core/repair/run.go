package repair

import "hale/internal/core/fleet"

// running is the operation of the step run: a command on hale's side.
type running struct{ onTheSpot }

func (running) failed(w *Work, _ *fleet.Repair, o fleet.Outcome) onward {
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
func (running) resolve(w *Work, r *fleet.Repair, in fleet.Intent) onward {
	r.Intent = nil
	if !in.Repeatable {
		return w.giveUp(fleet.ReasonRunUnclear, "")
	}
	w.Record(fleet.Record{Kind: fleet.RecordOutcome, Op: in.Op, Call: in.ID, Outcome: fleet.OutcomeUnknown,
		Instance: in.Instance, Generation: in.Generation, Host: in.Host, Detail: "it is declared idempotent"})
	return w.repeat(r, in)
}

// run is the step.
type run struct{ staying }

func (run) op(fleet.Step) fleet.Op { return fleet.OpRun }

func (run) applies(m *fleet.Machine, _ *fleet.Spec, step fleet.Step) fleet.Reason {
	if r := idle(m); r != "" {
		return r
	}
	if !m.Address.IsValid() && step.Run.Asks("{ip}") {
		return fleet.ReasonNoAddress
	}
	return ""
}
