package strict

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// Reach is how far what a configuration names may lead: the ranges of hale's own server, of its links and of a cloud's
// metadata that it may, too. Everywhere else it may anyway. What answers there was not made for strangers, and an
// address, or the answer of a name server, could otherwise have hale knock there for them.
type Reach []netip.Prefix

// sensitive are the ranges that need to be listed, with what lies there.
var sensitive = []struct {
	netip.Prefix
	what string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), "hale's own server"},
	{netip.MustParsePrefix("::1/128"), "hale's own server"},
	{netip.MustParsePrefix("0.0.0.0/8"), "hale's own server"}, // as Linux takes it
	{netip.MustParsePrefix("::/128"), "hale's own server"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, where clouds keep their metadata"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fd00:ec2::/32"), "a cloud's metadata"},       // Amazon
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud's metadata"},    // Google
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud's metadata"},  // Alibaba
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's own service"}, // Azure
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud's metadata"},      // Oracle
}

// translated are the ranges of IPv6 behind which an IPv4 address lies, with the byte at which that begins.
var translated = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, // NAT64
	netip.MustParsePrefix("2002::/16"):    2,  // 6to4
	netip.MustParsePrefix("::/96"):        12, // as IPv4 was once written in IPv6
}

// Address is a RefusedError where the address needs to be listed, and is not.
func (r Reach) Address(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	if slices.ContainsFunc(r, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return nil
	}
	for _, s := range sensitive {
		if s.Contains(a) {
			return refuse(false, "refusing address %s, which is %s: if it is meant, write allow_addresses: [%s]",
				a, s.what, written(a))
		}
	}
	for p, at := range translated {
		if b := a.As16(); a.Is6() && p.Contains(a) {
			if err := r.Address(netip.AddrFrom4([4]byte(b[at:]))); err != nil {
				return err
			}
		}
	}
	return nil
}

// written is the address as YAML takes it for a text.
func written(a netip.Addr) string {
	if a.Is4() {
		return a.String()
	}
	return `"` + a.String() + `"`
}

// Host is Address for what stands in a web address, as far as that is an address itself or names hale's own server.
func (r Reach) Host(host string) error {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		name = "127.0.0.1"
	}
	if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return r.Address(a)
	}
	return nil // what it comes to is seen when it is dialled
}

// Dialer returns a dialer that connects to no address which needs to be listed and is not: it looks at each one that a
// name came to, when it connects there.
func (r Reach) Dialer() *net.Dialer {
	return &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return refuse(false, "refusing an address that cannot be read")
		}
		return r.Address(at.Addr())
	}}
}

// Behind is for a request that a proxy takes along, so that hale does not connect to its host itself: it refuses what
// is an address that needs to be listed, and a name that comes to one, as far as hale knows that.
func (r Reach) Behind(ctx context.Context, to *url.URL) error {
	if err := r.Host(to.Hostname()); err != nil {
		return err
	}
	// Behind a proxy, hale may know no names at all: then the proxy decides.
	all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", to.Hostname())
	for _, a := range all {
		if err := r.Address(a); err != nil {
			return err
		}
	}
	return nil
}
