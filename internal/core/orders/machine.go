package orders

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/chore"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/hooks"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// Obey takes up the orders to the machine, or refuses them, and does its part of the one to recover its fleet.
func (r *Orders) Obey(c *chart.Chart) {
	w := ordered{c}
	for _, o := range r.To(w.M) {
		refused := fleet.ReasonWithdrawn
		if !r.isCancelled(o) {
			refused = w.take(o)
		}
		if refused != "" {
			w.refuse(o, refused)
			continue
		}
		w.Rulings = append(w.Rulings, fleet.Ruling{Order: o.ID})
		// it is judged by that
		r.Again = r.Again || o.Kind == fleet.OrderMark || o.Kind == fleet.OrderUnmark || o.Kind == fleet.OrderCancel
	}
	if r.recovers != nil {
		w.recover(r.recovers)
	}
}

// RefuseAll refuses the orders to a machine with an inconsistent belief: nothing is done with it any more.
func (r *Orders) RefuseAll(c *chart.Chart) {
	for _, o := range r.To(c.M) {
		ordered{c}.refuse(o, fleet.ReasonLawBroken)
	}
}

// ordered is a machine to which people give orders.
type ordered struct{ *chart.Chart }

func (w ordered) refuse(o *fleet.Order, why fleet.Reason) {
	w.Rulings = append(w.Rulings, fleet.Ruling{Order: o.ID, Refused: why})
	rec := round.WithBraker(round.AboutOrder(o, why), &w.Situation.Brake)
	if by, occupied := w.M.Occupied(w.Situation.Whole.Ledger); occupied && why == fleet.ReasonOccupied {
		rec.Occupied = &by
	}
	w.Record(rec)
}

// take does what the order wants of the machine's belief, or says why not.
func (w ordered) take(o *fleet.Order) (refused fleet.Reason) {
	switch o.Kind {
	case fleet.OrderRetry:
		return w.retry(o)
	case fleet.OrderHeal:
		return w.heal(o)
	case fleet.OrderUndo:
		return w.undo(o)
	case fleet.OrderHook:
		return w.say(o)
	case fleet.OrderReplace, fleet.OrderStart, fleet.OrderStop, fleet.OrderReboot, fleet.OrderMigrate,
		fleet.OrderRevert:
		return w.chore(o)
	case fleet.OrderMark:
		return w.mark(o)
	case fleet.OrderUnmark:
		return w.unmark(o)
	case fleet.OrderCancel:
		return w.withdraw(o)
	case fleet.OrderHold, fleet.OrderRelease, fleet.OrderConfirm, fleet.OrderScale, fleet.OrderDelete,
		fleet.OrderBrakeOn, fleet.OrderBrakeOff,
		fleet.OrderRecover, fleet.OrderFenced, fleet.OrderCut, fleet.OrderUncut,
		fleet.OrderRolloutPause, fleet.OrderRolloutResume, fleet.OrderRolloutUndo,
		fleet.OrderRolloutMend: // of the whole
	}
	return fleet.ReasonMalformed
}

// say takes the word that a hook of the machine waits for.
func (w ordered) say(o *fleet.Order) fleet.Reason {
	said, refused := hooks.Say(w.M, &w.Situation.Spec, o, w.Situation.Now)
	if refused == "" {
		w.accept(o)
		w.M.Repair.Hooks = said
	}
	return refused
}

// retry takes the machine out of quarantine: its attempts begin anew, and a person is told again if they, too, are in
// vain.
func (w ordered) retry(o *fleet.Order) fleet.Reason {
	m := w.M
	if m.Quarantine == nil {
		return fleet.ReasonNotQuarantined
	}
	w.accept(o)
	if m.Stays() && m.Health.Verdict == belief.VerdictHealthy {
		w.EndIncident(fleet.ReasonHealed) // a person says that it may serve
		return ""
	}
	m.Quarantine, m.Waiting = nil, ""
	m.Attempts, m.RetryAt = nil, 0
	m.Incident.Failed, m.Incident.Paged = 0, false
	return ""
}

// accept records that the order is taken up. What else is recorded in this round follows from it.
func (w ordered) accept(o *fleet.Order) {
	w.Order = o.ID
	w.Record(round.AboutOrder(o, ""))
}

// heal has the machine repaired as soon as nothing but patience is against it. What looks well is left alone, and
// whoever wants what a hold or the brake forbids has to end that first.
func (w ordered) heal(o *fleet.Order) fleet.Reason {
	if refused := w.unhealable(); refused != "" {
		return refused
	}
	w.accept(o)
	w.wantHealed(o)
	w.M.Current.Parked = "" // it is wanted on
	return ""
}

// chore takes up what a person has hale do with the machine. It begins as soon as nothing but patience is against it.
func (w ordered) chore(o *fleet.Order) fleet.Reason {
	if refused := chore.Refused(o.Kind, w.M, w.Situation); refused != "" {
		return refused
	}
	copied := fleet.SnapshotID("")
	if o.Kind == fleet.OrderRevert {
		if copied = chore.Copy(o, w.M); copied == "" {
			return fleet.ReasonNoCopy
		}
	}
	w.accept(o)
	w.want(o)
	w.M.Wanted.Copy = copied
	w.M.Wanted.Chore, w.M.Wanted.Given = o.Kind, w.Situation.Now.Wall
	return ""
}

// unhealable says why no person can have the machine repaired now.
func (w ordered) unhealable() fleet.Reason {
	m, s := w.M, w.Situation
	switch {
	case m.HasChore(s.Now):
		return fleet.ReasonOccupied
	case m.Quarantine != nil:
		return fleet.ReasonQuarantined
	case m.Repair != nil && !m.Repair.Aside():
		return fleet.ReasonInRepair
	case m.Health.Verdict == belief.VerdictHealthy:
		return fleet.ReasonHealthy
	case m.Current.None() && m.Incident == nil:
		return fleet.ReasonNoInstance // and is being built as soon as it may
	case s.Spec.Mode == policy.ModeObserve:
		return fleet.ReasonObserve
	case m.Current.Candidate():
		return fleet.ReasonCandidate
	case guard.Surplus(m, &s.Spec):
		return fleet.ReasonSurplus
	case guard.HoldOn(m, s) != nil:
		return fleet.ReasonHold
	case w.spared():
		return fleet.ReasonProtected
	case s.Brake.On():
		return fleet.ReasonBrake
	}
	return ""
}

// wantHealed lets the order, which is taken up, wait for the machine's repair.
func (w ordered) wantHealed(o *fleet.Order) {
	if w.M.Incident.Blind() {
		w.EndIncident(fleet.ReasonRecovered)
	}
	if w.M.Incident == nil {
		w.OpenIncident(belief.CauseOrdered)
	}
	w.want(o)
}

// want lets the order, which is taken up, wait for its repair. Another one that waits gives way to it: people mean what
// they said last.
func (w ordered) want(o *fleet.Order) {
	m := w.M
	if m.Wanted != nil && (m.Wanted.Undo || m.Repair == nil || m.Repair.Kind != belief.RepairHeal) {
		Unwant(w.Chart, fleet.ReasonOverruled)
	}
	m.Wanted = &belief.Wanted{Order: o.ID, By: o.By, Reason: o.Reason, Until: w.Situation.Now.Wall.Add(fleet.OrderLife)}
	m.Waiting = "" // why it waits is said again
}

// Unwant says why the order that was taken up, and waits, is not followed any more (L12).
func Unwant(w *chart.Chart, why fleet.Reason) {
	o := w.M.Wanted
	w.Record(record.Record{Kind: record.Order, Reason: why, Order: o.Order, Command: o.Command(), By: o.By,
		Detail: o.Reason})
	w.M.Wanted = nil
}

// spared reports whether the machine is protected, and no step is gentle enough.
func (w ordered) spared() bool {
	_, some := ladder.FirstStep(w.M, w.Situation)
	return !some && w.Situation.Spec.Protects(w.M.Name)
}

// undo takes the order to bring the instance back that was replaced last. It begins as soon as nothing but patience is
// against it.
func (w ordered) undo(o *fleet.Order) fleet.Reason {
	m, s := w.M, w.Situation
	switch {
	case len(m.Kept) == 0:
		return fleet.ReasonNothingKept
	case m.HasChore(s.Now):
		return fleet.ReasonOccupied
	case m.Repair != nil && m.Repair.Wanted():
		return fleet.ReasonInRepair
	case s.Spec.Mode == policy.ModeObserve:
		return fleet.ReasonObserve
	case m.Repair == nil && !m.Current.None() && !m.Current.Replaceable():
		return fleet.ReasonNotCertified
	case slices.Contains(s.Cannot, fleet.OpRestore):
		return fleet.ReasonUnsupported
	case guard.Surplus(m, &s.Spec):
		return fleet.ReasonSurplus
	case guard.HoldOn(m, s) != nil, guard.HostHeld(m.Kept[len(m.Kept)-1].Host, s):
		return fleet.ReasonHold
	case s.Spec.Protects(m.Name):
		return fleet.ReasonProtected
	case s.Brake.On():
		return fleet.ReasonBrake
	}
	w.accept(o)
	w.want(o)
	m.Wanted.Undo, m.Wanted.Back = true, m.Kept[len(m.Kept)-1].ID
	return ""
}
