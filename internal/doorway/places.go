// Package doorway is the entrance of hale's servers: where they listen, who gets a place there, and by which
// certificate a server is known.
//
// It promises that however many strangers come, and from however many addresses, some places are left for those who
// showed something good from their address before; and that files which were renewed are taken up without a restart,
// while one that can no longer be read counts as it was.
//
// It does not know what is good: its caller says so (Vouch).
package doorway

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits are the places. A stranger comes from an address that showed nothing good in the last KnownFor.
type Limits struct {
	All         int
	Strangers   int
	PerStranger int // at one address, behind which many may be that begin to come
	PerKnown    int // at one address that showed something good
	KnownFor    time.Duration
}

const mostKnown = 1 << 16 // addresses

// Places are who is connected.
type Places struct {
	limits    Limits
	mu        sync.Mutex
	open      map[netip.Prefix]int
	total     int
	strangers int
	known     map[netip.Prefix]time.Time // when they showed something good last
}

// New has no one in its places yet.
func New(l Limits) *Places {
	return &Places{limits: l, open: map[netip.Prefix]int{}, known: map[netip.Prefix]time.Time{}}
}

// From is the address, or, where one party has very many, the network.
func From(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr := at.Addr().Unmap()
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.WithZone("").Prefix(bits)
	return p
}

// enter lets one in; false: there is no place for it. leave gives the place back.
func (c *Places) enter(from netip.Prefix, now time.Time) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown, known := c.known[from]
	stranger := !known || now.Sub(shown) > c.limits.KnownFor
	most := c.limits.PerKnown
	if stranger {
		most = c.limits.PerStranger
	}
	if c.total >= c.limits.All || c.open[from] >= most || stranger && c.strangers >= c.limits.Strangers {
		return nil, false
	}
	c.count(from, stranger, 1)
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count(from, stranger, -1)
	}), true
}

func (c *Places) count(from netip.Prefix, stranger bool, by int) {
	c.total += by
	if stranger {
		c.strangers += by
	}
	if c.open[from] += by; c.open[from] == 0 {
		delete(c.open, from)
	}
}

// Vouch says that the address showed something good.
func (c *Places) Vouch(from netip.Prefix, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, is := c.known[from]; !is && len(c.known) >= mostKnown {
		for p, at := range c.known {
			if now.Sub(at) > c.limits.KnownFor {
				delete(c.known, p)
			}
		}
		if len(c.known) >= mostKnown {
			return
		}
	}
	c.known[from] = now
}

// Listener admits those that there is a place for, and closes before all others.
func (c *Places) Listener(l net.Listener) net.Listener { return door{l, c} }

type door struct {
	net.Listener
	places *Places
}

// Accept implements net.Listener.
func (d door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		leave, ok := d.places.enter(From(conn.RemoteAddr().String()), time.Now())
		if ok {
			return &guest{conn, leave}, nil
		}
		_ = conn.Close()
	}
}

// guest is a connection that gives its place back.
type guest struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.leave()
	return g.Conn.Close()
}
