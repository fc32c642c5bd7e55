package engine_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/inbox"
	"hale/internal/state/journal"
)

// orders posts an order, as the API does.
func (s *story) orders(o fleet.Order) fleet.Order {
	s.t.Helper()
	var err error
	if o.ID, err = inbox.NewID(); err != nil {
		s.t.Fatal(err)
	}
	o.Fleet, o.By, o.At = s.spec.Name, "alice", time.Now().UTC()
	if o.Kind.PermitsHarm() {
		o.Expires = o.At.Add(fleet.OrderLife)
	}
	s.give(o)
	return o
}

func (s *story) holds(what fleet.Order, d time.Duration) {
	s.t.Helper()
	what.Kind, what.For, what.Reason = fleet.OrderHold, d, "planned work"
	s.orders(what)
	s.pass(time.Second)
}

// inInbox counts the letters that wait.
func (s *story) inInbox() int {
	s.t.Helper()
	letters, _, err := inbox.Pending(s.t.Context(), s.backing.Open(nil), s.spec.Name)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(letters)
}

// dead returns the dead letters.
func (s *story) dead() []inbox.Dead {
	s.t.Helper()
	dead, err := inbox.DeadLetters(s.t.Context(), s.backing.Open(nil), s.spec.Name)
	if err != nil {
		s.t.Fatal(err)
	}
	return dead
}

func TestAHeldMachineIsHealedWhenTheHoldIsOver(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.holds(fleet.Order{Machine: "web-2"}, time.Hour)
		if s.inInbox() != 0 || len(s.status().Whole.Holds) != 1 {
			t.Fatalf("%d letters wait, and the holds are %+v", s.inInbox(), s.status().Whole.Holds)
		}
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(50 * time.Minute)
		if m := s.machine(2); s.heals(2) != 0 || m.Waiting != fleet.ReasonHold {
			t.Errorf("%d repairs, and it waits for %q", s.heals(2), m.Waiting)
		}
		s.await(11*time.Minute, "it is healed", func() bool { return s.healthy(2) })
	})
}

// A hold against scale-in alone does not keep a machine from being healed.
func TestAMachineHeldAgainstScaleInIsHealed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.holds(fleet.Order{Machine: "web-2", Only: fleet.HoldScaleIn}, 3*time.Hour)
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(10*time.Minute, "it is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		s.holds(fleet.Order{Machine: "web-2"}, time.Hour)
		if holds := s.status().Whole.Holds; len(holds) != 2 {
			t.Errorf("a hold against everything took the place of the other one: %+v", holds)
		}
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(50 * time.Minute)
		if s.heals(2) != 1 {
			t.Errorf("%d repairs of what is held against everything", s.heals(2))
		}
		s.await(15*time.Minute, "it is healed", func() bool { return s.heals(2) == 2 && s.healthy(2) })
	})
}

// Status shows since when a machine starts: from the order to start it, however long it was ill before.
func TestAMachineIsStartingSinceItsStartBegan(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.holds(fleet.Order{Machine: "web-2"}, time.Hour)
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(2*time.Hour, "it starts", func() bool { return s.machine(2).Health.Verdict == belief.VerdictStarting })
		if ago := time.Since(s.machine(2).Health.Since); ago > time.Minute {
			t.Errorf("it is starting for %v", ago)
		}
	})
}

// A hold that was given while nobody owned the fleet, and one that the owner took up before it died, both stand, for
// their whole time by the owner's clock.
func TestHoldsOutliveOwners(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.holds(fleet.Order{Machine: "web-1"}, 2*time.Hour)
		s.kill()
		s.orders(fleet.Order{Kind: fleet.OrderHold, Machine: "web-2", For: 2 * time.Hour, Reason: "r"})
		s.pass(30 * time.Minute)
		s.start()
		s.pass(time.Minute)
		s.inject(simulated.Crash{Instance: s.id(1)})
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(85 * time.Minute)
		if s.heals(1) != 0 || s.heals(2) != 0 {
			t.Errorf("%d and %d repairs of what is held", s.heals(1), s.heals(2))
		}
		s.await(10*time.Minute, "the first one is healed", func() bool { return s.healthy(1) })
		if s.heals(2) != 0 {
			t.Error("the second one's time counts from when it was taken up")
		}
		s.await(time.Hour, "the second one, too", func() bool { return s.healthy(2) })
	})
}

// What is believed changes, and what is written of it is as long as before: it is written all the same, and the next
// owner knows it.
func TestABeliefThatChangesAtEqualLengthIsWritten(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		written := func() (n int) {
			for _, e := range s.stored() {
				if e.Key == beliefs.WholeKey(s.spec.Name) {
					n = len(e.Value)
				}
			}
			return n
		}
		s.holds(fleet.Order{Name: "power", Machine: "web-1"}, time.Hour)
		before := written()
		s.holds(fleet.Order{Name: "power", Machine: "web-2"}, time.Hour)
		if after := written(); after != before {
			t.Fatalf("%d bytes are written, and were %d: choose other words", after, before)
		}
		s.kill()
		s.start()
		s.await(time.Minute, "the next owner knows the hold", func() bool {
			held := s.status().Whole.Holds
			return len(held) == 1 && held[0].Machine == "web-2"
		})
	})
}

// A hold of a name moves with it: what it held before is judged at once, and what it holds now is left alone, until the
// name is released, by another person too. A hold without a name is another one.
func TestAHoldOfANameMovesWithIt(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.holds(fleet.Order{Name: "power", Machine: "web-1"}, time.Hour)
		s.holds(fleet.Order{Machine: "web-1"}, time.Minute)
		s.holds(fleet.Order{Name: "power", Machine: "web-2", By: "bob"}, 2*time.Hour)
		s.inject(simulated.Crash{Instance: s.id(1)})
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(10*time.Minute, "the first one is healed", func() bool { return s.healthy(1) && s.heals(1) == 1 })
		if held := s.status().Whole.Holds; s.heals(2) != 0 || len(held) != 1 || held[0].Name != "power" {
			t.Errorf("%d repairs of what is held; holds: %+v", s.heals(2), held)
		}
		s.orders(fleet.Order{Kind: fleet.OrderRelease, Name: "power", By: "alice"})
		s.await(10*time.Minute, "the second one, too", func() bool { return s.healthy(2) && s.heals(2) == 1 })
	})
}

// The clock is set forward by an hour: no hold gets shorter (L15), also not for the next owner.
func TestL15NoStepOfTheClockShortensAHold(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.holds(fleet.Order{Machine: "web-2"}, 30*time.Minute)
		s.hale.engine.StepClock(time.Hour)
		s.pass(10 * time.Second)
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(25 * time.Minute)
		if s.heals(2) != 0 {
			t.Error("the hold was shortened")
		}
		s.await(6*time.Minute, "it is healed", func() bool { return s.healthy(2) })
	})
}

// Everything that is no order, and every order that cannot be, ends as a dead letter with its reason, and nothing else
// stops.
func TestLettersThatAreNoOrdersArePutAside(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		var junk []state.Write
		for _, k := range []string{"a", "b", "0"} {
			junk = append(junk, state.Put("inbox/web/"+k, []byte("dance!")))
		}
		if _, err := s.backing.Open(nil).Commit(t.Context(), state.Txn{Then: junk}); err != nil {
			t.Fatal(err)
		}
		s.orders(fleet.Order{Kind: fleet.OrderRetry, Machine: "web-9"})
		s.orders(fleet.Order{Kind: fleet.OrderRetry, Machine: "web-2"})
		s.holds(fleet.Order{}, time.Minute)
		s.pass(5 * time.Second)
		why := map[fleet.Reason]int{}
		for _, d := range s.dead() {
			why[d.Reason]++
		}
		if s.inInbox() != 0 || why[fleet.ReasonMalformed] != 3 || why[fleet.ReasonUnknownSubject] != 1 ||
			why[fleet.ReasonNotQuarantined] != 1 || len(s.dead()) != 5 {
			t.Errorf("%d letters wait, and dead are %v", s.inInbox(), why)
		}
		if len(s.status().Whole.Holds) != 1 {
			t.Error("the hold behind them was lost")
		}
	})
}

// More orders than fit into one transaction are taken up one after the other.
func TestManyOrdersAtOnce(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		for range 150 {
			s.orders(fleet.Order{Kind: fleet.OrderHold, Machine: "web-2", For: time.Hour, Reason: "r"})
			s.orders(fleet.Order{Kind: fleet.OrderRetry, Machine: "web-1"})
		}
		s.pass(5 * time.Second)
		if s.inInbox() != 0 || len(s.status().Whole.Holds) != 1 || len(s.dead()) != 150 {
			t.Errorf("%d letters wait, %d holds, %d dead", s.inInbox(), len(s.status().Whole.Holds), len(s.dead()))
		}
	})
}

// S22: a machine that hale gave up for good, without an instance, gets another try from the beginning when a person
// says so.
func TestS22APersonOrdersAnotherTry(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.Fails, Kind: fault.Quota})
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(time.Hour, "quarantine", func() bool { return s.machine(2).Quarantine != nil })
		if !s.machine(2).Current.None() {
			t.Fatal("it has an instance")
		}
		lift()
		s.pass(time.Hour)
		if s.machine(2).Quarantine == nil {
			t.Fatal("it left quarantine by itself")
		}
		s.orders(fleet.Order{Kind: fleet.OrderRetry, Machine: "web-2"})
		s.await(5*time.Minute, "it is built anew", func() bool { return s.healthy(2) })
		if pages := s.count(kind(record.Paged)); pages != 1 {
			t.Errorf("%d pages", pages)
		}
	})
}

// L10: a hold of a host covers what hale put aside there, wherever the machine itself is by now.
func TestL10WhatLiesOnAHeldHostIsLeftAlone(t *testing.T) {
	t.Parallel()
	spec := keeper(3)
	spec.Repair.Steps[0].KeepOld = time.Hour
	for name, kind := range map[string]fleet.OrderKind{"its time is over": "", "undo": fleet.OrderUndo} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, spec, func(s *story) {
				s.grown()
				alone := func(n int) bool {
					return !slices.ContainsFunc([]int{1, 2, 3}, func(k int) bool {
						return k != n &&
							s.machine(k).Current.Host == s.machine(n).Current.Host
					})
				}
				n := slices.IndexFunc([]int{1, 2, 3}, func(n int) bool { return !alone(n) }) + 1
				s.replaced(n)
				m := s.machine(n)
				old := m.Kept[0]
				if m.Current.Host == old.Host {
					t.Fatal("it was built on the same host")
				}
				s.holds(fleet.Order{Host: old.Host}, 3*time.Hour)
				began := time.Now()
				if kind != "" {
					s.orders(fleet.Order{Kind: kind, Machine: m.Name})
				}
				s.pass(2 * time.Hour)
				for _, c := range slices.Concat(s.calls(fleet.OpDelete, began), s.calls(fleet.OpRestore, began),
					s.calls(fleet.OpStart, began)) {
					if c.Instance == old.ID {
						t.Errorf("%s is held, and there is %s of %s", old.Host, c.Op, c.Instance)
					}
				}
			})
		})
	}
}

// A fleet in which nothing happens loses its old records all the same, when their time is over.
func TestAQuietFleetsOldRecordsFade(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.spec.History = 10 * time.Minute
		s.grown()
		for range journal.KeepLeast / 2 {
			s.orders(fleet.Order{Kind: fleet.OrderHold, Machine: "web-1", For: time.Minute, Reason: "drill"})
			s.orders(fleet.Order{Kind: fleet.OrderRelease, Machine: "web-1"})
			s.pass(time.Second)
		}
		if was := len(s.records()); was <= journal.KeepLeast {
			t.Errorf("%d records are there: there is nothing to lose", was)
		}
		s.pass(2 * time.Hour)
		if left := s.records(); len(left) != journal.KeepLeast {
			t.Errorf("%d records are left, the first is %+v", len(left), left[0])
		}
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(time.Minute, "web-2 is healed", func() bool { return s.healthy(2) && s.heals(2) == 1 })
	})
}
