package fleet

import "time"

// Hold is a person's wish that nothing is begun on a machine, on a host's machines, or on the whole fleet, until its
// time is over. Watching and recording go on, and a step under way finishes.
type Hold struct {
	Order OrderID // that placed it
	// Machine or Host is what is held; both empty: the fleet.
	Machine MachineName `json:",omitempty"`
	Host    HostName    `json:",omitempty"`
	By      string
	Reason  string
	Given   time.Time
	Expiry
}

// HoldOf returns the hold that the order places.
func HoldOf(o *Order, now Now) Hold {
	return Hold{
		Order: o.ID, Machine: o.Machine, Host: o.Host, By: o.By, Reason: o.Reason, Given: now.Wall,
		Expiry: ExpiryIn(o.For, now),
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
