package heartbeat

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// The places, and who may take them. A stranger comes from an address that showed no good token in the last knownFor.
// However many strangers come, and from however many addresses, the other places are for the machines.
const (
	maxConnections = 8192
	maxStrangers   = 4096
	perStranger    = 32   // at one address, behind which many machines may be that begin to report
	perKnown       = 4096 // at one address that showed a good token
	knownFor       = time.Hour
	mostKnown      = 1 << 16 // addresses
)

// crowd is who is connected. The zero value is an empty one.
type crowd struct {
	mu        sync.Mutex
	open      map[netip.Prefix]int
	total     int
	strangers int
	known     map[netip.Prefix]time.Time // when they showed a good token last
}

// whereFrom is the address, or, where one party has very many, the network.
func whereFrom(remote string) netip.Prefix {
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
func (c *crowd) enter(from netip.Prefix, now time.Time) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown, known := c.known[from]
	stranger := !known || now.Sub(shown) > knownFor
	most := perKnown
	if stranger {
		most = perStranger
	}
	if c.total >= maxConnections || c.open[from] >= most || stranger && c.strangers >= maxStrangers {
		return nil, false
	}
	if c.open == nil {
		c.open = map[netip.Prefix]int{}
	}
	c.count(from, stranger, 1)
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count(from, stranger, -1)
	}), true
}

func (c *crowd) count(from netip.Prefix, stranger bool, by int) {
	c.total += by
	if stranger {
		c.strangers += by
	}
	if c.open[from] += by; c.open[from] == 0 {
		delete(c.open, from)
	}
}

// vouch says that the address showed a good token.
func (c *crowd) vouch(from netip.Prefix, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[netip.Prefix]time.Time{}
	}
	if _, is := c.known[from]; !is && len(c.known) >= mostKnown {
		for p, at := range c.known {
			if now.Sub(at) > knownFor {
				delete(c.known, p)
			}
		}
		if len(c.known) >= mostKnown {
			return
		}
	}
	c.known[from] = now
}

// door admits those that the crowd has a place for, and closes before all others.
type door struct {
	net.Listener
	crowd *crowd
}

// Accept implements net.Listener.
func (d door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		leave, ok := d.crowd.enter(whereFrom(conn.RemoteAddr().String()), time.Now())
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
