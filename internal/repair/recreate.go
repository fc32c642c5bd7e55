package repair

import "hale/internal/fleet"

// creating builds the next instance.
type creating struct{ nothing }

func (creating) done(w *Work, r *fleet.Repair) {
	m := w.M
	m.Current, r.Next = r.Next, fleet.Incarnation{}
	w.stands()
	m.Address = w.View.Sighting(m.Current.ID).Instance.Address
	w.verifyFrom()
}

func (creating) undone(r *fleet.Repair) { r.Next = fleet.Incarnation{} }

func (creating) conflict(w *Work, _ *fleet.Repair, _ fleet.Intent, o fleet.Outcome) {
	w.failAttempt(fleet.ReasonNameTaken, o.Detail)
}

func (creating) notFound(w *Work, _ *fleet.Repair, in fleet.Intent) {
	w.failRung(fleet.ReasonNoInstance, string(in.Op))
}

func (creating) failed(w *Work, _ *fleet.Repair, o fleet.Outcome) {
	w.failAttempt(fleet.ReasonCallFailed, o.Detail)
}

func (c creating) resolve(w *Work, r *fleet.Repair, in fleet.Intent) {
	seen, known := w.observed(r, in)
	switch {
	case !known:
	case seen.Power == fleet.PowerRunning:
		c.done(w, r)
	case seen.Power == fleet.PowerGone:
		exchange{w, r}.lostOrder()
	default:
		exchange{w, r}.halfMade()
	}
}

// poweringOff is the fence by the provider: the proof is a sighting of its own, orders are counted there, and it is
// given up there without proof.
type poweringOff struct{ nothing }

func (poweringOff) undone(r *fleet.Repair) { onTheSpot{}.undone(r) }

func (poweringOff) conflict(w *Work, _ *fleet.Repair, _ fleet.Intent, o fleet.Outcome) {
	w.giveUp(fleet.ReasonMarkChanged, o.Detail)
}

func (poweringOff) took(i fleet.Instance) bool {
	return i.Power == fleet.PowerOff || i.Power == fleet.PowerGone
}

// deleting removes the old instance.
type deleting struct{ ofTheOld }

func (deleting) done(w *Work, r *fleet.Repair)                     { exchange{w, r}.removed() }
func (deleting) notFound(w *Work, r *fleet.Repair, _ fleet.Intent) { exchange{w, r}.removed() }
func (deleting) failed(w *Work, r *fleet.Repair, o fleet.Outcome)  { exchange{w, r}.deleteFailed(o) }

// resolve: that the instance is gone does not show that its files went, too. A delete finds those that are left, so it
// is ordered once more.
func (deleting) resolve(w *Work, r *fleet.Repair, in fleet.Intent) {
	seen, known := w.observed(r, in)
	switch {
	case !known:
	case seen.Power != fleet.PowerGone:
		w.repeat(r, in)
	case !r.Proof.Meets(fleet.ProofDeleted):
		exchange{w, r}.proven(fleet.ProofDeleted)
	default:
		exchange{w, r}.removed()
	}
}

// certifying writes into an instance's mark that it was healthy.
type certifying struct{ nothing }

func (certifying) done(w *Work, _ *fleet.Repair) {
	m := w.M
	m.Current.Certified, m.Current.Expired = true, false
	w.Record(fleet.Record{Kind: fleet.RecordCertified, Instance: m.Current.ID, Generation: m.Current.Generation})
}

func (certifying) conflict(w *Work, _ *fleet.Repair, _ fleet.Intent, o fleet.Outcome) {
	w.giveUpCertifying(fleet.ReasonMarkChanged, o.Detail)
}

// notFound: what became of it is the provider's word to judge.
func (certifying) notFound(w *Work, _ *fleet.Repair, _ fleet.Intent) {
	w.M.RetryAt = w.now().Add(w.Situation.Spec.Repair.Backoff)
	w.end(fleet.ReasonNoInstance)
}

func (certifying) failed(w *Work, _ *fleet.Repair, o fleet.Outcome) {
	w.giveUpCertifying(fleet.ReasonCallFailed, o.Detail)
}

func (certifying) refused(w *Work, detail string) { w.giveUpCertifying(fleet.ReasonRefusedBy, detail) }

func (certifying) took(i fleet.Instance) bool { return i.Mark.Certified }

// recreate is the step.
type recreate struct{ anywhere }

func (recreate) op(fleet.Step) fleet.Op { return fleet.OpCreate }

func (recreate) applies(m *fleet.Machine, spec *fleet.Spec, step fleet.Step) fleet.Reason {
	return replaceable(m, spec, step)
}
