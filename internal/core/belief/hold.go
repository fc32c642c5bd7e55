package belief

import (
	"time"

	"hale/internal/core/fleet"
)

// Hold is a person's wish, or that of a provider's people, that nothing is begun on a machine, on a host's machines, or
// on the whole fleet, until its time is over. Watching and recording go on, and a step under way finishes.
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

// maintenanceOf names, in place of an order, what the provider's maintenance of the host places. No person's order has
// such a name.
func maintenanceOf(host fleet.HostName) fleet.OrderID { return fleet.OrderID("maintenance-" + host) }

// HoldByProvider returns the hold of a host that the provider's people want to be empty, for so long.
func HoldByProvider(host fleet.HostName, reason string, lasts time.Duration, now fleet.Now) Hold {
	return Hold{Order: maintenanceOf(host), Host: host, By: provider, Reason: reason, Given: now.Wall,
		Expiry: ExpiryIn(lasts, now)}
}

// ByProvider reports whether the hold follows from the provider's maintenance of the host.
func (h *Hold) ByProvider(host fleet.HostName) bool {
	return h.Host == host && h.Order == maintenanceOf(host)
}

// Maintenance is a host that the provider's people want to be empty, and that was held for that. It lasts until the
// host is in use again, also when its hold was released, or is over.
type Maintenance struct {
	Host fleet.HostName
	// InUse is since when the provider has had the host in use again, without interruption; zero: it has not.
	InUse fleet.Instant `json:",omitempty"`
}

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
	return h.Same(o.Machine, o.Host) && h.isOf(o.By) && h.Only == o.Only
}

// EndsBy reports whether the order, which is a release, ends the hold.
func (h *Hold) EndsBy(o *fleet.Order) bool {
	if o.Name != "" {
		return h.Name == o.Name
	}
	return h.Same(o.Machine, o.Host) && (o.All || h.isOf(o.By))
}

// isOf reports whether the hold is the person's. The provider's is no person's, whatever one is called.
func (h *Hold) isOf(person string) bool { return h.By == person && !h.ByProvider(h.Host) }

// Same reports whether the two hold the same subject.
func (h *Hold) Same(machine fleet.MachineName, host fleet.HostName) bool {
	return h.Machine == machine && h.Host == host
}
