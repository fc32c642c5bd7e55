package simulated_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// TestCallEffects tells, for a power off of a healthy machine, what the caller hears and what is true, at once and
// ten seconds later.
func TestCallEffects(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fault      simulated.Calls
		heard      fault.Kind
		then, late fleet.Power
		took       time.Duration
	}{
		"fails": {simulated.Calls{Effect: simulated.Fails, Kind: fault.Permanent},
			fault.Permanent, fleet.PowerRunning, fleet.PowerRunning, 0},
		"slow": {simulated.Calls{Effect: simulated.Slow, Delay: 400 * time.Millisecond},
			"", fleet.PowerOff, fleet.PowerOff, 400 * time.Millisecond},
		"too slow": {simulated.Calls{Effect: simulated.Slow, Delay: 4 * time.Second},
			fault.UnknownOutcome, fleet.PowerRunning, fleet.PowerRunning, time.Second},
		"hangs": {simulated.Calls{Effect: simulated.Hangs},
			fault.UnknownOutcome, fleet.PowerRunning, fleet.PowerRunning, time.Second},
		"hangs after": {simulated.Calls{Effect: simulated.HangsAfter},
			fault.UnknownOutcome, fleet.PowerOff, fleet.PowerOff, time.Second},
		"acts late": {simulated.Calls{Effect: simulated.ActsLate, Delay: 5 * time.Second},
			fault.UnknownOutcome, fleet.PowerRunning, fleet.PowerOff, time.Second},
		"answer lost": {simulated.Calls{Effect: simulated.AnswerLost},
			fault.UnknownOutcome, fleet.PowerOff, fleet.PowerOff, 0},
		"no effect": {simulated.Calls{Effect: simulated.NoEffect},
			"", fleet.PowerRunning, fleet.PowerRunning, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			play(t, simulated.Options{}, func(s *stage) {
				o := s.build("a")
				c.fault.Op, c.fault.Times = fleet.OpPowerOff, 1
				s.inject(c.fault)
				began := time.Now()
				if err := s.p.PowerOff(s.moment(), o.Ref); fault.KindOf(err) != c.heard {
					s.Errorf("heard %v, want kind %q", err, c.heard)
				}
				if took := time.Since(began); took != c.took {
					s.Errorf("it took %v, want %v", took, c.took)
				}
				if power := s.see(o.Ref).Power; power != c.then {
					s.Errorf("then it is %s, want %s", power, c.then)
				}
				time.Sleep(10 * time.Second)
				if power := s.see(o.Ref).Power; power != c.late {
					s.Errorf("later it is %s, want %s", power, c.late)
				}
				s.must(s.p.PowerOff(s.moment(), o.Ref)) // the fault hits once
			})
		})
	}
}

// TestOldOrderActsAgain covers "answers twice": the duplicate of an old power off hits a machine that is healthy again.
func TestOldOrderActsAgain(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		s.inject(simulated.Calls{Op: fleet.OpPowerOff, Times: 1, Effect: simulated.ActsTwice, Delay: 10 * time.Second})
		s.must(s.p.PowerOff(s.Context(), o.Ref))
		s.must(s.p.Start(s.Context(), o.Ref))
		time.Sleep(11 * time.Second)
		if power := s.see(o.Ref).Power; power != fleet.PowerOff {
			s.Errorf("it is %s, want off", power)
		}
		harm := s.world.Harm()
		if len(harm) != 2 || harm[0].Again || !harm[1].Again || harm[1].Client != "hale-1" {
			s.Errorf("the truth about the two power offs: %+v", harm)
		}
	})
}

func TestChanceIsSeeded(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (failed []int) {
		w := simulated.NewWorld(simulated.Options{Seed: seed})
		p := w.Open("hale-1")
		if _, err := w.Inject(simulated.Calls{Op: provider.OpList, Chance: 0.3, Effect: simulated.Fails}); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			if _, err := p.List(t.Context()); err != nil {
				failed = append(failed, i)
			}
		}
		return failed
	}
	one, same, other := run(1), run(1), run(2)
	if len(one) < 15 || len(one) > 45 {
		t.Errorf("%d of 100 calls failed, want about 30", len(one))
	}
	if !slices.Equal(one, same) || slices.Equal(one, other) {
		t.Errorf("seed 1: %v and %v; seed 2: %v", one, same, other)
	}
}

// listed returns the power that List tells for the instance; empty: it is not listed.
func (s *stage) listed(id fleet.InstanceID) fleet.Power {
	s.Helper()
	l, err := s.p.List(s.Context())
	s.must(err)
	for _, i := range l.Instances {
		if i.ID == id {
			return i.Power
		}
	}
	return ""
}

func TestListsLie(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		want := func(what string, list, get fleet.Power) {
			s.Helper()
			if l, g := s.listed("a"), s.see(order("a", 1).Ref).Power; l != list || g != get {
				s.Errorf("%s: list says %q and get says %q, want %q and %q", what, l, g, list, get)
			}
		}
		o := s.build("a")
		lift := s.inject(simulated.Misreported{Instance: "a", Op: provider.OpList, Power: fleet.PowerOff})
		want("split", fleet.PowerOff, fleet.PowerRunning)
		if !s.world.Healthy("a") {
			s.Error("a misreport changed the truth")
		}
		lift()
		lift = s.inject(simulated.Happens{Verb: verbs.ListsNothing})
		want("empty", "", fleet.PowerRunning)
		lift()

		time.Sleep(time.Minute)
		s.must(s.p.PowerOff(s.Context(), o.Ref))
		time.Sleep(10 * time.Second)
		lift = s.inject(simulated.Happens{Verb: verbs.ListsStale, Arg: "15s"})
		want("stale", fleet.PowerRunning, fleet.PowerOff)
		time.Sleep(5 * time.Second)
		want("stale, later", fleet.PowerOff, fleet.PowerOff)
		s.must(s.p.Delete(s.Context(), o.Ref))
		if power := s.listed("a"); power != fleet.PowerOff {
			s.Errorf("a stale list has the deleted instance as %q, want off", power)
		}
		lift()
		if power := s.listed("a"); power != "" {
			s.Errorf("a fresh list has the deleted instance as %q", power)
		}
	})
}

func TestOtherIdentityTouchesNothing(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		before, err := s.p.Identity(s.Context())
		s.must(err)
		lift := s.inject(simulated.OtherIdentity{})
		other, err := s.p.Identity(s.Context())
		s.must(err)
		if other[""] == before[""] {
			s.Errorf("the identity is still %q", other[""])
		}
		if _, err := s.p.Get(s.Context(), o.Ref); !fault.Is(err, fault.NotFound) {
			s.Errorf("get: %v, want not found", err)
		}
		s.must(s.p.Create(s.Context(), order("b", 2)))
		lift()
		if power := s.listed("a"); power != fleet.PowerRunning || s.listed("b") != "" {
			s.Errorf("a is %q, b is %q", power, s.listed("b"))
		}
	})
}

func TestHostLosesPowerWithItsGuests(t *testing.T) {
	play(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, func(s *stage) {
		here, there := order("a", 1), order("b", 1)
		here.Host, there.Host, there.Mark.Machine, there.Name = "h1", "h2", "web-2", "web-2"
		s.must(s.p.Create(s.Context(), here))
		s.must(s.p.Create(s.Context(), there))
		time.Sleep(2 * time.Second)
		repair := s.inject(simulated.Happens{Verb: verbs.LosesPower, Host: "h2"})
		if !s.world.Healthy("a") || s.world.Healthy("b") {
			s.Errorf("a healthy: %v, b healthy: %v", s.world.Healthy("a"), s.world.Healthy("b"))
		}
		if err := s.p.Start(s.Context(), there.Ref); !fault.Is(err, fault.Transient) {
			s.Errorf("start on a dead host: %v, want transient", err)
		}
		repair()
		if seen := s.see(there.Ref); seen.Power != fleet.PowerOff || seen.Stop != fleet.StopUnknown {
			s.Errorf("after the repair: %+v", seen)
		}
	})
}

// watched returns the events that a handle of the client hears from now on.
func (s *stage) watched(client string) *[]provider.Event {
	var heard []provider.Event
	ctx, cancel := context.WithCancel(s.Context())
	p, ended := s.world.Open(client), make(chan error, 1)
	go func() { ended <- p.Watch(ctx, func(e provider.Event) { heard = append(heard, e) }) }()
	s.Cleanup(func() { cancel(); s.must(<-ended) })
	synctest.Wait()
	return &heard
}

// TestEvents covers the hints of S26: repeated, lost, and missed while cut off.
func TestEvents(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		o := s.build("a")
		heard, far := s.watched("hale-1"), s.watched("hale-2")
		expect := func(what string, near, other int) {
			s.Helper()
			synctest.Wait()
			if len(*heard) != near || len(*far) != other {
				s.Errorf("%s: heard %v and %v, want %d and %d events", what, *heard, *far, near, other)
			}
			*heard, *far = nil, nil
		}
		expect("connection", 1, 1)
		lift := s.inject(simulated.RepeatedEvents{Times: 5})
		s.inject(simulated.Crash{Instance: "a"})
		expect("one failure, five events", 5, 5)
		lift()
		lift = s.inject(simulated.LostEvents{})
		s.must(s.p.Start(s.Context(), o.Ref))
		expect("lost", 0, 0)
		lift()
		lift = s.inject(simulated.Outage{Client: "hale-2"})
		s.inject(simulated.Crash{Instance: "a"})
		expect("one client is cut", 1, 0)
		lift()
		lift()
		expect("the connection is back, once", 0, 1)
	})
}

func TestTruthCountsCopies(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		s.build("a")
		second := order("b", 2)
		second.Name = "web-1-b"
		s.must(s.p.Create(s.Context(), second))
		if now, most := s.world.RunningCopies("web-1"), s.world.MaxRunningCopies("web-1"); now != 2 || most != 2 {
			s.Errorf("%d copies, at most %d, want 2 and 2", now, most)
		}
		s.inject(simulated.Paused{Instance: "a"})
		if now := s.world.RunningCopies("web-1"); now != 2 {
			s.Errorf("%d copies, want 2: a paused one can go on", now)
		}
		s.inject(simulated.Vanishes{Instance: "a"})
		s.must(s.p.PowerOff(s.Context(), second.Ref))
		if now, most := s.world.RunningCopies("web-1"), s.world.MaxRunningCopies("web-1"); now != 0 || most != 2 {
			s.Errorf("%d copies, at most %d, want 0 and 2", now, most)
		}
		lives := s.world.Lives()
		if len(lives) != 2 || lives[0].Removed.IsZero() || !lives[1].Removed.IsZero() || lives[1].Runs[0].To.IsZero() {
			s.Errorf("lives: %+v", lives)
		}
		if harm := s.world.Harm(); len(harm) != 0 {
			s.Errorf("a machine that had not booted was harmed: %+v", harm)
		}
	})
}

func TestPlantedMachineIsThereToAdopt(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		s.must(s.world.Plant(fleet.Instance{ID: "old", Name: "web-1"}))
		if !s.world.Healthy("old") || s.listed("old") != fleet.PowerRunning {
			s.Error("it is not healthy from the start")
		}
		if err := s.p.Create(s.Context(), order("new", 1)); !fault.Is(err, fault.Conflict) {
			s.Errorf("create of its name: %v, want conflict", err)
		}
		if err := s.p.PowerOff(s.Context(), provider.Ref{ID: "old", Mark: order("x", 1).Mark}); !fault.Is(err,
			fault.Conflict) {
			s.Errorf("power off with a mark it does not bear: %v, want conflict", err)
		}
	})
}
