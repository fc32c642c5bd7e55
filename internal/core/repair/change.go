package repair

import (
	"cmp"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/record"
	"hale/internal/core/wanted"
)

// BeginChange opens the work that a person ordered, or an opinion wants, in the place of whatever is under way. The
// guard has admitted it. Healing pauses meanwhile: it goes on when the work ends, however it does.
func (w *Work) BeginChange(kind belief.RepairKind, by *belief.Removal) {
	m := w.M
	building := m.Repair != nil && kind == belief.RepairRemove
	if m.Repair != nil {
		w.Overrule()
	}
	var adjusts *belief.Adjusting
	if kind == belief.RepairUpdate {
		adjusts = wanted.InPlace(&w.Chart)
	}
	m.Waiting, m.Quarantine, m.Change = "", nil, nil
	if (by.Named || building) && !m.Current.Certified && !m.Current.Adopted {
		m.Current.Expired = true // its build is given up
	}
	r := w.open(belief.Repair{Kind: kind, Order: by.Order, By: by.By, InPlace: adjusts}, belief.AimAt(m.Current))
	begun := record.Record{Kind: record.RepairStarted, Reason: fleet.Reason(kind), Order: by.Order, By: by.By,
		Instance: m.Current.ID, Generation: m.Current.Generation, Host: m.Current.Host, Detail: string(by.Why)}
	if adjusts != nil {
		begun.Op = fleet.OpAdjust
	}
	w.Record(begun)
	if w.enter(belief.PhaseLeave); adjusts != nil && !adjusts.Rest {
		r.Phase = belief.PhaseAct // it serves on
	}
	w.Advance()
}

// spoilt says why a wanted change is given up before the old instance is removed: its order does not stand any more,
// what it is to keep cannot be kept, or there is no host for its successor, and has not been for a while.
func (w *Work) spoilt(r *belief.Repair) fleet.Reason {
	switch {
	case !r.Wanted() || r.Removed:
		return ""
	case !wanted.Stands(&w.Chart, r):
		return fleet.ReasonWithdrawn
	case r.Kind.Replaces() && r.InPlace == nil && w.keeps(r):
		if why := ladder.Keepable(w.M, w.Situation, belief.CurrentStep(w.Situation.Spec, *r)); why != "" {
			return why
		}
	}
	if r.Retries >= pageAfter {
		return w.homeless(r)
	}
	return ""
}

// mayChange reports whether a wanted change may go on. Until the old instance is removed, what forbids a new step
// forbids it, too; only a step under way finishes, whatever the brake says (L6).
func (w *Work) mayChange(r *belief.Repair) bool {
	if !r.Wanted() || r.Removed {
		return true
	}
	reason := w.HeldBack(r)
	if reason == "" {
		reason = cmp.Or(wanted.Needed(&w.Chart, r), wanted.Kept(&w.Chart, r))
	}
	if reason == "" {
		if reason = w.homeless(r); reason != "" {
			w.retry(r) // for a while; see spoilt
		}
	}
	if reason != "" {
		w.wait(reason)
	}
	return reason == ""
}

// giveUpChange ends a wanted change that failed, or is wanted no more: from here on the machine is healed as any other.
// Of a failure a person is told, unless it is of a spare that hale turned off or on of its own accord.
func (w *Work) giveUpChange(why fleet.Reason, detail string) onward {
	m, r := w.M, w.M.Repair
	order := r.Order
	seen := w.View.Sighting(r.Target.ID).Instance.Power
	if r.OffAccepted && m.Current.ID == r.Target.ID && seen == fleet.PowerRunning {
		m.Current.PoweredOff, m.Acted = true, w.Now() // when it is seen off, no person did that
	}
	if why != fleet.ReasonWithdrawn {
		failed := record.Record{Kind: record.StepFailed, Reason: why, Order: order, Detail: detail,
			Instance: r.Target.ID}
		if r.Kind == belief.RepairOperate {
			failed.Step = r.Step
		}
		w.Record(failed)
	}
	w.end(why)
	m.Waiting = ""
	if why != fleet.ReasonWithdrawn && !order.OfSpare() {
		w.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonGivenUp, Order: order, Detail: string(why),
			Instance: m.Current.ID})
	}
	return over
}

// forbidden says why the work may not go on towards taking its target away. The configuration may have been edited
// since it began, and what it forbids by now is not done: neither begun, nor finished. Of what is gone nothing is left
// to spare, and what never was whole has nothing to keep.
func (w *Work) forbidden(r *belief.Repair) fleet.Reason {
	if r.Kind == belief.RepairOperate {
		return ordered{w, r}.spared()
	}
	takes := r.Wanted() || r.Kind == belief.RepairHeal && r.Step.Builds()
	if !takes || r.Intent != nil || r.Removed || r.Proof == fleet.ProofDeleted || !before(r) {
		return ""
	}
	if w.keeps(r) || r.InPlace != nil || !r.Wanted() && r.Target.Expired {
		return guard.AgainstAside(w.M, &w.Situation.Spec, r.Target)
	}
	return guard.Against(w.M, &w.Situation.Spec, r.Target)
}
