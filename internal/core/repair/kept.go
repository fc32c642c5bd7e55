package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// keeps reports whether the target is put aside, and not deleted. What was never whole, and what is gone, is not.
func (w *Work) keeps(r *belief.Repair) bool {
	if r.Proof == fleet.ProofDeleted {
		return false
	}
	step := belief.CurrentStep(w.Situation.Spec, *r)
	replaces := r.Kind == belief.RepairHeal || r.Kind.Replaces()
	return r.Kind == belief.RepairUndo || replaces && step.KeepOld > 0 && r.Target.Certified
}

// BeginExpire opens the removal of an instance that was kept for its time. It is like that of a remnant: a look must
// find it off, and put aside.
func (w *Work) BeginExpire(k belief.KeptInstance) {
	w.M.Waiting = ""
	w.open(belief.Repair{Kind: belief.RepairRemnant}, belief.AimAt(k.Incarnation))
	w.Record(record.Record{Kind: record.RepairStarted, Reason: fleet.ReasonKeepOver, Instance: k.ID,
		Generation: k.Generation, Host: k.Host, Took: w.Situation.Now.Wall.Sub(k.Since)})
	w.enter(belief.PhaseLook)
	w.Advance()
}

// BeginUndo opens the work that brings the instance back that a person wants, which is kept. The guard has admitted it.
func (w *Work) BeginUndo(o *belief.Wanted) {
	m := w.M
	if m.Repair != nil { // its new instance stands, and is not verified yet
		m.Current.Expired = !m.Current.Certified
		w.Overrule()
	}
	back := m.KeptFor(o).Incarnation
	m.Waiting, m.Wanted, m.Quarantine, m.Change, m.RetryAt = "", nil, nil, nil, 0
	r := w.open(belief.Repair{
		Kind: belief.RepairUndo, Order: o.Order, By: o.By, Back: back,
		LastOutcome: w.Now(), // what it looked like before counts for nothing
	}, belief.AimAt(m.Current))
	w.Record(record.Record{Kind: record.RepairStarted, Reason: fleet.Reason(belief.RepairUndo), Order: o.Order,
		By: o.By, Instance: r.Back.ID, Generation: r.Back.Generation, Host: r.Back.Host})
	if late, ok := chart.Found(m, w.View, w.Installation); ok { // it is the machine by now, and makes way as any other
		w.TakeFound(late)
		m.Current.Expired = true
		r.Aim = belief.AimAt(m.Current)
	}
	w.enter(belief.PhaseLeave)
	w.Advance()
}

// undo looks whether what is to be brought back is as it was left, fences the present instance, puts it aside, and lets
// the other one take its place; each only if it is still to be done.
func (x exchange) undo() onward {
	switch {
	case !x.r.Confirmed:
		return x.seeBack()
	case !x.r.Removed && !x.r.Proof.Meets(fleet.ProofConfirmedOff):
		return x.fence()
	case !x.r.Removed && x.r.Proof == fleet.ProofDeleted:
		return x.call(x.r, fleet.OpDelete, x.r.Target) // it is gone: its files may be left
	case !x.r.Removed:
		return x.call(x.r, fleet.OpKeep, x.r.Target)
	case !x.r.Proof.Meets(fleet.ProofConfirmedOff):
		return x.proveAgain()
	case x.Rivalled():
		return x.quarantine(fleet.ReasonSecondRunning, "")
	case x.M.Current.ID != x.r.Back.ID:
		return x.call(x.r, fleet.OpRestore, x.r.Back)
	}
	return x.start(x.r.Back)
}

// start has an instance run again that hale had be off.
func (x exchange) start(i belief.Incarnation) onward { return x.call(x.r, fleet.OpStart, i) }

// seeBack sees what is to be brought back.
func (x exchange) seeBack() onward {
	i, known := x.SeenSince(x.r, x.r.Back.ID)
	switch {
	case !known:
		return x.observe(x.r, x.r.Back.ID, x.r.Back.Host)
	case i.Power == fleet.PowerGone:
		x.M.LetGo(x.r.Back.ID)
		return x.giveUpChange(fleet.ReasonNoInstance, "")
	case !x.Aside(i):
		return x.giveUpChange(fleet.ReasonMarkChanged, string(i.Power))
	case x.Rivalled():
		return x.giveUpChange(fleet.ReasonSecondRunning, "")
	}
	x.r.Confirmed, x.r.AskAt = true, 0 // the next question is another
	return again
}

// isBack makes the old instance the machine's again: it has its name back. Evidence about the other one is dropped.
func (x exchange) isBack() onward {
	m := x.M
	m.LetGo(x.r.Back.ID)
	m.Current, m.Provisioned = x.r.Back, nil
	m.Epoch++
	m.Acted = x.Now()
	x.stopUpdate()
	return again
}

// stopUpdate: a person wants the instance of another template back while an update goes on. It must not take the
// machine again, and has to be looked at before it takes others.
func (x exchange) stopUpdate() {
	l := x.Situation.Whole.Ledger
	if l != nil && l.Update.Goes() && x.M.Current.Edition != l.Update.Edition {
		x.M.Change = &belief.Change{Order: l.Update.Order, Ended: fleet.ReasonUndone}
	}
}

// keeping puts the old instance aside.
type keeping struct{ ofTheOld }

func (keeping) done(w *Work, r *belief.Repair) onward { return exchange{w, r}.setAside() }

func (keeping) notFound(w *Work, r *belief.Repair, _ belief.Intent) onward {
	return exchange{w, r}.removed()
}

func (keeping) failed(w *Work, r *belief.Repair, o fleet.Outcome) onward {
	return exchange{w, r}.keepFailed(o.Detail)
}

func (keeping) took(i fleet.Instance) bool { return i.Mark.Kept }

// restoring gives a kept instance its name back.
type restoring struct{ nothing }

func (restoring) done(w *Work, r *belief.Repair) onward { return exchange{w, r}.isBack() }

func (restoring) conflict(w *Work, _ *belief.Repair, _ belief.Intent, o fleet.Outcome) onward {
	return w.quarantine(fleet.ReasonNameTaken, o.Detail)
}

func (restoring) notFound(w *Work, r *belief.Repair, in belief.Intent) onward {
	w.M.LetGo(r.Back.ID)
	return w.quarantine(fleet.ReasonNoInstance, string(in.Op))
}

func (restoring) failed(w *Work, _ *belief.Repair, o fleet.Outcome) onward {
	return w.quarantine(fleet.ReasonCallFailed, o.Detail)
}

func (restoring) took(i fleet.Instance) bool { return !i.Mark.Kept && i.Power == fleet.PowerOff }
