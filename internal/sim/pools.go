package sim

import (
	"net/netip"
	"time"

	"hale/internal/balancer"
	"hale/internal/balancer/roster"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/sim/drains"
	"hale/internal/sim/guest"
	"hale/internal/sim/pool"
	"hale/internal/sim/script"
)

const (
	poolPort  = 80
	poolEvery = 5 * time.Second // how often a pool is read where something is to be done, or waited for
	poolHeed  = time.Second     // how soon it is when another thing is wanted
)

// open has the load balancers stand that the fleet is behind.
func (s *stage) open() {
	for _, p := range s.spec.Pools {
		check := ""
		for _, c := range s.spec.Checks {
			if c.Kind == policy.CheckPool && c.Pool.Balancer == string(p.Balancer) {
				check = string(c.Name)
			}
		}
		s.pools = append(s.pools, pool.New(s.w, string(p.Balancer), check, s.options.Seed, s.poolsChanged))
	}
	s.drains = drains.New(s.w, s.pools, s.judge.Broken)
}

// poolsChanged has all who read the pools look again.
func (s *stage) poolsChanged() {
	for _, c := range s.everybody() {
		c.readPools(poolHeed)
	}
	s.addressChanged(netip.Addr{})
}

// keeping is how one server keeps the pools, as package app/pools does.
type keeping struct {
	were   []roster.Fleet // what was wanted of each at the last pass
	memory []roster.Memory
	words  []fleet.PoolWord
	at     time.Duration // when the next pass is planned; 0: none is
	shown  []situation.View
}

// beginPools begins to keep them, in a new term.
func (c *server) beginPools() {
	c.keeping = keeping{}
	for range c.s.pools {
		c.keeping.were = append(c.keeping.were, roster.Fleet{})
		c.keeping.memory = append(c.keeping.memory, roster.NewMemory())
		c.keeping.words = append(c.keeping.words, fleet.PoolWord{})
	}
}

// heedPools reads the pools soon if another thing is wanted of them than at the last pass.
func (c *server) heedPools() {
	if len(c.s.pools) == 0 {
		return
	}
	f := c.published()
	for i := range c.s.pools {
		if wants, _ := c.wantedOf(&f, i); !wants.Equal(c.keeping.were[i]) {
			c.readPools(poolHeed)
		}
	}
}

// readPools plans a pass, unless one comes as soon.
func (c *server) readPools(in time.Duration) {
	at := c.s.w.Now() + in
	if c.term == 0 || !c.alive || len(c.s.pools) == 0 || c.keeping.at != 0 && c.keeping.at <= at {
		return
	}
	c.keeping.at = at
	term := c.term
	c.soon(in, func() {
		if c.keeping.at == at && c.term == term {
			c.keeping.at = 0
			c.passPools()
		}
	})
}

// published is what the owner shows of the fleet, until it is asked again.
func (c *server) published() published.Fleet {
	f := published.Fleet{State: *c.own.State(), Lease: max(c.lease.ends(c.s.w.Now())-c.s.w.Now(), 0)}
	f.Now = c.now()
	c.keeping.shown = c.keeping.shown[:0]
	for i := range c.own.Len() {
		c.keeping.shown = append(c.keeping.shown, situation.View{Machine: c.own.View(i).Machine})
	}
	f.Machines = c.keeping.shown
	return f
}

func (c *server) wantedOf(f *published.Fleet, index int) (roster.Fleet, bool) {
	return roster.WantedBy(f, f.Spec.Pools[index], poolPort)
}

// passPools reads the pools, sets their members as the fleet wants them, and has its owner know what they say.
func (c *server) passPools() {
	f, news, busy := c.published(), false, false
	for i, b := range c.s.pools {
		wants, says := c.wantedOf(&f, i)
		if !says {
			continue
		}
		said, again := c.passPool(b, i, wants)
		news, busy = news || said, busy || again
	}
	for i := range f.Machines {
		r := f.Machines[i].Machine.Repair
		busy = busy || r != nil && r.Phase == belief.PhaseLeave
	}
	if news {
		c.own.SetMembers(append([]fleet.PoolWord(nil), c.keeping.words...))
		c.s.addressChanged(netip.Addr{}) // what is found of a machine rests on whether it serves
		c.heat()
	}
	if busy {
		c.readPools(poolEvery)
	}
}

// passPool does so with one. It says whether the pool said anything, and whether it is to be read again.
func (c *server) passPool(b *pool.Balancer, index int, wants roster.Fleet) (said, again bool) {
	k, now := &c.keeping, c.s.wall(c.s.w.Now())
	asked := c.now().Mono
	all, answers := b.Says()
	k.were[index] = wants
	if !answers {
		return false, true
	}
	members := membersOf(all)
	fleets := map[fleet.Name]roster.Fleet{c.s.spec.Name: wants}
	k.memory[index].Note(members, fleets, now)
	steps, last := k.memory[index].Steps(members, fleets, now)
	done := map[fleet.MachineName]balancer.State{}
	for _, s := range steps {
		if s.State != balancer.Serving && c.s.eldest().double == nil {
			c.s.drains.Leaves(&c.s.spec, b, s.Member, c.s.store.Beliefs, c.s.store.Overall.Whole.Ledger)
		}
		if b.Set(string(s.Member), pool.State(s.State), s.At.Addr()) {
			done[s.Member] = s.State
		}
	}
	k.words[index] = fleet.PoolWord{Balancer: c.s.spec.Pools[index].Balancer, Rev: k.words[index].Rev + 1, Asked: asked,
		Members: roster.Word(members, done, last)}
	again = len(steps) > 0 || last != ""
	for _, m := range all {
		again = again || m.State == pool.Draining
	}
	return true, again
}

// membersOf are the members in the words of an adapter.
func membersOf(all []pool.Member) []balancer.Member {
	verdicts := map[guest.Answer]balancer.Verdict{guest.Well: balancer.Up, guest.Critical: balancer.Down}
	out := make([]balancer.Member, len(all))
	for i, m := range all {
		out[i] = balancer.Member{Name: fleet.MachineName(m.Name), State: balancer.State(m.State),
			Verdict: balancer.Unknown, Connections: m.Connections, At: netip.AddrPortFrom(m.At, poolPort),
			Failed: m.Failed}
		if v, known := verdicts[m.Finds]; known {
			out[i].Verdict = v
		}
	}
	return out
}

// poolTroubles are what can happen to the load balancers.
func poolTroubles() map[script.Verb]act {
	all := func(happens func(*pool.Balancer) func()) act {
		return func(s *stage, _ script.Event) (func(), error) {
			var lifts []func()
			for _, b := range s.eldest().pools {
				lifts = append(lifts, happens(b))
			}
			return func() {
				for _, lift := range lifts {
					lift()
				}
			}, nil
		}
	}
	return map[script.Verb]act{
		script.FallsSilent: all((*pool.Balancer).Silence),
		script.KeepsUsers:  all((*pool.Balancer).Cling),
		script.CannotSet:   all((*pool.Balancer).Stick),
		script.ForgetsPool: all(func(b *pool.Balancer) func() {
			b.Forget()
			return func() {}
		}),
	}
}
