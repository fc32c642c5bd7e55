package sim

import (
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/sim/stored"
)

// store is what survives controllers: what it holds, and the owner's lease. It rejects a stale owner's write by itself.
type store struct {
	stored.Content
	owner  *server
	term   uint64 // of the owner; each claim gets the next
	posted int
	last   map[string]fleet.OrderID // the last order to a machine, or to the fleet
	pasts  map[time.Duration]*past  // what it held at times that are brought back
	full   int                      // how many faults keep it from taking writes
	cut    map[*server]int          // how many faults keep a server from it
}

func newStore(machines int) *store {
	return &store{Content: stored.New(machines), pasts: map[time.Duration]*past{}, cut: map[*server]int{},
		last: map[string]fleet.OrderID{}}
}

// commit stores what write changes, if the server still owns the fleet.
func (s *store) commit(by *server, term uint64, write func()) error {
	refused := func(kind fault.Kind) error { return fault.New(kind, "sim.commit", by.name, nil) }
	switch {
	case s.cut[by] > 0:
		return refused(fault.Transient)
	case s.owner != by || s.term != term:
		return refused(fault.Conflict)
	case s.full > 0:
		return refused(fault.NoSpace)
	}
	write()
	return nil
}

// lease is one server's claim on the fleet.
type lease struct {
	length  time.Duration
	granted time.Duration
	stopped time.Duration // since when it is not renewed; 0: it is
}

// renewals is how often within its length a lease is renewed.
const renewals = 3

// ends returns when the lease runs out, as far as its holder knows.
func (l lease) ends(now time.Duration) time.Duration {
	last := now
	if l.stopped != 0 {
		last = l.stopped
	}
	every := l.length / renewals
	return l.granted + (last - l.granted).Truncate(every) + l.length
}
