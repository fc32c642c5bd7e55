package bulkprobe

import (
	"net"
	"net/netip"
	"strconv"
)

// addressOf is an address without a pointer. The zero value is none.
type addressOf struct {
	bytes [16]byte // IPv4 as IPv4 in IPv6, which nothing else is
	zone  uint32
}

func addressFrom(a netip.Addr) addressOf {
	if !a.IsValid() {
		return addressOf{}
	}
	a = a.Unmap()
	return addressOf{bytes: a.As16(), zone: zoneOf(a.Zone())}
}

func (a *addressOf) is4() bool { return netip.AddrFrom16(a.bytes).Is4In6() }

// zoneOf returns the number of an interface. One that there is not is none: then no route leads to the address, which
// is our own fault.
func zoneOf(name string) uint32 {
	if name == "" {
		return 0
	}
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n)
	}
	link, err := net.InterfaceByName(name)
	if err != nil {
		return 0
	}
	return uint32(link.Index) //nolint:gosec // the kernel counts them from 1
}

// netip is the address as others write it, without its zone.
func (t *target) netip() netip.Addr {
	a := netip.AddrFrom16(t.address)
	if t.flags.has(isIPv4) {
		a = a.Unmap()
	}
	return a
}
