// Package roster says how the members of a load balancer's pool are to be, as the fleets are, and what is to be done to
// a pool for that.
//
// It promises to have neither clock nor connection: what it goes by it is told. Unknown is not dead: where hale is not
// sure of what it sees, members stay as they are, and the last one that serves does not go on hale's word alone.
package roster

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"hale/internal/balancer"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/published"
)

// Wish is what a fleet wants of the member of one of its machines. Without a State, that it stays as it is; and if it
// served and the pool forgot that, that it serves again.
type Wish struct {
	balancer.Want
	// Sure says that it may leave a pool without any member that serves: its instance is off, or a person wants it
	// gone.
	Sure bool
	// Aside says that other hands are on the machine: nothing at all is done to its member.
	Aside bool
	Why   string // a few words for the log
	// Heeded says that a check goes by what the pool finds of it.
	Heeded bool
	// Wait is how long its connections may take to end, where it drains.
	Wait time.Duration
}

// Fleet is what a fleet wants of a pool.
type Fleet struct {
	Wishes map[fleet.MachineName]Wish
	// Clear says that hale is sure of what it sees: a member with the name of a machine that does not exist is out.
	Clear bool
}

// Equal reports whether both want the same.
func (f Fleet) Equal(g Fleet) bool { return f.Clear == g.Clear && maps.Equal(f.Wishes, g.Wishes) }

// WantedBy returns how the fleet's members of the pool are to be, which serve at the port. False: this server says
// nothing, since it does not own the fleet, or only observes it. While hale is not sure of what it sees, all members
// stay as they are: unknown is not dead.
func WantedBy(f *published.Fleet, p policy.Pool, port uint16) (Fleet, bool) {
	if f.Lease <= 0 || f.Spec.Mode != policy.ModeAct {
		return Fleet{}, false
	}
	out := Fleet{Wishes: map[fleet.MachineName]Wish{}, Clear: !f.Blind()}
	heeded := slices.ContainsFunc(f.Spec.Checks, func(c policy.Check) bool {
		return c.Kind == policy.CheckPool && c.Pool.Balancer == string(p.Balancer)
	})
	for i := range f.Machines {
		m := &f.Machines[i].Machine
		is := f.Service(m)
		w := Wish{Want: balancer.Want{State: states[is.Word]}, Sure: is.Sure, Aside: is.Aside, Why: is.Why,
			Heeded: heeded}
		switch is.Word {
		case published.ServesYes:
			w.At = netip.AddrPortFrom(m.Address, port)
		case published.ServesEnds:
			w.Wait = p.Wait
		case published.ServesNo, published.ServesAsItDid:
		}
		out.Wishes[m.Name] = w
	}
	return out, true
}

// states are what becomes of a member.
var states = map[published.Serves]balancer.State{
	published.ServesYes: balancer.Serving, published.ServesEnds: balancer.Draining, published.ServesNo: balancer.Out,
}

// Step is one change of a pool.
type Step struct {
	Member fleet.MachineName
	balancer.Want
	Why string
}

// Memory is what is known of a pool beside its members.
type Memory struct {
	// served is where each member served last, as hale wanted it.
	served map[fleet.MachineName]netip.AddrPort
	// drains is when each member was first seen to drain.
	drains map[fleet.MachineName]time.Time
}

// NewMemory knows nothing yet.
func NewMemory() Memory {
	return Memory{served: map[fleet.MachineName]netip.AddrPort{}, drains: map[fleet.MachineName]time.Time{}}
}

// Note takes in what the pool says.
func (k Memory) Note(members []balancer.Member, fleets map[fleet.Name]Fleet, now time.Time) {
	for _, m := range members {
		if m.State != balancer.Draining {
			delete(k.drains, m.Name)
		} else if _, known := k.drains[m.Name]; !known {
			k.drains[m.Name] = now
		}
		switch w := fleets[m.Name.Fleet()].Wishes[m.Name]; {
		case w.State == balancer.Serving && w.Met(m):
			k.served[m.Name] = m.At
		case w.State != balancer.Serving && w.State != "":
			delete(k.served, m.Name)
		}
	}
}

// Steps returns what is to be done to a pool that has the members, for all the fleets in it. What fails leaves first,
// where others serve: a balancer may take its time with each step, and it gets requests until then. What is well leaves
// last, once the others were told to serve. last is who serves on although it should not, since nothing else does.
func (k Memory) Steps(members []balancer.Member, fleets map[fleet.Name]Fleet,
	now time.Time) (plan []Step, last fleet.MachineName) {
	p := planning{members: map[fleet.MachineName]balancer.Member{}, wishes: map[fleet.MachineName]Wish{}, memory: k,
		now: now}
	for _, f := range fleets {
		maps.Copy(p.wishes, f.Wishes)
	}
	for _, m := range members {
		p.members[m.Name] = m
		if _, wanted := p.wishes[m.Name]; !wanted && fleets[m.Name.Fleet()].Clear {
			p.wishes[m.Name] = Wish{Want: balancer.Want{State: balancer.Out}, Why: "there is no such machine"}
		}
	}
	names := slices.SortedFunc(maps.Keys(p.wishes), inOrder)
	var later []fleet.MachineName
	for _, name := range names {
		if p.urgent(name) {
			p.leave(name, p.wishes[name])
		} else {
			later = append(later, name)
		}
	}
	for _, name := range names {
		p.join(name, p.wishes[name])
	}
	for _, name := range later {
		p.leave(name, p.wishes[name])
	}
	return p.plan, p.last
}

// Word is what the fleets' owners are told of the members: what the pool said of them, and what it confirmed since.
func Word(members []balancer.Member, done map[fleet.MachineName]balancer.State,
	last fleet.MachineName) map[fleet.MachineName]fleet.Membership {
	all := make(map[fleet.MachineName]fleet.Membership, len(members))
	for _, m := range members {
		all[m.Name] = fleet.Membership{State: cmp.Or(done[m.Name], m.State), Verdict: m.Verdict,
			Connections: m.Connections, Last: m.Name == last, Failed: m.Failed && done[m.Name] == ""}
	}
	return all
}

// planning is a plan being made.
type planning struct {
	members map[fleet.MachineName]balancer.Member
	wishes  map[fleet.MachineName]Wish
	memory  Memory
	now     time.Time
	plan    []Step
	last    fleet.MachineName
}

func (p *planning) step(name fleet.MachineName, w balancer.Want, why string) {
	p.plan = append(p.plan, Step{name, w, why})
	m := p.members[name]
	m.State = w.State
	p.members[name] = m
}

// join has the member serve, if that is wanted and it does not; or if it did, and the pool forgot it.
func (p *planning) join(name fleet.MachineName, w Wish) {
	m, there := p.members[name]
	if at, served := p.memory.served[name]; w.State == "" && !w.Aside && served && (!there || m.State == balancer.Out) {
		w = Wish{Want: balancer.Want{State: balancer.Serving, At: at}, Why: "it served, and the pool forgot that"}
	}
	if w.State == balancer.Serving && (!there || !w.Met(m)) {
		p.plan = append(p.plan, Step{name, w.Want, w.Why}) // it counts as serving once the pool says so
	}
}

// leave has the member drain, or be out.
func (p *planning) leave(name fleet.MachineName, w Wish) {
	m, there := p.members[name]
	if !there || w.State == "" || w.State == balancer.Serving || m.State == balancer.Out && !m.Failed {
		return
	}
	if m.State == balancer.Serving && !w.Sure && m.Verdict != balancer.Down && !p.othersServe(name) {
		p.last = name
		return // the last one is not taken out on hale's word alone
	}
	if w.Heeded && w.State == balancer.Out && !w.Sure && m.State == balancer.Serving && m.Verdict == balancer.Down {
		return // it gets nothing, and of one that is out the pool would not say any more how it is
	}
	if w.State == balancer.Draining {
		p.drain(m, w)
		return
	}
	p.step(name, balancer.Want{State: balancer.Out}, w.Why)
}

// drain has the member drain, and be out when it has, or when its time is over.
func (p *planning) drain(m balancer.Member, w Wish) {
	switch waits := p.waits(m, w); {
	case m.State == balancer.Serving && w.Wait > 0, waits && m.Failed: // one that failed may get connections as before
		p.step(m.Name, w.Want, w.Why)
	case waits:
	default:
		p.step(m.Name, balancer.Want{State: balancer.Out}, w.Why)
	}
}

// urgent reports whether the member should be out already, and is not missed.
func (p *planning) urgent(name fleet.MachineName) bool {
	return p.wishes[name].State == balancer.Out && p.othersServe(name)
}

// waits reports whether a member that drains has connections, or may get some since it could not be drained, and there
// is time yet.
func (p *planning) waits(m balancer.Member, w Wish) bool {
	began, known := p.memory.drains[m.Name]
	return m.State == balancer.Draining && (m.Failed || m.Connections != 0) && (!known || p.now.Sub(began) < w.Wait)
}

// othersServe reports whether any other member serves, as the pool says, and goes on to.
func (p *planning) othersServe(name fleet.MachineName) bool {
	for other, m := range p.members {
		if other == name || m.State != balancer.Serving || m.Failed || m.Verdict == balancer.Down {
			continue
		}
		if w := p.wishes[other]; !w.Sure {
			return true
		}
	}
	return false
}

// inOrder compares names of machines: web-2 comes before web-10.
func inOrder(a, b fleet.MachineName) int {
	x, _ := a.Ordinal()
	y, _ := b.Ordinal()
	return cmp.Or(cmp.Compare(a.Fleet(), b.Fleet()), cmp.Compare(x, y), cmp.Compare(a, b))
}
