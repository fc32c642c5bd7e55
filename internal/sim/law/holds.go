package law

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/world"
)

// Holds judges how the holds of people, and of the provider's maintenance of hosts, begin and end.
type Holds struct {
	Stand []belief.Hold // in force, as stored

	court  Court
	w      *world.World
	spec   *policy.Spec
	poll   time.Duration
	posted map[fleet.OrderID]fleet.Order // that were ever given
	// taken is when a hold was taken up that a person ordered, and obeyed when any order was; by the world's clock.
	taken, obeyed map[fleet.OrderID]time.Duration
	kept          Kept
}

// Kept is when hosts were last held for their provider's maintenance, as the store has it.
type Kept map[fleet.HostName]time.Duration

// NewHolds returns a judge of the holds that follow from the orders.
func NewHolds(court Court, w *world.World, f Fleet, posted map[fleet.OrderID]fleet.Order) *Holds {
	return &Holds{court: court, w: w, spec: f.Spec, poll: f.Poll, posted: posted,
		taken: map[fleet.OrderID]time.Duration{}, obeyed: map[fleet.OrderID]time.Duration{},
		kept: Kept{}}
}

// Of returns a judge of the same holds in a copy of the store, which another hale has.
func (h *Holds) Of(court Court, copied *Holds) {
	h.court, h.posted, h.taken, h.obeyed = court, copied.posted, copied.taken, copied.obeyed
}

// Obeyed notes that hale took up the order.
func (h *Holds) Obeyed(order fleet.OrderID) { h.obeyed[order] = h.w.Now() }

// Kept is when hosts were held, as the store has it now.
func (h *Holds) Kept() Kept { return maps.Clone(h.kept) }

// RolledBack takes in which holds the store has again, and since when hosts were held, as it has that.
func (h *Holds) RolledBack(stand []belief.Hold, kept Kept) {
	h.Stand, h.kept = slices.Clone(stand), maps.Clone(kept)
}

// Sight is how hale sees the hosts.
type Sight struct {
	Since  time.Duration          // since when it has seen them as they are
	Struck func(host string) bool // whether it may not see the host so
	Apart  time.Duration          // how far the servers' clocks are apart
}

// Change judges a change of the holds: none ends before its whole time but by order (L15), and hosts are held for their
// provider as long as that has them empty, and not for longer (L10).
func (h *Holds) Change(before, after []belief.Hold, sight Sight) {
	for i := range after {
		is := &after[i]
		host, among := is.Host, has(before, is)
		switch _, known := h.taken[is.Order]; {
		case is.ByProvider(host) && !among:
			h.keeps(host, sight)
		case is.ByProvider(host):
			h.overstays(host, sight)
		case !known:
			h.taken[is.Order] = h.w.Now()
		}
	}
	for i := range before {
		if was := &before[i]; !has(after, was) {
			h.ends(was, sight)
		}
	}
	h.Stand = slices.Clone(after)
}

func has(holds []belief.Hold, h *belief.Hold) bool {
	return slices.ContainsFunc(holds, func(o belief.Hold) bool { return o.Order == h.Order })
}

// seenWithin is how long after a change a listing shows it.
const seenWithin = 30 * time.Second

// keeps judges that a host begins to be held for its provider: the policy says so, its provider has it empty, and it
// was not held for that already.
func (h *Holds) keeps(host fleet.HostName, sight Sight) {
	at, before := h.kept[host]
	switch {
	case h.spec.Repair.OnHostDisabled != policy.HostDisabledHold:
		h.broken(host, "is held for its provider, as no policy says")
	case !h.w.Emptied(string(host), seenWithin, 0) && !sight.Struck(string(host)):
		h.broken(host, "is held for its provider, which has it in use")
	case before && h.w.EmptiedAt(string(host)) <= at:
		h.broken(host, "is held once more in the same maintenance")
	}
	h.kept[host] = h.w.Now()
}

// overstays judges that a host is held no more once it has been in use again for long enough.
func (h *Holds) overstays(host fleet.HostName, sight Sight) {
	since := max(h.w.UsedAt(string(host)), sight.Since)
	if h.w.Disabled(string(host)) || sight.Struck(string(host)) {
		return
	}
	if lasts := h.w.Now() - since; lasts > InUse+2*h.poll+seenWithin {
		h.broken(host, fmt.Sprintf("is held still, %s after its provider had it in use again", lasts))
	}
}

// ends judges that a hold is over.
func (h *Holds) ends(was *belief.Hold, sight Sight) {
	o, since := h.posted[was.Order], h.taken[was.Order]
	later := func(by *fleet.Order) bool { return by.ID > o.ID }
	if was.ByProvider(was.Host) {
		if !h.w.Emptied(string(was.Host), InUse-sight.Apart, 2*h.poll) {
			return
		}
		o, since = fleet.Order{Host: was.Host, For: h.spec.Repair.DisabledHold}, h.kept[was.Host]
		later = func(by *fleet.Order) bool { at, is := h.obeyed[by.ID]; return is && at >= since }
	}
	if lasted := h.w.Now() - since; lasted < o.For-sight.Apart && !h.endedByOrder(&o, later) {
		h.court.Broken("L15", string(was.Machine), fmt.Sprintf("a hold for %s ended after %s", o.For, lasted))
	}
}

// endedByOrder reports whether a person released the hold later, or gave another in its place.
func (h *Holds) endedByOrder(hold *fleet.Order, later func(*fleet.Order) bool) bool {
	for _, o := range h.posted {
		same := o.Machine == hold.Machine && o.Host == hold.Host || o.Name != "" && o.Name == hold.Name
		if same && (o.Kind == fleet.OrderRelease || o.Kind == fleet.OrderHold) && later(&o) {
			return true
		}
	}
	return false
}

func (h *Holds) broken(host fleet.HostName, what string) {
	h.court.Broken("L10", "", fmt.Sprintf("host %s %s", host, what))
}
