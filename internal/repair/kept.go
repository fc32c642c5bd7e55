package repair

import (
	"slices"

	"hale/internal/fleet"
	"hale/internal/guard"
)

// keepable says why a recreate that keeps the old instance cannot; empty: it can, or has nothing to keep.
func keepable(m *fleet.Machine, s *guard.Situation, step fleet.Step) fleet.Reason {
	switch {
	case step.KeepOld == 0:
		return ""
	case slices.Contains(s.Cannot, fleet.OpKeep), m.Current.Adopted: // it bears no mark that would say that it is kept
		return fleet.ReasonUnsupported
	case len(m.Kept) >= fleet.MostKept:
		return fleet.ReasonTooManyKept
	}
	return ""
}

// keeps reports whether the target is put aside, and not deleted. What was never whole, and what is gone, is not.
func (w *Work) keeps(r *fleet.Repair) bool {
	if r.Proof == fleet.ProofDeleted {
		return false
	}
	step := fleet.CurrentStep(w.Situation.Spec, *r)
	replaces := r.Kind == fleet.RepairHeal || r.Kind == fleet.RepairUpdate
	return r.Kind == fleet.RepairUndo || replaces && step.KeepOld > 0 && r.Target.Certified
}

// setAside: the target is off and bears another name. It is kept from now on.
func (w *Work) setAside(r *fleet.Repair) {
	d := fleet.CurrentStep(w.Situation.Spec, *r).KeepOld
	if r.Kind == fleet.RepairUndo {
		d = w.Situation.Spec.Repair.KeepTime()
	}
	w.removed(r)
	w.M.Kept = append(slices.Clone(w.M.Kept), fleet.KeepFor(r.Target, d, w.Situation.Now))
}

// keepFailed: the target is off, and nothing may take its place. A person must look.
func (w *Work) keepFailed(detail string) {
	if w.wantedIn() {
		w.giveUpChange(fleet.ReasonKeepFailed, detail)
		return
	}
	w.quarantine(fleet.ReasonKeepFailed, detail)
}

// BeginExpire opens the removal of a kept instance whose time is over. It is like that of a remnant: a look must find it off, and put
// aside.
func (w *Work) BeginExpire(k fleet.Shelved) {
	w.M.Waiting = ""
	w.open(fleet.Repair{Kind: fleet.RepairRemnant, Target: k.Incarnation})
	w.Record(fleet.Record{Kind: fleet.RecordRepairStarted, Reason: fleet.ReasonKeepOver, Instance: k.ID, Generation: k.Generation, Host: k.Host,
		Took: w.Situation.Now.Wall.Sub(k.Since)})
	w.enter(fleet.PhaseLook)
	w.Advance()
}

// aside reports whether the instance is what was put aside, and still is as it was left.
func (w *Work) aside(i fleet.Instance) bool {
	return i.Power == fleet.PowerOff && i.Mark.Kept && i.Mark.Installation == w.Installation && i.Mark.Machine == w.M.Name
}

// putOff leaves a kept instance that would not go, or that somebody uses, for later, and tells a person once.
func (w *Work) putOff(id fleet.InstanceID, reason fleet.Reason) {
	at := w.M.KeptAt(id)
	if at < 0 {
		return
	}
	w.M.Kept = slices.Clone(w.M.Kept)
	k := &w.M.Kept[at]
	k.RetryAt = w.now().Add(longestBackoff)
	if !k.Paged {
		k.Paged = true
		w.Record(fleet.Record{Kind: fleet.RecordPaged, Reason: reason, Instance: id, Host: k.Host})
	}
}

// BeginUndo opens the work that brings the instance back that a person wants, which is kept. The guard has admitted it.
func (w *Work) BeginUndo(o *fleet.Wanted) {
	m := w.M
	if m.Repair != nil { // its new instance stands, and is not verified yet
		m.Current.Expired = !m.Current.Certified
		w.Overrule()
	}
	back := m.KeptFor(o).Incarnation
	m.Waiting, m.Wanted, m.Quarantine, m.Change, m.RetryAt = "", nil, nil, nil, 0
	r := w.open(fleet.Repair{
		Kind: fleet.RepairUndo, Order: o.Order, Target: m.Current, Back: back,
		LastOutcome: w.now(), // what it looked like before counts for nothing
	})
	w.Record(fleet.Record{Kind: fleet.RecordRepairStarted, Reason: fleet.Reason(fleet.RepairUndo), Order: o.Order, By: o.By, Instance: r.Back.ID,
		Generation: r.Back.Generation, Host: r.Back.Host})
	if late, ok := Found(m, w.View, w.Installation); ok { // it is the machine by now, and makes way as any other
		w.house(late)
		m.Current.Expired = true
		r.Target = m.Current
	}
	if m.Current.None() {
		r.Removed, r.Proof = true, fleet.ProofDeleted
	}
	w.enter(fleet.PhaseAct)
	w.Advance()
}

// undo looks whether what is to be brought back is as it was left, fences the present instance, puts it aside, and lets the other one take
// its place; each only if it is still to be done.
func (w *Work) undo(r *fleet.Repair) {
	switch {
	case !r.Confirmed:
		w.seeBack(r)
	case !r.Removed && !r.Proof.Meets(fleet.ProofConfirmedOff):
		w.fence(r)
	case !r.Removed && r.Proof == fleet.ProofDeleted:
		w.call(r, fleet.OpDelete, r.Target) // it is gone: its files may be left
	case !r.Removed:
		w.call(r, fleet.OpKeep, r.Target)
	case !r.Proof.Meets(fleet.ProofConfirmedOff):
		w.proveAgain(r)
	case w.Rivalled():
		w.quarantine(fleet.ReasonSecondRunning, "")
	case w.M.Current.ID != r.Back.ID:
		w.call(r, fleet.OpRestore, r.Back)
	default:
		w.call(r, fleet.OpStart, r.Back)
	}
}

// seeBack sees what is to be brought back.
func (w *Work) seeBack(r *fleet.Repair) {
	i, known := w.seenSince(r, r.Back.ID, r.Back.Host)
	switch {
	case !known:
	case i.Power == fleet.PowerGone:
		w.M.LetGo(r.Back.ID)
		w.giveUpChange(fleet.ReasonNoInstance, "")
	case !w.aside(i):
		w.giveUpChange(fleet.ReasonMarkChanged, string(i.Power))
	case w.Rivalled():
		w.giveUpChange(fleet.ReasonSecondRunning, "")
	default:
		r.Confirmed = true
	}
}

// isBack: the old instance has its name again. Whatever was known of the machine is of the other one.
func (w *Work) isBack(r *fleet.Repair) {
	m := w.M
	m.LetGo(r.Back.ID)
	m.Current = r.Back
	m.Epoch++
	m.Acted = w.now()
	w.stopUpdate()
}

// stopUpdate: a person wants the instance of another template back while an update goes on. It must not take the machine again, and has to
// be looked at before it takes others.
func (w *Work) stopUpdate() {
	l := w.Situation.Whole.Ledger
	if l != nil && l.Update.Goes() && w.M.Current.Edition != l.Update.Edition {
		w.M.Change = &fleet.Change{Order: l.Update.Order, Ended: fleet.ReasonUndone}
	}
}

// keeping puts the old instance aside.
type keeping struct{ ofTheOld }

func (keeping) done(w *Work, r *fleet.Repair)                     { w.setAside(r) }
func (keeping) notFound(w *Work, r *fleet.Repair, _ fleet.Intent) { w.removed(r) }
func (keeping) failed(w *Work, _ *fleet.Repair, o fleet.Outcome)  { w.keepFailed(o.Detail) }
func (keeping) took(i fleet.Instance) bool                        { return i.Mark.Kept }

// restoring gives a kept instance its name back.
type restoring struct{ nothing }

func (restoring) done(w *Work, r *fleet.Repair) { w.isBack(r) }

func (restoring) conflict(w *Work, _ *fleet.Repair, _ fleet.Intent, o fleet.Outcome) {
	w.quarantine(fleet.ReasonNameTaken, o.Detail)
}

func (restoring) notFound(w *Work, r *fleet.Repair, in fleet.Intent) {
	w.M.LetGo(r.Back.ID)
	w.quarantine(fleet.ReasonNoInstance, string(in.Op))
}

func (restoring) failed(w *Work, _ *fleet.Repair, o fleet.Outcome) {
	w.quarantine(fleet.ReasonCallFailed, o.Detail)
}

func (restoring) took(i fleet.Instance) bool { return !i.Mark.Kept && i.Power == fleet.PowerOff }
