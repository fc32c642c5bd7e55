package belief

import (
	"time"

	"hale/internal/core/fleet"
)

// Hold is a person's wish that nothing is begun on a machine, on a host's machines, or on the whole fleet, until its
// time is over. Watching and recording go on, and a step under way finishes.
type Hold struct {
	Order fleet.OrderID  // that placed it
	Name  fleet.HoldName `json:",omitempty"` // empty: its owner gave it none
	// Machine or Host is what is held; both empty: the fleet.
	Machine fleet.MachineName `json:",omitempty"`
	Host    fleet.HostName    `json:",omitempty"`
	// Only is what alone it forbids; empty: everything disruptive.
	Only   fleet.HoldScope `json:",omitempty"`
	By     string
	Reason string
	Given  time.Time
	Expiry
}

// HoldOf returns the hold that the order places.
func HoldOf(o *fleet.Order, now fleet.Now) Hold {
	return Hold{
		Order: o.ID, Name: o.Name, Machine: o.Machine, Host: o.Host, Only: o.Only, By: o.By, Reason: o.Reason,
		Given:  now.Wall,
		Expiry: ExpiryIn(o.For, now),
	}
}

// provider is the owner of the holds that follow from the provider's maintenance of a host.
const provider = "the provider"

// HoldByProvider returns the hold of a host that the provider's people want to be empty, for so long.
func HoldByProvider(host fleet.HostName, reason string, lasts time.Duration, now fleet.Now) Hold {
	return Hold{Order: fleet.OrderID("maintenance-" + host), Host: host, By: provider, Reason: reason, Given: now.Wall,
		Expiry: ExpiryIn(lasts, now)}
}

// ByProvider reports whether the hold follows from the provider's maintenance.
func (h *Hold) ByProvider() bool { return h.By == provider }

// Covers reports whether nothing disruptive is to begin on the machine.
func (h *Hold) Covers(m *Machine) bool { return h.Only == "" && h.Keeps(m) }

// Keeps reports whether the machine is not to be chosen when there are to be fewer: it is held by its own name, by the
// host that it lies on, or with its fleet, for that alone or altogether.
func (h *Hold) Keeps(m *Machine) bool {
	switch {
	case h.Machine != "":
		return h.Machine == m.Name
	case h.Host != "":
		return h.Host == m.Lies().Host
	}
	return true
}

// GivesWay reports whether the hold ends when the order, which is a hold, is taken up: it has the name that this one is
// given, or neither has one, and it is the same person's on the same subject.
func (h *Hold) GivesWay(o *fleet.Order) bool {
	if o.Name != "" || h.Name != "" {
		return h.Name == o.Name
	}
	return h.Same(o.Machine, o.Host) && h.By == o.By && h.Only == o.Only
}

// EndsBy reports whether the order, which is a release, ends the hold.
func (h *Hold) EndsBy(o *fleet.Order) bool {
	if o.Name != "" {
		return h.Name == o.Name
	}
	return h.Same(o.Machine, o.Host) && (o.All || h.By == o.By)
}

// Same reports whether the two hold the same subject.
func (h *Hold) Same(machine fleet.MachineName, host fleet.HostName) bool {
	return h.Machine == machine && h.Host == host
}
