package fleet

import "time"

// Hold is a person's wish that nothing is begun on a machine, on a host's machines, or on the whole fleet, until its time is over.
// Watching and recording go on, and a step under way finishes.
type Hold struct {
	Order OrderID // that placed it
	// Machine or Host is what is held; both empty: the fleet.
	Machine MachineName `json:",omitempty"`
	Host    HostName    `json:",omitempty"`
	By      string
	Reason  string
	Given   time.Time
	// The hold is over when both clocks say so: Until in wall time, which survives restarts, and Ends on the owner's clock, which no
	// step of the wall clock shortens (L15).
	Until time.Time
	Ends  Instant
}

// HoldOf returns the hold that the order places.
func HoldOf(o *Order, now Now) Hold {
	return Hold{
		Order: o.ID, Machine: o.Machine, Host: o.Host, By: o.By, Reason: o.Reason, Given: now.Wall,
		Until: now.Wall.Add(o.For), Ends: now.Mono.Add(o.For),
	}
}

// Covers reports whether the machine is held: by its own name, by the host that it lies on, or with its fleet.
func (h *Hold) Covers(m *Machine) bool {
	switch {
	case h.Machine != "":
		return h.Machine == m.Name
	case h.Host != "":
		return h.Host == m.Lies().Host
	}
	return true
}

// Same reports whether the two hold the same subject.
func (h *Hold) Same(machine MachineName, host HostName) bool {
	return h.Machine == machine && h.Host == host
}

// Over reports whether its time is over.
func (h *Hold) Over(now Now) bool { return !now.Wall.Before(h.Until) && now.Mono >= h.Ends }

// restart makes the hold good for a new owner: what is left of it by wall time is left by its clock.
func (h *Hold) restart(now Now) { h.Ends = now.Mono.Add(max(0, h.Until.Sub(now.Wall))) }

// stretch keeps what is left of the hold when the wall clock was stepped.
func (h *Hold) stretch(now Now) {
	if until := now.Wall.Add(max(0, h.Ends.Sub(now.Mono))); until.After(h.Until) {
		h.Until = until
	}
}
