package engine_test

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/memory"
)

// storeCopied returns a copy of the story's store, as of its folder while no hale runs on it: leases were given back,
// or revoked.
func (s *story) storeCopied() *memory.Backing {
	s.t.Helper()
	to := memory.New(memory.Options{})
	var all iter.Seq2[state.Write, error] = func(yield func(state.Write, error) bool) {
		for e, err := range state.Scan(s.t.Context(), s.backing.Open(nil), "") {
			if !strings.HasSuffix(e.Key, "/owner") && !yield(state.Put(e.Key, e.Value), err) {
				return
			}
		}
	}
	if err := state.CommitAll(s.t.Context(), to.Open(nil), all); err != nil {
		s.t.Fatal(err)
	}
	return to
}

func (s *story) noted() []fleet.StartName { return s.world.Noted(s.installation()) }

// olderPages counts what a person was told of a store that is older than the world.
func (s *story) olderPages() int { return s.count(because(record.Paged, fleet.ReasonStoreOlder)) }

// by returns the calls that took effect, of the client.
func (s *story) by(client string, since time.Time) (calls []simulated.Call) {
	for _, c := range s.world.Calls() {
		if c.Client == client && c.Effect && !c.At.Before(since) {
			calls = append(calls, c)
		}
	}
	return calls
}

// dies lets the machine lose its disk: only a new instance helps.
func (s *story) dies(n int) {
	s.t.Helper()
	s.inject(simulated.Broken{Instance: s.id(n), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
}

// replaces lets the machine die, and waits until it is healed by another instance.
func (s *story) replaces(n int) {
	s.t.Helper()
	old := s.id(n)
	s.dies(n)
	s.await(15*time.Minute, "it is replaced", func() bool { return s.healthy(n) && s.machine(n).Current.ID != old })
}

func recreating(size int) policy.Spec { return ladder(web(size), fleet.StepRecreate) }

// Point 2 of L1: a copy of the store is started while the first hale runs. The first of the two that must build or
// destroy does so, and the other one finds its note: only one of them ever acts on, and a person is told once.
func TestL1TwoHalesOnCopiesOfOneStoreDoNotBothAct(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, recreating(3), func(s *story) {
		s.grown()
		other := &story{t: s.t, world: s.world, transport: s.transport, spec: s.spec, backing: s.storeCopied()}
		other.hale = other.controller("hale-copy")
		defer other.kill()
		other.await(time.Minute, "the copy sees the fleet", other.allHealthy)
		s.pass(2 * time.Minute)
		if s.olderPages()+other.olderPages() != 0 || len(s.noted()) != 1 {
			t.Fatalf("nothing was to be done, and %v are noted", s.noted())
		}
		for n := 1; n <= 3; n++ {
			began := time.Now()
			s.dies(n)
			s.pass(10 * time.Minute)
			if one, two := len(s.by("hale-1", began)), len(s.by("hale-copy", began)); one > 0 && two > 0 ||
				one+two == 0 {
				t.Errorf("for machine %d one hale did %d calls, and the other %d", n, one, two)
			}
		}
		if n := s.olderPages() + other.olderPages(); n != 1 {
			t.Errorf("%d pages, and %v are noted", n, s.noted())
		}
		if a, b := s.status().Whole.Older, other.status().Whole.Older; (a == nil) == (b == nil) {
			t.Errorf("not one of the two is held: %+v, %+v", a, b)
		}
	})
}

// The older of two is held by the note of the copy that acted, although nothing that was built is there to be seen. A
// person who has it go on must not get two that act: its start is a new one then, which the copy does not know.
func TestL1OfTwoCopiesABelievedOneStopsTheOther(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, recreating(3), func(s *story) {
		s.grown()
		other := &story{t: s.t, world: s.world, transport: s.transport, spec: s.spec, backing: s.storeCopied()}
		other.hale = other.controller("hale-copy")
		defer other.kill()
		other.await(time.Minute, "the copy sees the fleet", other.allHealthy)
		s.pass(time.Minute)
		s.holds(fleet.Order{}, time.Hour)
		began := time.Now()
		s.inject(simulated.Calls{Op: fleet.OpPowerOff, Client: "hale-copy", Effect: simulated.Fails})
		s.dies(1)
		s.await(10*time.Minute, "the copy is about to act", func() bool { return len(s.noted()) == 2 })
		s.await(time.Minute, "the older one finds its note", func() bool { return s.status().Whole.Older != nil })
		known := s.noted()
		if o := s.status().Whole.Older; o.Start != known[1] || len(s.by("hale-copy", began)) != 0 {
			t.Fatalf("held by %+v", o)
		}
		s.orders(fleet.Order{Kind: fleet.OrderRecover, Believe: true})
		s.await(time.Minute, "the copy finds that the older one goes on",
			func() bool { return other.status().Whole.Older != nil })
		if s.status().Whole.Older != nil || slices.Contains(known, other.status().Whole.Older.Start) {
			t.Errorf("held are %+v and %+v", s.status().Whole.Older, other.status().Whole.Older)
		}
		s.orders(fleet.Order{Kind: fleet.OrderRelease})
		s.await(15*time.Minute, "the older one heals", s.allHealthy)
		if calls := s.by("hale-copy", began); len(calls) != 0 || s.olderPages()+other.olderPages() != 2 {
			t.Errorf("%d pages, and the copy did %v", s.olderPages()+other.olderPages(), calls)
		}
	})
}

// A store that was put back does not know the start that was noted since. Nothing is built or destroyed, a person is
// told once, and his word that the world is to be believed lets hale go on, also through the next start.
func TestL1ARestoredStoreActsOnlyWhenAPersonSaysSo(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, recreating(3), func(s *story) {
		s.grown()
		s.kill()
		old := s.storeCopied()
		s.start()
		s.pass(time.Minute)
		s.replaces(1)
		if len(s.noted()) != 2 {
			t.Fatalf("noted are %v", s.noted())
		}
		s.kill()
		s.backing = old
		began := time.Now()
		s.start()
		s.pass(time.Minute)
		if n := s.olderPages(); n != 1 {
			t.Errorf("%d pages", n)
		}
		s.dies(2)
		s.pass(30 * time.Minute)
		if calls := s.by("hale-1", began); len(calls) != 0 || s.olderPages() != 1 {
			t.Errorf("%d pages, and by a store that is older than the world: %+v", s.olderPages(), calls)
		}
		s.orders(fleet.Order{Kind: fleet.OrderRecover, Believe: true})
		s.await(10*time.Minute, "it is healed", s.allHealthy)
		s.kill()
		s.start()
		s.pass(time.Minute)
		s.replaces(3)
		if n := s.olderPages(); n != 1 {
			t.Errorf("%d pages in the end", n)
		}
	})
}

// While nobody answers where starts are noted, hale watches and starts what is off; it builds and destroys nothing,
// says why, and goes on when the place is back.
func TestL1WhileThePlaceOfStartsIsSilentNothingIsBuiltOrDestroyed(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]fleet.Op{"it is not read": provider.OpStarts,
		"it is not written": provider.OpNoteStart} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := ladder(web(3), fleet.StepStart, fleet.StepRecreate)
			tell(t, simulated.Options{}, spec, func(s *story) {
				s.grown()
				s.kill()
				lift := s.inject(simulated.Calls{Op: op, Effect: simulated.Fails})
				s.start()
				s.pass(2 * time.Minute)
				began := time.Now()
				s.inject(simulated.Crash{Instance: s.id(1)})
				s.await(5*time.Minute, "what is off is started", func() bool {
					return len(s.calls(fleet.OpStart,
						began)) == 1 && s.healthy(1)
				})
				s.dies(2)
				s.pass(30 * time.Minute)
				for _, c := range s.by("hale-1", began) {
					if c.Op.Rolled() {
						t.Errorf("%s of %s all the same", c.Op, c.Machine)
					}
				}
				if m := s.machine(2); m.Waiting != fleet.ReasonPlaceSilent && op == provider.OpStarts {
					t.Errorf("it waits for %q", m.Waiting)
				}
				if s.olderPages() != 0 {
					t.Error("silence was taken for an older store")
				}
				lift()
				s.await(10*time.Minute, "it is healed", s.allHealthy)
			})
		})
	}
}

// Nothing is written at the provider's by a hale that only watches, by one that looks after machines which must not be
// replaced, or by one that has nothing to build or destroy.
func TestStartsAreNotedBeforeTheFirstBuildOrDestructionOnly(t *testing.T) {
	t.Parallel()
	t.Run("it only watches", func(t *testing.T) {
		t.Parallel()
		spec := web(2)
		spec.Mode = policy.ModeObserve
		tell(t, simulated.Options{}, spec, func(s *story) {
			s.start()
			s.pass(10 * time.Minute)
			if len(s.noted()) != 0 {
				t.Errorf("noted are %v", s.noted())
			}
		})
	})
	t.Run("its machines existed before", func(t *testing.T) {
		t.Parallel()
		tell(t, simulated.Options{}, db(), func(s *story) {
			s.existing("db-a", "db-b")
			s.adopts("db-a", "db-b")
			s.inject(simulated.Crash{Instance: "db-a"})
			s.await(5*time.Minute, "it is healed", s.adopted("db-a", "db-b"))
			s.pass(5 * time.Minute)
			if len(s.noted()) != 0 || len(s.calls(fleet.OpStart, time.Time{})) == 0 {
				t.Errorf("noted are %v", s.noted())
			}
		})
	})
	t.Run("nothing is to be built", func(t *testing.T) {
		t.Parallel()
		tell(t, simulated.Options{}, web(2), func(s *story) {
			s.grown()
			first := s.noted()
			s.kill()
			s.start()
			s.pass(10 * time.Minute)
			if len(first) != 1 || !slices.Equal(s.noted(), first) {
				t.Errorf("noted were %v, and are %v", first, s.noted())
			}
		})
	})
}

// Old notes go, and the store still knows what is left.
func TestOnlyTheLatestNotesStand(t *testing.T) {
	t.Parallel()
	spec := recreating(1)
	spec.Repair.Attempts = 0 // as many as it takes
	tell(t, simulated.Options{}, spec, func(s *story) {
		for range 9 {
			s.grown()
			s.replaces(1)
			s.kill()
		}
		if n := len(s.noted()); n != 5 || s.noted()[4].Number() != 9 || s.olderPages() != 0 {
			t.Errorf("noted are %v, %d pages", s.noted(), s.olderPages())
		}
	})
}

// Nothing is built on a host before its notes were heard, and one that was off when hale began gets the note when it is
// back.
func TestEachHostHasTheNoteBeforeSomethingIsDoneThere(t *testing.T) {
	t.Parallel()
	hosts := []fleet.HostName{"h1", "h2"}
	tell(t, simulated.Options{Hosts: hosts}, recreating(4), func(s *story) {
		s.grown()
		s.kill()
		back := s.inject(simulated.HostUnreachable{Host: "h2"})
		s.start()
		s.pass(time.Minute)
		on := func(host fleet.HostName) (n int) {
			for n = 1; n <= 4; n++ {
				if i, _ := s.world.Instance(s.spec.Name.Machine(n)); i.Host == host {
					return n
				}
			}
			return 0
		}
		s.replaces(on("h1"))
		back()
		s.pass(5 * time.Minute)
		s.replaces(on("h2"))
		found, err := s.world.Open("person").Starts(s.t.Context(), s.installation())
		if err != nil || len(found["h2"]) != 2 || len(found["h1"]) != 2 {
			t.Errorf("noted are %v, %v", found, err)
		}
	})
}
