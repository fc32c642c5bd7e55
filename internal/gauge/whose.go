package gauge

import (
	"net"
	"net/netip"

	"hale/internal/core/fleet"
)

// Names finds the machine that a source means by a name of its own.
type Names struct {
	names     map[fleet.MachineName]bool
	addresses map[netip.Addr]fleet.MachineName
}

// NamesOf makes what finds these machines.
func NamesOf(machines []Machine) Names {
	n := Names{map[fleet.MachineName]bool{}, map[netip.Addr]fleet.MachineName{}}
	for _, m := range machines {
		n.names[m.Name] = true
		if m.Address.IsValid() {
			n.addresses[m.Address.Unmap().WithZone("")] = m.Name
		}
	}
	return n
}

// Find returns the machine that is called so: by its name, or by its address, either with a port or without. False: it
// is none of these machines.
func (n Names) Find(called string) (fleet.MachineName, bool) {
	if host, _, err := net.SplitHostPort(called); err == nil {
		called = host
	}
	if n.names[fleet.MachineName(called)] {
		return fleet.MachineName(called), true
	}
	a, err := netip.ParseAddr(called)
	if err != nil {
		return "", false
	}
	name, known := n.addresses[a.Unmap().WithZone("")]
	return name, known
}
