package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// creating builds the next instance.
type creating struct{ nothing }

func (creating) done(w *Work, r *belief.Repair) onward {
	m := w.M
	m.Current, r.Next = r.Next, belief.Incarnation{}
	w.Stands()
	m.Address = w.View.Sighting(m.Current.ID).Instance.Address
	return errands{w, r}.built()
}

func (creating) undone(r *belief.Repair) { r.Next = belief.Incarnation{} }

func (creating) conflict(w *Work, _ *belief.Repair, _ belief.Intent, o fleet.Outcome) onward {
	return w.failAttempt(fleet.ReasonNameTaken, o.Detail)
}

func (creating) notFound(w *Work, _ *belief.Repair, in belief.Intent) onward {
	return w.failRung(fleet.ReasonNoInstance, string(in.Op))
}

func (creating) failed(w *Work, _ *belief.Repair, o fleet.Outcome) onward {
	return w.failAttempt(fleet.ReasonCallFailed, o.Detail)
}

func (c creating) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	seen, known := w.observed(r, in)
	switch {
	case !known:
		return w.observe(r, in.Instance, in.Host)
	case seen.Power == fleet.PowerRunning:
		return c.done(w, r)
	case seen.Power == fleet.PowerGone:
		return exchange{w, r}.lostCall()
	}
	return exchange{w, r}.halfMade()
}

// poweringOff is the fence by the provider: the proof is a sighting of its own, orders are counted there, and it is
// given up there without proof.
type poweringOff struct{ nothing }

func (poweringOff) done(_ *Work, r *belief.Repair) onward {
	r.OffAccepted = true
	return again
}

func (poweringOff) undone(r *belief.Repair) { onTheSpot{}.undone(r) }

func (poweringOff) conflict(w *Work, _ *belief.Repair, _ belief.Intent, o fleet.Outcome) onward {
	return w.giveUp(fleet.ReasonMarkChanged, o.Detail)
}

func (poweringOff) took(i fleet.Instance) bool {
	return i.Power == fleet.PowerOff || i.Power == fleet.PowerGone
}

// deleting removes the old instance.
type deleting struct{ ofTheOld }

func (deleting) done(w *Work, r *belief.Repair) onward { return exchange{w, r}.removed() }

func (d deleting) notFound(w *Work, r *belief.Repair, _ belief.Intent) onward { return d.done(w, r) }

func (deleting) failed(w *Work, r *belief.Repair, o fleet.Outcome) onward {
	return exchange{w, r}.deleteFailed(o)
}

// refused goes on without the rest where the old instance is gone and the provider refuses to remove what it left.
func (d deleting) refused(w *Work, detail string) onward {
	if r := w.M.Repair; r.Proof == fleet.ProofDeleted {
		return exchange{w, r}.deleteFailed(fleet.Outcome{Detail: detail})
	}
	return d.ofTheOld.refused(w, detail)
}

// resolve: that the instance is gone does not show that its files went, too. A delete finds those that are left, so it
// is sent once more.
func (deleting) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	r.MayGo = true
	seen, known := w.observed(r, in)
	switch {
	case !known:
		return w.observe(r, in.Instance, in.Host)
	case seen.Power != fleet.PowerGone:
		return w.repeat(r, in)
	case !r.Proof.Meets(fleet.ProofDeleted):
		return exchange{w, r}.proven(fleet.ProofDeleted)
	}
	return exchange{w, r}.removed()
}

// certifying writes into an instance's mark that it was healthy.
type certifying struct{ nothing }

func (certifying) done(w *Work, _ *belief.Repair) onward {
	m := w.M
	m.Current.Certified, m.Current.Expired = true, false
	w.Record(record.Record{Kind: record.Certified, Instance: m.Current.ID, Generation: m.Current.Generation})
	return again
}

func (certifying) conflict(w *Work, _ *belief.Repair, _ belief.Intent, o fleet.Outcome) onward {
	return w.giveUpCertifying(fleet.ReasonMarkChanged, o.Detail)
}

// notFound: what became of it is the provider's word to judge. If it is gone, it is a build like any other that failed.
func (certifying) notFound(w *Work, _ *belief.Repair, _ belief.Intent) onward {
	w.M.Current.Expired = !w.M.Current.Certified
	w.M.RetryAt = w.Now().Add(w.Situation.Spec.Repair.Backoff)
	return w.end(fleet.ReasonNoInstance)
}

func (certifying) failed(w *Work, _ *belief.Repair, o fleet.Outcome) onward {
	return w.giveUpCertifying(fleet.ReasonCallFailed, o.Detail)
}

func (certifying) refused(w *Work, detail string) onward {
	return w.giveUpCertifying(fleet.ReasonRefusedBy, detail)
}

func (certifying) took(i fleet.Instance) bool { return i.Mark.Certified }
