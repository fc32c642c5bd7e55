package fleet

import (
	"fmt"
	"strings"
	"time"
)

// HoldName is what a hold's owner calls it, as a tool does that declares what it wants. It is one hold's in the whole
// installation: another hold that is given the name takes its place.
type HoldName string

const longestHoldName = 100 // bytes

// Check says what is wrong with the name.
func (n HoldName) Check() error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	if n == "" || len(n) > longestHoldName || strings.ContainsFunc(string(n), odd) ||
		strings.Trim(string(n), "._-") != string(n) {
		return fmt.Errorf("%q is no name of a hold: write up to %d small letters, digits, and between them dots, lines "+
			"and underscores", n, longestHoldName)
	}
	return nil
}

// Hold is a person's wish that nothing is begun on a machine, on a host's machines, or on the whole fleet, until its
// time is over. Watching and recording go on, and a step under way finishes.
type Hold struct {
	Order OrderID  // that placed it
	Name  HoldName `json:",omitempty"` // empty: its owner gave it none
	// Machine or Host is what is held; both empty: the fleet.
	Machine MachineName `json:",omitempty"`
	Host    HostName    `json:",omitempty"`
	// Only is what alone it forbids; empty: everything disruptive.
	Only   HoldScope `json:",omitempty"`
	By     string
	Reason string
	Given  time.Time
	Expiry
}

// HoldScope is what alone a hold forbids.
type HoldScope string

// HoldScaleIn forbids only that a machine is chosen to go because there are to be fewer; it is repaired as any other.
const HoldScaleIn HoldScope = "scale-in"

// HoldOf returns the hold that the order places.
func HoldOf(o *Order, now Now) Hold {
	return Hold{
		Order: o.ID, Name: o.Name, Machine: o.Machine, Host: o.Host, Only: o.Only, By: o.By, Reason: o.Reason, Given: now.Wall,
		Expiry: ExpiryIn(o.For, now),
	}
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
func (h *Hold) GivesWay(o *Order) bool {
	if o.Name != "" || h.Name != "" {
		return h.Name == o.Name
	}
	return h.Same(o.Machine, o.Host) && h.By == o.By && h.Only == o.Only
}

// EndsBy reports whether the order, which is a release, ends the hold.
func (h *Hold) EndsBy(o *Order) bool {
	if o.Name != "" {
		return h.Name == o.Name
	}
	return h.Same(o.Machine, o.Host) && (o.All || h.By == o.By)
}

// Same reports whether the two hold the same subject.
func (h *Hold) Same(machine MachineName, host HostName) bool {
	return h.Machine == machine && h.Host == host
}
