package pool

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"hale/internal/sim/guest"
	"hale/internal/sim/world"
)

// State is how a balancer has a member.
type State string

// The states, in the words of package fleet.
const (
	Serving  State = "serving"
	Draining State = "draining"
	Out      State = "out"
)

// Balancer is one with a pool that is kept: it has members, and connections that take their time to end.
type Balancer struct {
	Name string
	// Check is the one by which hale learns what the balancer finds; empty: there is none.
	Check string

	w       *world.World
	random  *rand.Rand
	members map[string]*member
	silent  int // so many causes keep it from answering
	clings  int // so many keep connections from ending
	stuck   int // so many keep it from doing what it is told
	changed func()
}

type member struct {
	state State
	told  State // in vain; empty: what it was told last it did
	at    netip.Addr
	ends  []time.Duration // of the connections, while it drains
}

// Member is one, as the balancer says. Of one that it does not send to it finds nothing.
type Member struct {
	Name        string
	State       State
	At          netip.Addr
	Finds       guest.Answer // Well, Critical, or Unheard
	Connections int
	Failed      bool // State is what it was told, and could not do
}

// New makes an empty one. How long connections last is drawn by the seed. changed is told that it would say something
// else than before.
func New(w *world.World, name, check string, seed uint64, changed func()) *Balancer {
	return &Balancer{Name: name, Check: check, w: w, random: rand.New(rand.NewPCG(seed, 0x706f6f6c)),
		members: map[string]*member{}, changed: changed}
}

// Says returns its members by name; false: it does not answer.
func (b *Balancer) Says() (all []Member, answers bool) {
	if b.silent > 0 {
		return nil, false
	}
	return b.Members(), true
}

// Members returns them as they truly are.
func (b *Balancer) Members() (all []Member) {
	for _, name := range slices.Sorted(maps.Keys(b.members)) {
		m := b.members[name]
		all = append(all, Member{Name: name, State: cmp.Or(m.told, m.state), At: m.at, Finds: b.finds(m),
			Connections: b.connections(m), Failed: m.told != ""})
	}
	return all
}

// Set has the member be so; false: it does not answer, or cannot do it, and nothing was done.
func (b *Balancer) Set(name string, s State, at netip.Addr) bool {
	if b.silent > 0 {
		return false
	}
	m := b.members[name]
	if m == nil {
		if s != Serving {
			return true
		}
		m = &member{state: Out}
		b.members[name] = m
	}
	if b.stuck > 0 {
		m.told = s
		return false
	}
	was := m.state
	if m.state, m.told = s, ""; s == Serving {
		m.at, m.ends = at, nil
	}
	if s == Draining && was == Serving {
		b.drain(m)
	}
	return true
}

// most is how many connections a member has when it begins to drain.
const most = 4

// drain gives the member's connections their ends: most come soon, and a few have a long way to go.
func (b *Balancer) drain(m *member) {
	m.ends = nil
	for range b.random.IntN(most + 1) {
		last := 5 * time.Second
		switch n := b.random.IntN(20); {
		case n == 0:
			last = time.Hour
		case n < 6:
			last = 2 * time.Minute
		}
		at := b.w.Now() + time.Duration(b.random.Int64N(int64(last)))
		m.ends = append(m.ends, at)
		b.w.At(at, b.changed)
	}
}

// connections are those of a member that have not ended. Those of one that serves come and go.
func (b *Balancer) connections(m *member) int {
	if m.state == Serving {
		return most / 2
	}
	n := 0
	for _, at := range m.ends {
		if at > b.w.Now() || b.clings > 0 {
			n++
		}
	}
	return n
}

// finds is what the balancer finds of a member to which it sends.
func (b *Balancer) finds(m *member) guest.Answer {
	if m.state != Serving {
		return guest.Unheard
	}
	return Finds(b.w, m.at, b.Check)
}

// Finds tells what it finds of the machine at the address, as far as it sends to it: it says nothing of others.
func (b *Balancer) Finds(a netip.Addr) guest.Answer {
	for _, m := range b.members {
		if m.at == a && m.state == Serving && b.silent == 0 {
			return Finds(b.w, a, b.Check)
		}
	}
	return guest.Unheard
}

// Forget makes it what it is after a restart that lost all.
func (b *Balancer) Forget() {
	clear(b.members)
	b.changed()
}

// Silence keeps it from answering, until the returned function is called.
func (b *Balancer) Silence() func() { return b.during(&b.silent) }

// Cling keeps connections from ending, until the returned function is called.
func (b *Balancer) Cling() func() { return b.during(&b.clings) }

// Stick keeps it from doing what it is told, until the returned function is called.
func (b *Balancer) Stick() func() { return b.during(&b.stuck) }

func (b *Balancer) during(n *int) func() {
	*n++
	b.changed()
	return func() {
		*n--
		b.changed()
	}
}

// Admits reports whether it is to send new connections to the machine, well or not.
func (b *Balancer) Admits(machine string) bool {
	m := b.members[machine]
	return m != nil && m.state == Serving
}

// Uses reports whether users lose something with the machine at the address: it gets connections, or has some, and
// answers them. That the balancer may be parted from it, or may not see it, changes nothing.
func (b *Balancer) Uses(machine string, a netip.Addr) bool {
	m := b.members[machine]
	if m == nil || m.at != a || m.state == Out || b.connections(m) == 0 {
		return false
	}
	h := b.w.Hear(Vantage, a)
	return h.HTTP == guest.Well
}
