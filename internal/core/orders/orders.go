// Package orders takes up what people order: of the fleet as a whole, of its hosts, and of single machines. What goes
// through the ledger, and through the brake, is judged there.
//
// It promises that of each order it is recorded whether it was taken up or why not, and that an order which waits gives
// way to what the person, or another one, says later. It does nothing to a machine: what is ordered begins, under
// the guard, when the machine's work goes on.
package orders

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/believing"
	"hale/internal/core/fleet"
	"hale/internal/core/ledger"
	"hale/internal/core/round"
)

// Orders are those of one round. The zero value is ready.
type Orders struct {
	*round.Round
	believing *believing.Believing
	recovers  *fleet.Order // the one to recover the fleet that was taken up in this round; of several, the last
}

// Begin takes up a round, and opens the machines with an order.
func (r *Orders) Begin(of *round.Round, b *believing.Believing) {
	r.Round, r.believing, r.recovers = of, b, nil
	for i := range r.S.Orders {
		if n, ok := r.Ordered(r.S.Orders[i].Machine); ok {
			r.Open(n)
		}
		if n, ok := r.about(&r.S.Orders[i]); ok {
			r.Open(n)
		}
	}
}

// Heed takes up the orders that are to the fleet as a whole, and refuses those to an unknown subject. First the holds
// end that are over.
func (r *Orders) Heed() {
	r.maintain()
	if len(r.S.Orders) == 0 && len(r.Sit.Whole.Holds) == 0 {
		return
	}
	r.expireHolds()
	for i := range r.S.Orders {
		o := &r.S.Orders[i]
		switch {
		case o.Due(r.S.Now):
			r.Rule(o, fleet.ReasonExpired)
		case r.aboutNone(o):
			r.Rule(o, fleet.ReasonUnknownSubject)
		case r.isCancelled(o) && !o.Kind.ToMachine():
			r.Rule(o, fleet.ReasonWithdrawn)
		case o.Kind == fleet.OrderHold:
			r.hold(o)
		case o.Kind == fleet.OrderRelease:
			r.release(o)
		case o.Kind == fleet.OrderCancel:
			r.cancel(o)
		case o.Kind == fleet.OrderConfirm:
			ledger.Confirm(r.Round, o)
		case o.Kind == fleet.OrderScale:
			ledger.Scale(r.Round, o)
		case o.Kind == fleet.OrderDelete:
			ledger.Remove(r.Round, o)
		case o.Kind.Rollout():
			ledger.Roll(r.Round, o)
		case o.Kind == fleet.OrderRecover && o.Believe:
			r.believing.TakeUp(o)
		case o.Kind == fleet.OrderRecover:
			r.recovery(o)
		case o.Kind == fleet.OrderFenced:
			r.fenced(o)
		case o.Kind.Notes():
			r.note(o)
		}
	}
}

// aboutNone reports whether the order is about a machine or a host that the fleet does not know.
func (r *Orders) aboutNone(o *fleet.Order) bool {
	_, known := r.Ordered(o.Machine)
	return o.Machine != "" && !known || o.Host != "" && !r.knowsHost(o.Host)
}

// knowsHost reports whether the fleet may have to do with the host: its provider names it, or the hosts are not known
// yet.
func (r *Orders) knowsHost(name fleet.HostName) bool {
	return len(r.S.Hosts) == 0 || slices.ContainsFunc(r.S.Hosts, func(h fleet.Host) bool { return h.Name == name })
}

// Stirs reports whether the machine is to be judged though nothing was heard of it: a person gave it an order, or let
// it go.
func (r *Orders) Stirs(m *belief.Machine) bool {
	if len(r.S.Orders) == 0 && len(r.Freed) == 0 {
		return false
	}
	return r.recovers != nil || r.believing.Believes() || r.IsFreed(m) || slices.ContainsFunc(r.S.Orders,
		func(o fleet.Order) bool { return o.Machine == m.Name || r.takesBack(&o, m.Name) })
}

// To returns those to the machine that stand, and those by which one to it is taken back.
func (r *Orders) To(m *belief.Machine) []*fleet.Order {
	var out []*fleet.Order
	for i := range r.S.Orders {
		o := &r.S.Orders[i]
		if o.Machine == m.Name && o.Kind.ToMachine() && !o.Due(r.S.Now) || r.takesBack(o, m.Name) {
			out = append(out, o)
		}
	}
	return out
}
