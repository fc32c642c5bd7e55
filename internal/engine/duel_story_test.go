package engine_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/engine/poller"
	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

// duel is a set of two nodes with a hale on each, which know nothing of one another: each has a store of its own, looks
// after a fleet of its own, and can have the other node turned off.
type duel struct {
	t     *testing.T
	world *simulated.World
	power *mains
	// sides are the two, by the node that they run on.
	sides map[fleet.HostName]*story
}

// shooter is the way of the hale on one node to the power controllers.
type shooter struct {
	*mains
	from   fleet.HostName
	delays map[fleet.HostName]time.Duration
}

// Means implements engine.Fencer. What somebody called cache has on a host matters more.
func (s shooter) Means(host fleet.HostName, seen []fleet.Name) fleet.Means {
	m := s.mains.Means(host, seen)
	m.Delay = s.delays[host]
	if slices.Contains(seen, "cache") {
		m.Delay += 15 * time.Second
	}
	return m
}

// Fence implements engine.Fencer. Whoever has no power any more orders nothing.
func (s shooter) Fence(ctx context.Context, host fleet.HostName, try int) (poller.Fenced, error) {
	if slices.Contains(s.areOff(), s.from) {
		<-ctx.Done()
		return poller.Fenced{}, fault.New(fault.Transient, "duel.fence", string(host), ctx.Err())
	}
	return s.mains.Fence(ctx, host, try)
}

// fight sets two hales up, and somebody else's cache on a node, parts the two nodes from one another for as long as
// that lasts, and lets time pass.
func fight(t *testing.T, delays map[fleet.HostName]time.Duration, parted time.Duration, cache fleet.HostName,
	then func(d *duel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &duel{t: t, sides: map[fleet.HostName]*story{}, world: simulated.NewWorld(simulated.Options{
			Hosts: []fleet.HostName{"h1", "h2"}, Latency: 50 * time.Millisecond, Ports: []uint16{80},
		})}
		d.power = newMains(d.world, fleet.Means{Tries: 1, Limit: 15 * time.Second})
		for host, name := range map[fleet.HostName]fleet.Name{"h1": "web", "h2": "db"} {
			spec := web(5)
			spec.Name, spec.Repair.Fence.Hosts, spec.Repair.Silence = name, true, policy.SilenceActs
			s := &story{t: t, world: d.world, backing: memory.New(memory.Options{}), spec: spec,
				fencer: shooter{d.power, host, delays}}
			s.transport = d.world.Vantage("hale-on-" + string(host))
			s.hale = s.controller("hale-on-" + string(host))
			d.sides[host] = s
		}
		defer func() {
			for _, s := range d.sides {
				s.kill()
			}
		}()
		for _, host := range []fleet.HostName{"h1", "h2"} {
			d.settle(host)
		}
		if cache != "" {
			i := fleet.Instance{ID: "cache-1", Name: "cache-1", Host: cache,
				Mark: fleet.Mark{Installation: "third", Fleet: "cache", Machine: "cache-1", Generation: 1}}
			if err := d.world.Plant(i); err != nil {
				t.Fatal(err)
			}
			d.sides["h1"].pass(10 * time.Second) // both see it
		}
		lift := d.part()
		for range int((parted + time.Minute) / (100 * time.Millisecond)) {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			d.bury()
			if parted -= 100 * time.Millisecond; parted == 0 {
				lift()
			}
		}
		then(d)
		for _, s := range d.sides {
			if t.Failed() {
				s.printJournal()
			}
		}
	})
}

// settle waits for the fleet of the node's hale; one of its machines stands on the other node.
func (d *duel) settle(home fleet.HostName) {
	d.t.Helper()
	s := d.sides[home]
	s.await(5*time.Minute, "the fleet stands", s.allHealthy)
	for n := 1; n <= s.spec.Size; n++ {
		if n == 1 {
			d.world.Migrate(s.id(n), other(home))
		} else {
			d.world.Migrate(s.id(n), home)
		}
	}
	s.await(time.Minute, "its machines are seen where they are", func() bool {
		for n := 2; n <= s.spec.Size; n++ {
			if s.machine(n).Current.Host != home {
				return false
			}
		}
		return s.machine(1).Current.Host == other(home) && s.allHealthy()
	})
	s.pass(time.Minute)
}

func other(host fleet.HostName) fleet.HostName {
	if host == "h1" {
		return "h2"
	}
	return "h1"
}

// part breaks all ways between the two nodes, apart from those to the power controllers.
func (d *duel) part() (lift func()) {
	d.t.Helper()
	var lifts []func()
	for host, s := range d.sides {
		client := "hale-on-" + string(host)
		lifts = append(lifts, s.inject(simulated.HostUnreachable{Host: other(host), Client: client}),
			s.inject(simulated.OutOfSight{Host: other(host), Client: client}))
	}
	return func() {
		for _, lift := range lifts {
			lift()
		}
	}
}

// bury ends the hales on a node that is off.
func (d *duel) bury() {
	for host, s := range d.sides {
		if slices.Contains(d.power.areOff(), host) {
			s.kill()
		}
	}
}

// Two hales on a set of two nodes lose sight of each other's node, and each takes the other's for dead. Where the file
// has one of the nodes left as it is for longer, exactly one of them shoots, from whichever side it is seen; and nobody
// does who sees the other again in time. Without a delay both do.
func TestS51OfTwoHalesThatTakeEachOtherForDeadOneShoots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		delays map[fleet.HostName]time.Duration
		parted time.Duration
		cache  fleet.HostName
		shot   []fleet.HostName
	}{
		"the first node is to survive": {map[fleet.HostName]time.Duration{"h1": 15 * time.Second},
			10 * time.Minute, "", []fleet.HostName{"h2"}},
		"the second node is to survive": {map[fleet.HostName]time.Duration{"h2": 15 * time.Second},
			10 * time.Minute, "", []fleet.HostName{"h1"}},
		"both wait, one of them for longer": {map[fleet.HostName]time.Duration{"h1": 20 * time.Second,
			"h2": 10 * time.Second}, 10 * time.Minute, "", []fleet.HostName{"h2"}},
		"they see each other again in time": {map[fleet.HostName]time.Duration{"h1": time.Minute,
			"h2": 30 * time.Second}, 20 * time.Second, "", nil},
		"what matters more is on the first":  {nil, 10 * time.Minute, "h1", []fleet.HostName{"h2"}},
		"what matters more is on the second": {nil, 10 * time.Minute, "h2", []fleet.HostName{"h1"}},
		"nobody waits":                       {nil, 10 * time.Minute, "", []fleet.HostName{"h1", "h2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fight(t, c.delays, c.parted, c.cache, func(d *duel) {
				if !slices.Equal(d.power.areOff(), c.shot) {
					d.t.Errorf("turned off: %v, and not %v", d.power.areOff(), c.shot)
				}
				for host, s := range d.sides {
					switch {
					case slices.Contains(d.power.areOff(), host):
					case len(c.shot) == 1 && (!s.allHealthy() || s.machine(1).Current.Host != host):
						d.t.Errorf("what the hale on %s looks after is not healed: its first machine is on %q", host,
							s.machine(1).Current.Host)
					case len(c.shot) == 0 && (!s.allHealthy() || s.machine(1).Current.Generation != 1):
						d.t.Errorf("the hale on %s did something, although it sees the other node again", host)
					}
				}
			})
		})
	}
}
