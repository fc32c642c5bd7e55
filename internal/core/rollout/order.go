package rollout

import (
	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// Refuses says why a person's order about an update is not taken up; empty: it is. There may be no ledger.
func Refuses(r *round.Round, l *belief.Ledger, o *fleet.Order) fleet.Reason {
	if r.S.Wanted.Adopt.Selects() {
		return fleet.ReasonSelects
	}
	if l == nil {
		l = &belief.Ledger{}
	}
	switch o.Kind {
	case fleet.OrderRolloutMend:
		return refusesToMend(r, l)
	case fleet.OrderRolloutUndo:
		switch {
		case l.Update == nil:
			return fleet.ReasonNoRollout
		case !undoable(l):
			return fleet.ReasonNothingToUndo
		}
		return ""
	case fleet.OrderRolloutResume:
		if l.Update.Goes() && !l.Update.IsPaused() {
			return fleet.ReasonNotPaused
		}
	default: // a pause
	}
	if !l.Update.Goes() {
		return fleet.ReasonNoRollout
	}
	return ""
}

// refusesToMend says why machines that differ from the template in force are not built anew.
func refusesToMend(r *round.Round, l *belief.Ledger) fleet.Reason {
	if l.Update.Goes() {
		return fleet.ReasonUpdating
	}
	if r.S.Spec.Mode == policy.ModeObserve {
		return fleet.ReasonObserve
	}
	var touched []change.Touched
	for i := range r.S.Machines {
		v := &r.S.Machines[i]
		if stays(l, &v.Machine) && Differs(l, v) {
			touched = append(touched, change.Touched{Machine: v.Machine.Name, Instance: v.Machine.Current.ID,
				InPlace: change.InPlace(v, &r.S.Spec, l)})
		}
	}
	if len(touched) == 0 {
		return fleet.ReasonNoDrift
	}
	return change.Unreplaceable(touched, &r.S.Spec, r.S.Machines)
}

// Carries reports whether an update goes, or is paused, by the order. There may be no ledger.
func Carries(l *belief.Ledger, o fleet.OrderID) bool {
	return l != nil && l.Update.Goes() && (l.Update.Order == o || l.Update.IsPaused() && l.Update.Paused.Order == o)
}

// Withdraw returns the ledger after a person took an order back: an update that went by it stops where it is, and one
// that was paused by it goes on.
func Withdraw(r *round.Round, l *belief.Ledger, o *fleet.Order) *belief.Ledger {
	if !Carries(l, o.After) {
		return l
	}
	if l.Update.Order != o.After {
		resume := *o
		resume.Kind = fleet.OrderRolloutResume
		return Heed(r, l, &resume)
	}
	stopped := *l.Update
	stopped.Stopped = fleet.ReasonWithdrawn
	r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonWithdrawn, Order: l.Update.Order, By: o.By})
	return l.Updated(&stopped)
}

// Heed returns the ledger after an order about an update that is not refused.
func Heed(r *round.Round, l *belief.Ledger, o *fleet.Order) *belief.Ledger {
	say := func(reason fleet.Reason, size int) {
		r.Record(record.Record{Kind: record.Change, Reason: reason, Order: o.ID, By: o.By, Size: size})
	}
	switch o.Kind {
	case fleet.OrderRolloutUndo:
		return takeBack(r, l, fleet.ReasonOrdered, o.ID, o.By)
	case fleet.OrderRolloutMend:
		u := &belief.Update{Template: l.Template, Edition: l.Edition, Order: o.ID, By: o.By, Proven: true, Mends: true}
		n := 0
		for i := range r.S.Machines {
			v := &r.S.Machines[i]
			if !stays(l, &v.Machine) || !Differs(l, v) {
				continue
			}
			n++
			if v.Machine.Current.Edition == l.Edition {
				u.Drifted = append(u.Drifted, v.Machine.Current.ID)
			}
		}
		say(fleet.ReasonMends, n)
		return l.Updated(u)
	default: // a pause, or its end
	}
	u := *l.Update
	if u.Paused = (belief.Paused{}); o.Kind == fleet.OrderRolloutPause {
		u.Paused = belief.Paused{Order: o.ID, By: o.By, Reason: o.Reason, At: r.S.Now.Wall}
		say(fleet.ReasonRolloutPaused, 0)
	} else {
		say(fleet.ReasonRolloutResumed, 0)
	}
	return l.Updated(&u)
}
