// Package pool is the load balancers of the simulated world. Where a run says no more of them, one is before all
// machines, and has them serve all the time; or hale keeps their pools (Balancer).
//
// It promises to see the machines from a vantage of its own, which can be parted from them (Vantage), and to draw from
// a stream of its own how long connections last.
package pool

import (
	"net/netip"

	"hale/internal/sim/guest"
	"hale/internal/sim/world"
)

// Vantage is from where the balancer checks machines.
const Vantage = "balancer"

// Finds tells what the balancer finds of the machine at the address: guest.Well, guest.Critical, or guest.Unheard where
// it finds no machine up at all. check is the one by which hale learns of it. It changes only when what is heard at any
// address does.
func Finds(w *world.World, a netip.Addr, check string) guest.Answer {
	if up(w, a, check) {
		return guest.Well
	}
	for other := range w.Addresses() {
		if up(w, other, check) {
			return guest.Critical
		}
	}
	return guest.Unheard
}

func up(w *world.World, a netip.Addr, check string) bool {
	h := w.Hear(Vantage, a)
	return h.HTTP == guest.Well && !h.Fails(check)
}
