package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// adjusting changes an instance where it is, so that it is as one of another template: off, where it has to be, and on
// again. Its disks stay. It is the operation of the call, too.
type adjusting struct{ sentAgain }

// adjust decides the next call of work in place.
func (x exchange) adjust() onward {
	a := x.r.InPlace
	switch {
	case a.Done && a.Rest:
		return x.start(x.r.Target)
	case a.Done:
		return x.enter(belief.PhaseVerify)
	case x.r.Proof.Meets(fleet.ProofDeleted):
		return x.anew()
	case a.Rest && !x.r.Proof.Off():
		return x.fence()
	}
	on := x.r.Target
	on.Edition = x.Edition(x.r)
	return x.call(x.r, fleet.OpAdjust, on)
}

// anew has the machine be built anew after all. One that did not have to leave its users leaves them now.
func (x exchange) anew() onward {
	left := x.r.InPlace.Rest
	x.r.InPlace = nil
	if left {
		return again
	}
	return x.enter(belief.PhaseLeave)
}

// done: the instance counts as one of the other template from here on.
func (adjusting) done(w *Work, r *belief.Repair) onward {
	w.M.Current.Edition = w.Edition(r)
	r.InPlace = &belief.Adjusting{Rest: r.InPlace.Rest, Done: true}
	return again
}

func (adjusting) undone(*belief.Repair) {}

// conflict: it runs, and has to be off. If it was off before, that is to be shown anew.
func (adjusting) conflict(w *Work, r *belief.Repair, in belief.Intent, _ fleet.Outcome) onward {
	if !r.InPlace.Rest {
		r.InPlace = &belief.Adjusting{Rest: true}
		return w.enter(belief.PhaseLeave)
	}
	r.LookAgain()
	w.retry(r)
	return w.boundTries(r, in)
}

// notFound: what is gone is built anew.
func (adjusting) notFound(_ *Work, r *belief.Repair, _ belief.Intent) onward {
	r.LookAgain()
	return again
}

// failed: where the provider cannot do that, the machine is built anew.
func (adjusting) failed(w *Work, r *belief.Repair, o fleet.Outcome) onward {
	if o.Kind == fleet.OutcomeUnsupported {
		return exchange{w, r}.anew()
	}
	return w.giveUpChange(fleet.ReasonCallFailed, o.Detail)
}

// resolve: it may be sent again after any answer, and none.
func (o adjusting) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	o.resolved(w, r, in)
	w.retry(r)
	return w.boundTries(r, in)
}
