package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"hale/internal/core/decide"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// store is what survives controllers: beliefs, brake and the owner's lease. It rejects a stale owner's write by itself.
type store struct {
	beliefs []fleet.Machine // by ordinal-1; the zero value: never written
	overall overall
	owner   *server
	term    uint64 // of the owner; each claim gets the next
	commits uint64
	inbox   []fleet.Order // in the order in which they were posted
	posted  int
	pasts   map[time.Duration]*past   // what it held at times that are brought back
	named   map[fleet.InstanceID]bool // the instances that it ever named
	starts  starts
	full    int             // how many faults keep it from taking writes
	cut     map[*server]int // how many faults keep a server from it
}

// overall is the belief about the fleet as a whole, and the book of slots.
type overall struct {
	Brake fleet.Brake
	Whole fleet.Whole
	Slots fleet.Slots
}

func newStore(machines int) *store {
	return &store{
		beliefs: make([]fleet.Machine, machines), pasts: map[time.Duration]*past{}, named: map[fleet.InstanceID]bool{},
		cut: map[*server]int{}, starts: starts{noted: map[fleet.StartName]bool{}},
	}
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
	s.commits++
	write()
	return nil
}

// differs reports whether a belief is not what is stored.
func (s *store) differs(all []decide.Machine) bool {
	return slices.ContainsFunc(all, func(m decide.Machine) bool {
		n, _ := m.Belief.Name.Ordinal()
		return !s.beliefs[n-1].Equal(&m.Belief)
	})
}

// load returns the beliefs as another process would read them.
func (s *store) load() ([]fleet.Machine, overall, error) {
	var out []fleet.Machine
	for _, m := range s.beliefs {
		if m.Name == "" {
			continue
		}
		var read fleet.Machine
		if err := again(m, &read); err != nil {
			return nil, overall{}, fmt.Errorf("%s: %w", m.Name, err)
		}
		out = append(out, read)
	}
	var all overall
	err := again(s.overall, &all)
	return out, all, err
}

// again takes a value through the form in which a store keeps it.
func again(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
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
