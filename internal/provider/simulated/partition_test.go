package simulated_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/probe"
	"hale/internal/provider/simulated"
)

// pings reports whether the machine answers a ping from there within a second.
func (s *stage) pings(from probe.Transport, id fleet.InstanceID) bool {
	s.Helper()
	i, ok := s.world.Instance("web-1")
	if !ok || i.ID != id {
		s.Fatalf("the world has %+v, and not %s", i, id)
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	return from.Ping(ctx, i.Address) == nil
}

// What one vantage cannot see is well; what none can see is not.
func TestWhoSeesAMachineBehindABrokenNetwork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault                 simulated.Fault
		near, other, anywhere bool
		healthy               bool
	}{
		"nothing":         {simulated.LostEvents{}, true, true, true, true},
		"cut off":         {simulated.CutOff{}, false, false, false, false},
		"hidden from one": {simulated.OutOfSight{Client: "hale-1"}, false, true, true, true},
		"loses every probe": {simulated.Broken{Instance: "a", Illness: simulated.Illness{Symptom: simulated.LosesProbes,
			Share: 1}}, false, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, simulated.Options{}, func(s *stage) {
				s.build("a")
				lift := s.inject(c.fault)
				if got := s.pings(s.world.Vantage("hale-1"), "a"); got != c.near {
					s.Errorf("hale-1 reaches it: %v", got)
				}
				if got := s.pings(s.world.Vantage("hale-2"), "a"); got != c.other {
					s.Errorf("hale-2 reaches it: %v", got)
				}
				if got := s.pings(s.world, "a"); got != c.anywhere {
					s.Errorf("its peers reach it: %v", got)
				}
				if got := s.world.Healthy("a"); got != c.healthy {
					s.Errorf("it is healthy: %v", got)
				}
				lift()
				if !s.pings(s.world.Vantage("hale-1"), "a") || !s.world.Healthy("a") {
					s.Error("it is not as it was")
				}
			})
		})
	}
}

// A machine that moves leaves its name and its host's troubles behind.
func TestAMachineThatMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, world: simulated.NewWorld(simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}})}
		s.p = s.world.Open("hale-1")
		defer s.p.Close()
		first, second := order("a", 1), order("b", 2)
		first.Host, second.Host, second.Name = "h1", "h1", "web-2"
		s.must(s.p.Create(t.Context(), first))
		time.Sleep(2 * time.Second)
		s.inject(simulated.CutOff{Host: "h1"})
		if !s.world.Migrate("a", "h2") || !s.world.Healthy("a") {
			t.Error("it did not leave the host that is cut off")
		}
		s.must(s.p.Create(t.Context(), second))
		s.must(s.world.Plant(fleet.Instance{ID: "c", Host: "h1", Name: first.Name}))
		if s.world.Migrate("c", "h2") {
			t.Error("two machines of one name on one host")
		}
		time.Sleep(2 * time.Second)
		if s.world.Healthy("b") {
			t.Error("built on a host that is cut off, and healthy")
		}
	})
}

// A call says for how long its victim had served when the call was sent.
func TestACallSaysHowLongItsVictimServed(t *testing.T) {
	play(t, simulated.Options{Latency: time.Second}, func(s *stage) {
		o := s.build("a") // takes effect after half a second, serves two later
		time.Sleep(10 * time.Second)
		lift := s.inject(simulated.Broken{Instance: "a", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.must(s.p.Reboot(s.Context(), o.Ref))
		time.Sleep(5 * time.Second)
		s.must(s.p.Reboot(s.Context(), o.Ref))
		lift()
		s.inject(simulated.OutOfSight{Client: "hale-1"})
		s.must(s.p.PowerOff(s.Context(), o.Ref))
		calls := s.world.Calls()
		if !calls[3].Unseen || calls[2].Unseen {
			s.Errorf("unseen: %v before it was hidden, %v after", calls[2].Unseen, calls[3].Unseen)
		}
		for i, want := range []time.Duration{0, 0, 3500 * time.Millisecond} {
			if got := calls[i].Served; got != want {
				s.Errorf("%s: its victim had served for %v when it was sent, want %v", calls[i].Op, got, want)
			}
			if took := calls[i].At.Sub(calls[i].Sent); took != 500*time.Millisecond {
				s.Errorf("%s took %v to arrive", calls[i].Op, took)
			}
		}
	})
}

// A person mends what hale left to them.
func TestAPersonMends(t *testing.T) {
	play(t, simulated.Options{}, func(s *stage) {
		s.build("a")
		s.inject(simulated.Broken{Instance: "a", Illness: simulated.Illness{Symptom: simulated.NeverBoots,
			Cure: simulated.ByRecreate}})
		s.inject(simulated.Crash{Instance: "a"})
		s.inject(simulated.PersonMends{Instance: "a"})
		time.Sleep(2 * time.Second)
		if !s.world.Healthy("a") || s.world.MaxRunningCopies("web-1") != 1 {
			s.Error("it is not mended")
		}
	})
}
