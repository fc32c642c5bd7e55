package decide

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ledger"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/repair"
	"hale/internal/core/round"
)

// Bounds of what is stored together.
const (
	mostHolds    = 500 // of one fleet
	mostOnOne    = 8   // of one subject
	endingAtOnce = 32  // holds that end, in one round
)

// openOrdered opens the machines with an order.
func (r *deciding) openOrdered() {
	for i := range r.S.Orders {
		if n, ok := r.Ordered(r.S.Orders[i].Machine); ok {
			r.Open(n)
		}
	}
}

// heedOrders takes up the orders that are to the fleet as a whole, and refuses those to an unknown subject.
func (r *deciding) heedOrders() {
	for i := range r.S.Orders {
		o := &r.S.Orders[i]
		_, known := r.Ordered(o.Machine)
		switch {
		case o.Due(r.S.Now):
			r.Rule(o, fleet.ReasonExpired)
		case o.Machine != "" && !known, o.Host != "" && !r.knowsHost(o.Host):
			r.Rule(o, fleet.ReasonUnknownSubject)
		case o.Kind == fleet.OrderHold:
			r.hold(o)
		case o.Kind == fleet.OrderRelease:
			r.release(o)
		case o.Kind == fleet.OrderConfirm:
			ledger.Confirm(&r.Round, o)
		case o.Kind == fleet.OrderScale:
			ledger.Scale(&r.Round, o)
		case o.Kind == fleet.OrderDelete:
			ledger.Remove(&r.Round, o)
		case o.Kind == fleet.OrderRecover && o.Believe:
			believing{r}.believes(o)
		case o.Kind == fleet.OrderRecover:
			r.recovery(o)
		case o.Kind == fleet.OrderFenced:
			r.fenced(o)
		case o.Kind.Notes():
			r.note(o)
		}
	}
}

// knowsHost reports whether the fleet may have to do with the host: its provider names it, or the hosts are not known
// yet.
func (r *deciding) knowsHost(name fleet.HostName) bool {
	return len(r.S.Hosts) == 0 || slices.ContainsFunc(r.S.Hosts, func(h fleet.Host) bool { return h.Name == name })
}

// hold places a hold. One of the same name gives way to it, or without a name that of the same person on the same
// subject.
func (r *deciding) hold(o *fleet.Order) {
	all, onOne := 0, 0
	for i := range r.Sit.Whole.Holds {
		h := &r.Sit.Whole.Holds[i]
		if h.GivesWay(o) {
			continue
		}
		all++
		if h.Same(o.Machine, o.Host) {
			onOne++
		}
	}
	if all >= mostHolds || onOne >= mostOnOne {
		r.Rule(o, fleet.ReasonTooMany)
		return
	}
	r.Rule(o, "")
	r.endHolds(fleet.ReasonSuperseded, o, func(h *belief.Hold) bool { return h.GivesWay(o) })
	h := belief.HoldOf(o, r.S.Now)
	r.Sit.Whole.Holds = append(r.Sit.Whole.Holds, h)
	r.S.Now.Await(h.Ends)
}

// release ends the hold of the name, or else the person's own holds on the subject, or everybody's when that is asked
// for.
func (r *deciding) release(o *fleet.Order) {
	own := func(h *belief.Hold) bool { return h.EndsBy(o) }
	refused := fleet.ReasonNotHeld
	for i := range r.Sit.Whole.Holds {
		h := &r.Sit.Whole.Holds[i]
		switch {
		case own(h):
			r.Rule(o, "")
			r.endHolds(fleet.ReasonReleased, o, own)
			return
		case h.Same(o.Machine, o.Host) && o.Name == "":
			refused = fleet.ReasonHeldByOthers
		}
	}
	r.Rule(o, refused)
}

// endHolds takes the holds away that are to end, with a record each, and has what they held judged anew.
func (r *deciding) endHolds(why fleet.Reason, by *fleet.Order, ends func(*belief.Hold) bool) {
	var kept []belief.Hold
	for i := range r.Sit.Whole.Holds {
		h := r.Sit.Whole.Holds[i]
		if !ends(&h) {
			kept = append(kept, h)
			continue
		}
		rec := record.Record{
			Kind: record.HoldEnded, Reason: why, Machine: h.Machine, Host: h.Host, By: h.By, Detail: h.Reason,
			Took: r.S.Now.Wall.Sub(h.Given), Only: h.Only,
		}
		if by != nil {
			rec.Order = by.ID
		}
		r.Record(rec)
		if h.Only == "" && (why != fleet.ReasonSuperseded || by.Only != "" || !h.Same(by.Machine, by.Host)) {
			r.Freed = append(r.Freed, h)
		}
	}
	r.Sit.Whole.Holds = kept
}

// expireHolds ends the holds that are over: the first ones, when they are many.
func (r *deciding) expireHolds() {
	over := 0
	for i := range r.Sit.Whole.Holds {
		if r.Sit.Whole.Holds[i].Over(r.S.Now) {
			over++
		}
	}
	if over == 0 {
		return
	}
	left := endingAtOnce
	r.Again = r.Again || over > left // the next ones in the next round
	r.endHolds(fleet.ReasonExpired, nil, func(h *belief.Hold) bool {
		if left == 0 || !h.Over(r.S.Now) {
			return false
		}
		left--
		return true
	})
}

// isFreed reports whether a hold of the machine just ended.
func (r *deciding) isFreed(m *belief.Machine) bool {
	return slices.ContainsFunc(r.Freed, func(h belief.Hold) bool { return h.Covers(m) })
}

// stirred reports whether the machine is to be judged though nothing was heard of it: a person gave it an order, or let
// it go.
func (r *deciding) stirred(m *belief.Machine) bool {
	if len(r.S.Orders) == 0 && len(r.Freed) == 0 {
		return false
	}
	return r.recovers != nil || r.believed != nil || r.isFreed(m) || slices.ContainsFunc(r.S.Orders,
		func(o fleet.Order) bool { return o.Machine == m.Name })
}

// orders returns those to the machine that stand.
func (r *deciding) orders(w *work) []*fleet.Order {
	var out []*fleet.Order
	for i := range r.S.Orders {
		if o := &r.S.Orders[i]; o.Machine == w.M.Name && o.Kind.ToMachine() && !o.Due(r.S.Now) {
			out = append(out, o)
		}
	}
	return out
}

// refuseAll refuses the orders to a machine with an inconsistent belief: nothing is done with it any more.
func (r *deciding) refuseAll(w *work) {
	for _, o := range r.orders(w) {
		w.refuse(o, fleet.ReasonLawBroken)
	}
}

// obey takes up an order to the machine, or refuses it.
func (w *work) obey(o *fleet.Order) {
	if refused := w.take(o); refused != "" {
		w.refuse(o, refused)
		return
	}
	w.rulings = append(w.rulings, fleet.Ruling{Order: o.ID})
}

func (w *work) refuse(o *fleet.Order, why fleet.Reason) {
	w.rulings = append(w.rulings, fleet.Ruling{Order: o.ID, Refused: why})
	w.Record(round.WithBraker(round.AboutOrder(o, why), &w.Situation.Brake))
}

// take does what the order wants of the machine's belief, or says why not.
func (w *work) take(o *fleet.Order) (refused fleet.Reason) {
	switch o.Kind {
	case fleet.OrderRetry:
		return w.retry(o)
	case fleet.OrderHeal:
		return w.heal(o)
	case fleet.OrderUndo:
		return w.undo(o)
	case fleet.OrderHold, fleet.OrderRelease, fleet.OrderConfirm, fleet.OrderScale, fleet.OrderDelete,
		fleet.OrderBrakeOn, fleet.OrderBrakeOff,
		fleet.OrderRecover, fleet.OrderFenced, fleet.OrderCut, fleet.OrderUncut: // of the whole
	}
	return fleet.ReasonMalformed
}

// retry takes the machine out of quarantine: its attempts begin anew, and a person is told again if they, too, are in
// vain.
func (w *work) retry(o *fleet.Order) fleet.Reason {
	m := w.M
	if m.Quarantine == nil {
		return fleet.ReasonNotQuarantined
	}
	w.accept(o)
	m.Quarantine, m.Waiting = nil, ""
	m.Attempts, m.RetryAt = nil, 0
	m.Incident.Failed, m.Incident.Paged = 0, false
	return ""
}

// accept records that the order is taken up. What else is recorded in this round follows from it.
func (w *work) accept(o *fleet.Order) {
	w.Order = o.ID
	w.Record(round.AboutOrder(o, ""))
}

// heal has the machine repaired as soon as nothing but patience is against it. What looks well is left alone, and
// whoever wants what a hold or the brake forbids has to end that first.
func (w *work) heal(o *fleet.Order) fleet.Reason {
	if refused := w.unhealable(); refused != "" {
		return refused
	}
	w.accept(o)
	w.wantHealed(o)
	return ""
}

// unhealable says why no person can have the machine repaired now.
func (w *work) unhealable() fleet.Reason {
	m, s := w.M, w.Situation
	switch {
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
func (w *work) wantHealed(o *fleet.Order) {
	if w.M.Incident.Blind() {
		w.closeIncident()
	}
	if w.M.Incident == nil {
		w.OpenIncident(belief.CauseOrdered)
	}
	w.want(o)
}

// want lets the order, which is taken up, wait for its repair. Another one that waits gives way to it: people mean what
// they said last.
func (w *work) want(o *fleet.Order) {
	m := w.M
	if m.Wanted != nil && (m.Wanted.Undo || m.Repair == nil || m.Repair.Kind != belief.RepairHeal) {
		w.unwant(fleet.ReasonOverruled)
	}
	m.Wanted = &belief.Wanted{Order: o.ID, By: o.By, Reason: o.Reason, Until: w.Situation.Now.Wall.Add(fleet.OrderLife)}
	m.Waiting = "" // why it waits is said again
}

// unwant says why the order that was taken up, and waits, is not followed any more (L12).
func (w *work) unwant(why fleet.Reason) {
	o, command := w.M.Wanted, fleet.OrderHeal
	if o.Undo {
		command = fleet.OrderUndo
	}
	w.Record(record.Record{Kind: record.Order, Reason: why, Order: o.Order, Command: command, By: o.By,
		Detail: o.Reason})
	w.M.Wanted = nil
}

// spared reports whether the machine is protected, and no step is gentle enough.
func (w *work) spared() bool {
	_, some := repair.FirstStep(w.M, w.Situation)
	return !some && w.Situation.Spec.Protects(w.M.Name)
}

// free has what lasted while the machine was held begin anew.
func (w *work) free() {
	m, now := w.M, w.Situation.Now
	if m.Incident != nil {
		m.Incident.Freed = now.Wall
	}
	if m.Health.Verdict == belief.VerdictUnknown {
		m.Health.SinceMono = now.Mono
	}
}
