package pools_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/app/pools"
	"hale/internal/balancer"
	"hale/internal/balancer/haproxy"
	"hale/internal/balancer/memory"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/defect"
	"hale/internal/kinds"
	"hale/internal/owner/published"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/secret"
	bed "hale/internal/testbed/haproxy"
)

// settings are those of a pool that there is already.
type settings struct{ pool balancer.Pool }

// Secrets implements kinds.Balancing.
func (settings) Secrets() []secret.Secret { return nil }

// Pool implements kinds.Balancing.
func (s settings) Pool(kinds.BalancerOptions) balancer.Pool { return s.pool }

// world is a fleet of three machines that a test has its way with, as the owner publishes it.
type world struct {
	mu    sync.Mutex
	fleet published.Fleet
}

// newWorld makes web-1 to web-3, all of them well.
func newWorld() *world {
	w := &world{}
	f := &w.fleet
	f.Spec.Name, f.Spec.Mode, f.Spec.Size = "web", policy.ModeAct, 3
	f.Provider.Standing, f.Lease = fleet.ProviderUp, 10*time.Second
	f.Now, f.SteadyAt = fleet.Now{Mono: 2, Wall: time.Now()}, 1
	for n := 1; n <= 3; n++ {
		m := belief.Machine{Name: f.Spec.Name.Machine(n), Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(n)})}
		m.Current = belief.Incarnation{ID: fleet.InstanceID(fmt.Sprint("i-", n)), Certified: true}
		m.Health.Verdict = belief.VerdictHealthy
		f.Machines = append(f.Machines, situation.View{Machine: m})
	}
	return w
}

// turn changes the world.
func (w *world) turn(change func(f *published.Fleet)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet.Machines = slices.Clone(w.fleet.Machines)
	change(&w.fleet)
}

// fail has the machines be unhealthy for the cause.
func (w *world) fail(c belief.Cause, ordinals ...int) {
	w.turn(func(f *published.Fleet) {
		for _, n := range ordinals {
			f.Machines[n-1].Machine.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: c}
		}
	})
}

func (w *world) fleets() []published.Fleet {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []published.Fleet{w.fleet}
}

// configured is the fleet in the pool edge.
func configured(s kinds.Balancing, wait time.Duration) *config.Config {
	return &config.Config{
		Balancers: []config.Balancer{{Name: "edge", Every: 5 * time.Second, Timeout: 2 * time.Second, Settings: s}},
		Pools:     []config.Pool{{Balancer: "edge", Fleet: "web", Port: 80, Wait: wait}},
	}
}

func (w *world) run(t *testing.T, c *config.Config) *pools.Pools {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	p := pools.New(c, pools.Options{Fleets: w.fleets, Defects: defect.NewRegister(log), Log: log})
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(t.Context()) })
	t.Cleanup(wg.Wait)
	return p
}

// letters stand for the states of members.
var letters = map[balancer.State]string{balancer.Serving: "S", balancer.Draining: "d", balancer.Out: "o"}

// now says by letters who is in which state, after ten seconds; a line: the pool has no such member.
func now(p *memory.Pool) string {
	time.Sleep(10 * time.Second)
	synctest.Wait()
	out := ""
	for _, name := range []fleet.MachineName{"web-1", "web-2", "web-3", "web-4"} {
		out += cmp.Or(letters[p.All()[name].State], "-")
	}
	return out[:3] + strings.TrimSuffix(out[3:], "-")
}

const all = "SSS"

// story plays one in a bubble, with the fleet in a pool that is as it should be.
func story(t *testing.T, tell func(t *testing.T, w *world, p *memory.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), memory.New()
		w.run(t, configured(settings{p}, 30*time.Second))
		if is := now(p); is != all {
			t.Fatalf("at first: %s", is)
		}
		if at := p.All()["web-2"].At.String(); at != "10.0.0.2:80" {
			t.Errorf("web-2 serves at %s", at)
		}
		tell(t, w, p)
	})
}

func expect(t *testing.T, p *memory.Pool, want string) {
	t.Helper()
	if is := now(p); is != want {
		t.Errorf("the members are %s, and should be %s", is, want)
	}
}

func TestAnUnhealthyMachineIsOutAndAHealedOneServes(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		w.fail(belief.CauseChecks, 2)
		expect(t, p, "SoS")
		w.turn(func(f *published.Fleet) {
			f.Machines[1].Machine.Repair = &belief.Repair{Kind: belief.RepairHeal}
			f.Machines[1].Machine.Health = belief.Health{Verdict: belief.VerdictHealthy}
		})
		expect(t, p, "SoS") // it is not verified yet
		w.turn(func(f *published.Fleet) {
			f.Machines[1].Machine.Repair = nil
			f.Machines[1].Machine.Address = netip.MustParseAddr("10.0.0.22")
		})
		expect(t, p, all)
		if at := p.All()["web-2"].At.String(); at != "10.0.0.22:80" {
			t.Errorf("it serves at %s", at)
		}
	})
}

// TestUnknownIsNotDead: whatever makes hale unsure leaves the pool as it is, also when all seem to have failed.
func TestUnknownIsNotDead(t *testing.T) {
	t.Parallel()
	for name, blind := range map[string]func(f *published.Fleet){
		"hale is not the owner":          func(f *published.Fleet) { f.Lease = 0 },
		"it may not act":                 func(f *published.Fleet) { f.Acting = fleet.ReasonStoreFull },
		"it only observes":               func(f *published.Fleet) { f.Spec.Mode = policy.ModeObserve },
		"it just started":                func(f *published.Fleet) { f.SteadyAt = 1000 },
		"it doubts its own sight":        func(f *published.Fleet) { f.Whole.Doubt.Reason = fleet.ReasonVantageIsolated },
		"the provider is down":           func(f *published.Fleet) { f.Provider.Standing = fleet.ProviderDown },
		"the provider is doubtful":       func(f *published.Fleet) { f.Provider.Standing = fleet.ProviderDoubtful },
		"the store is older":             func(f *published.Fleet) { f.Whole.Older = &belief.Older{} },
		"its verdicts are not stored":    func(f *published.Fleet) { f.FromMemory = true },
		"what it sees is old":            func(f *published.Fleet) { f.AsOf = time.Now() },
		"so much fails at once":          func(f *published.Fleet) { f.Brake.Engaged = true },
		"a person holds the whole fleet": func(f *published.Fleet) { f.Whole.Holds = []belief.Hold{{By: "anna"}} },
		"no machine is known": func(f *published.Fleet) {
			f.Machines, f.Acting = nil, fleet.ReasonStoreFull
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, func(t *testing.T, w *world, p *memory.Pool) {
				w.turn(func(f *published.Fleet) {
					for i := range f.Machines {
						f.Machines[i].Machine.Health = belief.Health{Verdict: belief.VerdictUnhealthy,
							Cause: belief.CauseChecks}
					}
					blind(f)
				})
				expect(t, p, all)
			})
		})
	}
}

// TestAMachineThatMayBeWellStays: a suspect, or one that nothing is known of, goes on as it did.
func TestAMachineThatMayBeWellStays(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		w.turn(func(f *published.Fleet) {
			f.Machines[0].Machine.Health.Verdict = belief.VerdictSuspect
			f.Machines[1].Machine.Health.Verdict = belief.VerdictUnknown
			f.Machines[2].Machine.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseDisabled}
		})
		expect(t, p, all)
	})
}

// TestTheLastOneIsNotTakenOutOnHalesWordAlone: a wrong check fails on every machine, and hale leaves the pool its last
// member. It takes that out only when the provider says that the machine is off, or the pool itself finds it down.
func TestTheLastOneIsNotTakenOutOnHalesWordAlone(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		w.fail(belief.CauseChecks, 1, 2, 3)
		expect(t, p, "ooS")
		w.fail(belief.CauseOff, 3)
		expect(t, p, "ooo")
	})
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		w.fail(belief.CauseChecks, 1, 2, 3)
		expect(t, p, "ooS")
		m := p.All()["web-3"]
		m.Verdict = balancer.Down
		p.Put(m)
		expect(t, p, "ooo")
	})
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		for _, n := range []fleet.MachineName{"web-1", "web-2"} { // by the pool's word, nobody else serves
			m := p.All()[n]
			m.Verdict = balancer.Down
			p.Put(m)
		}
		w.fail(belief.CauseChecks, 3)
		expect(t, p, all)
	})
}

// TestWhatABalancerForgotItIsToldAgain: also while hale is blind, and only of those that served.
func TestWhatABalancerForgotItIsToldAgain(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		w.fail(belief.CauseChecks, 2)
		expect(t, p, "SoS")
		p.Forget()
		expect(t, p, "S-S")
		w.turn(func(f *published.Fleet) { f.Whole.Doubt.Reason = fleet.ReasonVantageIsolated })
		p.Forget()
		expect(t, p, "S-S")
		w.turn(func(f *published.Fleet) { f.Lease = 0 })
		p.Forget()
		expect(t, p, "---")
	})
}

// TestAMachineThatLeavesDrainsFirst: as long as it has connections, and no longer than it may.
func TestAMachineThatLeavesDrainsFirst(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		m := p.All()["web-3"]
		m.Connections = 7
		p.Put(m)
		w.turn(func(f *published.Fleet) {
			f.Whole.Ledger = &belief.Ledger{Removals: []belief.Removal{{Machine: "web-3"}}}
		})
		expect(t, p, "SSd")
		m = p.All()["web-3"]
		m.Connections = 0
		p.Put(m)
		expect(t, p, "SSo")
		w.turn(func(f *published.Fleet) { f.Machines = f.Machines[:2] })
		expect(t, p, "SSo")
	})
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		m := p.All()["web-3"]
		m.Connections = 7
		p.Put(m)
		w.turn(func(f *published.Fleet) {
			f.Machines[2].Machine.Repair = &belief.Repair{Kind: belief.RepairUpdate}
		})
		for range 3 {
			expect(t, p, "SSd")
		}
		expect(t, p, "SSo") // its connections had their time
	})
}

// TestOneBeyondTheSizeServesAsLongAsItIsKept: it is kept since fewer would serve without it.
func TestOneBeyondTheSizeServesAsLongAsItIsKept(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		over := belief.Removal{Machine: "web-3", Why: fleet.ReasonSurgeOver}
		w.turn(func(f *published.Fleet) { f.Whole.Ledger = &belief.Ledger{Removals: []belief.Removal{over}} })
		expect(t, p, all)
		w.turn(func(f *published.Fleet) { f.Machines[2].Machine.Repair = &belief.Repair{Kind: belief.RepairRemove} })
		expect(t, p, "SSo")
	})
}

// TestWhatIsNotProvisionedIsOut: its member is that of its predecessor, which could not be set out in time.
func TestWhatIsNotProvisionedIsOut(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		w.turn(func(f *published.Fleet) {
			f.Machines[2].Machine.Current = belief.Incarnation{ID: "i-4", Raw: true}
		})
		expect(t, p, "SSo")
	})
}

// TestASpareServesOnceItTakesAPlace: until then it gets nothing, and who serves is as it was while hale is blind.
func TestASpareServesOnceItTakesAPlace(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		stands := func(name fleet.MachineName) func(*published.Fleet) {
			return func(f *published.Fleet) { f.Whole.Ledger = &belief.Ledger{Spares: []fleet.MachineName{name}} }
		}
		w.turn(stands("web-3"))
		expect(t, p, "SSo")
		w.fail(belief.CauseChecks, 1)
		w.turn(stands("web-1"))
		expect(t, p, "oSS")
		w.turn(func(f *published.Fleet) { f.Machines[0].Machine.Health = belief.Health{Verdict: belief.VerdictHealthy} })
		expect(t, p, "oSS")
		w.turn(func(f *published.Fleet) { f.Whole.Doubt.Reason = fleet.ReasonVantageIsolated })
		w.turn(stands("web-3"))
		expect(t, p, "oSS")
		w.turn(func(f *published.Fleet) { f.Whole.Doubt.Reason = "" })
		expect(t, p, "SSo")
	})
}

// finds asks the pools what the balancer finds of web-2, by a check at its address: "up", "down", or why it does not
// say.
func finds(t *testing.T, p *pools.Pools, at string) string {
	t.Helper()
	time.Sleep(time.Millisecond) // what was asked until now is older
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	target := probe.Target{ID: probe.ID{Machine: "web-2", Check: "lb"}, Address: netip.MustParseAddr(at),
		Spec: &policy.Check{Kind: policy.CheckPool, Pool: policy.PoolCheck{Balancer: "edge"}}}
	err := p.Find(ctx, target, time.Now())
	var down probe.DownError
	var untold probe.UntoldError
	switch {
	case err == nil:
		return "up"
	case errors.As(err, &down):
		return "down"
	case errors.As(err, &untold):
		return untold.Why
	}
	return "an error of another kind: " + err.Error()
}

// heed has the fleet have a check by the pool.
func (w *world) heed() {
	w.turn(func(f *published.Fleet) {
		f.Spec.Checks = []policy.Check{{Name: "lb", Kind: policy.CheckPool, Pool: policy.PoolCheck{Balancer: "edge"}}}
	})
}

// TestWhatAPoolFindsIsEvidence of the members that it has serve, as long as it finds any of them up. What it does not
// say of a machine is no failure (S35, L4).
func TestWhatAPoolFindsIsEvidence(t *testing.T) {
	t.Parallel()
	const here = "10.0.0.2"
	for name, c := range map[string]struct {
		change func(p *memory.Pool, web2 balancer.Member)
		at     string
		want   string
	}{
		"up":   {func(*memory.Pool, balancer.Member) {}, here, "up"},
		"down": {func(p *memory.Pool, m balancer.Member) { m.Verdict = balancer.Down; p.Put(m) }, here, "down"},
		"it checks nothing": {func(p *memory.Pool, m balancer.Member) { m.Verdict = balancer.Unknown; p.Put(m) }, here,
			"the pool checks nothing"},
		"at an address that it had before": {func(p *memory.Pool, m balancer.Member) {
			m.Verdict = balancer.Down
			p.Put(m)
		}, "10.0.0.99", "the pool sends to another address than its own"},
		"all are down": {func(p *memory.Pool, _ balancer.Member) {
			for _, m := range p.All() {
				m.Verdict = balancer.Down
				p.Put(m)
			}
		}, here, "the pool finds none of its members up"},
		"it does not answer": {func(p *memory.Pool, _ balancer.Member) { p.Break(memory.Faults{Dead: true}) }, here,
			"it does not answer"},
		"it is frozen": {func(p *memory.Pool, _ balancer.Member) { p.Break(memory.Faults{Frozen: true}) }, here,
			"context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, p := newWorld(), memory.New()
				w.heed()
				kept := w.run(t, configured(settings{p}, 0))
				expect(t, p, all)
				c.change(p, p.All()["web-2"])
				if got := finds(t, kept, c.at); got != c.want {
					t.Errorf("it says %q, and should say %q", got, c.want)
				}
			})
		})
	}
}

// TestAPoolSaysNothingOfWhatIsOut: nor of what drains, or is not there, or of a pool that no one keeps.
func TestAPoolSaysNothingOfWhatIsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), memory.New()
		kept := w.run(t, configured(settings{p}, 30*time.Second))
		expect(t, p, all)
		w.turn(func(f *published.Fleet) { f.Spec.Mode = policy.ModeObserve }) // then hale only reads
		for state, want := range map[balancer.State]string{balancer.Draining: "it drains", balancer.Out: "it is out"} {
			m := p.All()["web-2"]
			m.State, m.Verdict = state, balancer.Down
			p.Put(m)
			if got := finds(t, kept, "10.0.0.2"); got != want {
				t.Errorf("%s: it says %q", state, got)
			}
		}
		p.Forget()
		if got := finds(t, kept, "10.0.0.2"); got != "it is not in the pool" {
			t.Errorf("it says %q", got)
		}
		kept.Take(&config.Config{})
		time.Sleep(time.Second)
		if got := finds(t, kept, "10.0.0.2"); got != "no pool of the balancer edge is kept here" {
			t.Errorf("it says %q", got)
		}
	})
}

// TestWhatThePoolFindsDownStaysWhereItIsFound: out of the pool no one would say any more how it is, and it gets nothing
// in any case. What the pool finds up, or the provider says is off, is out as ever.
func TestWhatThePoolFindsDownStaysWhereItIsFound(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		w.heed()
		m := p.All()["web-2"]
		m.Verdict = balancer.Down
		p.Put(m)
		w.fail(belief.CauseChecks, 2)
		expect(t, p, all)
		w.turn(func(f *published.Fleet) {
			f.Machines[1].Machine.Repair = &belief.Repair{Kind: belief.RepairHeal}
		})
		expect(t, p, all)
		m.Verdict = balancer.Up // it came back before hale found it well
		p.Put(m)
		expect(t, p, "SoS")
	})
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		w.heed()
		m := p.All()["web-2"]
		m.Verdict = balancer.Down
		p.Put(m)
		w.fail(belief.CauseOff, 2)
		expect(t, p, "SoS")
	})
}

// TestAPoolThatFindsNoneUpIsSaid.
func TestAPoolThatFindsNoneUpIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), memory.New()
		kept := w.run(t, configured(settings{p}, 0))
		expect(t, p, all)
		for _, m := range p.All() {
			m.Verdict = balancer.Down
			p.Put(m)
		}
		time.Sleep(time.Minute)
		told := kept.Troubles(time.Now())
		if len(told) != 1 || !strings.Contains(told[0].Text, "finds none of its members up") {
			t.Errorf("it says %+v", told)
		}
		m := p.All()["web-1"]
		m.Verdict = balancer.Up
		p.Put(m)
		time.Sleep(10 * time.Second)
		if told := kept.Troubles(time.Now()); len(told) != 0 {
			t.Errorf("it still says %+v", told)
		}
	})
}

// TestAMemberWithoutAMachineIsOut: one of another name is not hale's.
func TestAMemberWithoutAMachineIsOut(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, _ *world, p *memory.Pool) {
		for _, n := range []fleet.MachineName{"web-4", "shop-1"} {
			p.Put(balancer.Member{Name: n, State: balancer.Serving, Verdict: balancer.Up})
		}
		expect(t, p, all+"o")
		if s := p.All()["shop-1"].State; s != balancer.Serving {
			t.Errorf("another's member is %s", s)
		}
	})
}

// TestWhatAnotherHandDidIsPutRight, unless a person holds the machine.
func TestWhatAnotherHandDidIsPutRight(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, w *world, p *memory.Pool) {
		m := p.All()["web-1"]
		m.State = balancer.Draining
		p.Put(m)
		expect(t, p, all)
		w.turn(func(f *published.Fleet) { f.Whole.Holds = []belief.Hold{{By: "anna", Machine: "web-1"}} })
		p.Put(m)
		expect(t, p, "dSS")
	})
}

// TestNothingIsChangedThatIsAsItShouldBe: an hour of peace is without an order.
func TestNothingIsChangedThatIsAsItShouldBe(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, _ *world, p *memory.Pool) {
		before := p.Orders()
		time.Sleep(time.Hour)
		if n := p.Orders(); n != before {
			t.Errorf("%d orders for nothing", n-before)
		}
	})
}

// TestABalancerThatFailsIsSaidAndTriedAgain: however it fails, nothing is believed of it, and the others go on.
func TestABalancerThatFailsIsSaidAndTriedAgain(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]memory.Faults{
		"dead": {Dead: true}, "frozen": {Frozen: true}, "garbage": {Garbage: true}, "full": {Full: true},
		"its answers are lost": {AnswerLost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, p := newWorld(), memory.New()
				p.Break(f)
				kept := w.run(t, configured(settings{p}, 0))
				time.Sleep(time.Minute)
				if s := kept.Status(); !f.AnswerLost && (len(s) != 1 || s[0].Failing.IsZero() || s[0].Why == "") {
					t.Errorf("it stands so: %+v", s)
				}
				p.Break(memory.Faults{})
				expect(t, p, all)
				time.Sleep(10 * time.Second)
				if s := kept.Status(); !s[0].Failing.IsZero() || len(s[0].Members) != 3 {
					t.Errorf("afterwards it stands so: %+v", s)
				}
			})
		})
	}
}

// TestAnEditCounts: a pool that the configuration does not name any more is left as it is.
func TestAnEditCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), memory.New()
		c := configured(settings{p}, 0)
		kept := w.run(t, c)
		expect(t, p, all)
		edited := *c
		edited.Pools = []config.Pool{{Balancer: "edge", Fleet: "web", Port: 8080}}
		kept.Take(&edited)
		expect(t, p, all)
		if at := p.All()["web-1"].At.String(); at != "10.0.0.1:8080" {
			t.Errorf("it serves at %s", at)
		}
		kept.Take(&config.Config{})
		w.fail(belief.CauseOff, 1)
		expect(t, p, all)
		if s := kept.Status(); len(s) != 0 {
			t.Errorf("there still are %+v", s)
		}
	})
}

// TestARealHAProxyIsKept: requests go to machines that are well, over its reload, its death and its silence.
func TestARealHAProxyIsKept(t *testing.T) {
	t.Parallel()
	h := bed.StartPool(t, 3)
	w := newWorld()
	port := serve(t, w).port
	c := configured(haproxy.Settings{Options: haproxy.Options{Socket: h.Socket, Backend: bed.Backend}}, time.Second)
	c.Balancers[0].Every, c.Pools[0].Port = time.Second, port
	w.run(t, c)
	await(t, h.Front, "web-1 web-2 web-3")
	w.fail(belief.CauseChecks, 2)
	await(t, h.Front, "web-1 web-3")
	h.Reload()
	await(t, h.Front, "web-1 web-3")
	h.Kill()
	h.Start()
	await(t, h.Front, "web-1 web-3")
	h.Freeze()
	w.turn(func(f *published.Fleet) {
		f.Machines[1].Machine.Health = belief.Health{Verdict: belief.VerdictHealthy}
	})
	h.Thaw()
	await(t, h.Front, "web-1 web-2 web-3")
}

// TestWhatARealHAProxyFindsIsEvidence: a machine that HAProxy finds down, though hale finds nothing wrong with it,
// makes the check by the pool down, and is left where HAProxy goes on asking it; it comes up with HAProxy's word.
func TestWhatARealHAProxyFindsIsEvidence(t *testing.T) {
	t.Parallel()
	h := bed.StartPool(t, 3)
	w := newWorld()
	w.heed()
	machines := serve(t, w)
	c := configured(haproxy.Settings{Options: haproxy.Options{Socket: h.Socket, Backend: bed.Backend}}, time.Second)
	c.Balancers[0].Every, c.Pools[0].Port = time.Second, machines.port
	kept := w.run(t, c)
	await(t, h.Front, "web-1 web-2 web-3")
	ctx, end := context.WithCancel(t.Context())
	e := netprobe.New(nil, netprobe.Options{Pools: kept})
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	defer func() { end(); <-ended }()
	e.Set(probe.Target{ID: probe.ID{Machine: "web-2", Check: "lb"}, Instance: "i-2", Epoch: 1,
		Address: addressOf(2), Spec: &policy.Check{Name: "lb", Kind: policy.CheckPool,
			Every: time.Second, Timeout: 500 * time.Millisecond, DownAfter: 3, UpAfter: 2,
			Pool: policy.PoolCheck{Balancer: "edge"}}})
	stands := func(want fleet.Standing) {
		t.Helper()
		limit := time.NewTimer(time.Minute)
		defer limit.Stop()
		for {
			select {
			case r := <-e.Reports():
				if r.Edge != nil && r.Edge.Standing == want {
					return
				}
			case <-limit.C:
				t.Fatalf("the check was never %s: %+v", want, e.Standings())
			}
		}
	}
	stands(fleet.StandingUp)
	machines.close(2)
	stands(fleet.StandingDown)
	w.fail(belief.CauseChecks, 2)
	await(t, h.Front, "web-1 web-3")
	w.turn(func(f *published.Fleet) {
		f.Machines[1].Machine.Health = belief.Health{Verdict: belief.VerdictHealthy}
	})
	machines.open(2)
	stands(fleet.StandingUp)
	await(t, h.Front, "web-1 web-2 web-3")
}

// machines answer with their names, each at an address of its own, all at one port.
type machines struct {
	t    *testing.T
	port uint16
	at   map[int]*httptest.Server
}

// serve has the machines of the world answer.
func serve(t *testing.T, w *world) *machines {
	t.Helper()
	m := &machines{t: t, at: map[int]*httptest.Server{}}
	for n := 1; n <= 3; n++ {
		m.open(n)
		w.turn(func(f *published.Fleet) { f.Machines[n-1].Machine.Address = addressOf(n) })
	}
	t.Cleanup(func() {
		for n := range m.at {
			m.close(n)
		}
	})
	return m
}

func addressOf(n int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 7, byte(n)}) }

// open has one of them answer.
func (m *machines) open(n int) {
	m.t.Helper()
	at := netip.AddrPortFrom(addressOf(n), m.port)
	l, err := (&net.ListenConfig{}).Listen(m.t.Context(), "tcp", at.String())
	if err != nil {
		m.t.Fatal(err)
	}
	m.port = netip.MustParseAddrPort(l.Addr().String()).Port()
	s := &httptest.Server{Listener: l, Config: &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(out, "web-%d", n)
		})}}
	s.Start()
	m.at[n] = s
}

// close has it refuse connections.
func (m *machines) close(n int) {
	m.at[n].Close()
	delete(m.at, n)
}

// await asks until those answer, and no others.
func await(t *testing.T, front, want string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	end := time.NewTimer(time.Minute)
	defer end.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		seen := map[string]bool{}
		for range 9 {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+front, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(q)
			if err != nil {
				seen["nobody"] = true
				continue
			}
			said, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			seen[string(said)] = true
		}
		var names []string
		for name := range seen {
			names = append(names, name)
		}
		slices.Sort(names)
		is := strings.Join(names, " ")
		if is == want {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("they answer: %s; they should: %s", is, want)
		}
	}
}
