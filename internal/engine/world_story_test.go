package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/engine"
	"hale/internal/engine/takeover"
	"hale/internal/probe/netprobe"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/memory"
)

// threeHosts is a world with room to move machines to.
func threeHosts() simulated.Options {
	return simulated.Options{Hosts: []fleet.HostName{"h1", "h2", "h3"}}
}

// restored ends hale as a crash does, and starts it again on the other store.
func (s *story) restored(on *memory.Backing) {
	s.t.Helper()
	s.kill()
	s.backing = on
	s.start()
}

// installation is the id of the story's store.
func (s *story) installation() fleet.Installation {
	s.t.Helper()
	id, err := beliefs.Installation(s.t.Context(), s.backing.Open(nil))
	if err != nil || id == "" {
		s.t.Fatalf("the store is installation %q: %v", id, err)
	}
	return id
}

// ordered returns how many calls that change something were sent since the time, whatever became of them.
func (s *story) ordered(since time.Time) []simulated.Call {
	return slices.DeleteFunc(s.world.Calls(), func(c simulated.Call) bool { return c.At.Before(since) })
}

// pages returns why a person was told, without repetition, and how often.
func (s *story) pages() map[fleet.Reason]int {
	out := map[fleet.Reason]int{}
	s.count(func(r record.Record) bool {
		if r.Kind == record.Paged {
			out[r.Reason]++
		}
		return false
	})
	return out
}

// keepsStill: for the time nothing is ordered, and a person is told once, for this reason and no other.
func (s *story) keepsStill(d time.Duration, told fleet.Reason) {
	s.t.Helper()
	at := time.Now()
	s.pass(d)
	if calls := s.ordered(at); len(calls) > 0 {
		s.t.Errorf("%d calls, the first one %+v", len(calls), calls[0])
	}
	if p := s.pages(); len(p) != 1 || p[told] != 1 {
		s.t.Errorf("a person was told %v, and not once %s", p, told)
	}
}

// believes has a person order to believe the world, and waits until that was taken up.
func (s *story) believes() {
	s.t.Helper()
	o := s.orders(fleet.Order{Kind: fleet.OrderRecover, Believe: true})
	s.await(time.Minute, "the world is believed", func() bool {
		return s.count(func(r record.Record) bool {
			return r.Order == o.ID && r.Kind == record.Order &&
				r.Reason == ""
		}) == 1
	})
}

// ids returns the true instances of the fleet's machines.
func (s *story) ids() []fleet.InstanceID {
	var out []fleet.InstanceID
	for n := 1; n <= s.spec.Size; n++ {
		out = append(out, s.id(n))
	}
	return out
}

// movedOn has a person move every machine to the next host.
func (s *story) movedOn() {
	s.t.Helper()
	next := map[fleet.HostName]fleet.HostName{"h1": "h2", "h2": "h3", "h3": "h1"}
	for n := 1; n <= s.spec.Size; n++ {
		i, _ := s.world.Instance(s.spec.Name.Machine(n))
		s.world.Migrate(i.ID, next[i.Host])
	}
}

func (s *story) takesOver(of fleet.Installation) error {
	s.t.Helper()
	_, err := s.hale.engine.TakeOver(s.t.Context(), takeover.Wish{Installation: of, By: "alice",
		Reason: "its data folder is lost"})
	return err
}

// generationsRise: what fails is healed by the machine's next generation.
func (s *story) generationsRise(n int) {
	s.t.Helper()
	was := s.machine(n).Generation
	old := s.id(n)
	s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.NoNetwork,
		Cure: simulated.ByRecreate}})
	s.await(5*time.Minute, "what fails is healed", func() bool {
		return s.healthy(n) &&
			s.machine(n).Current.ID != old
	})
	if m := s.machine(n); m.Generation != was+1 || m.Current.Generation != was+1 {
		s.t.Errorf("generation %d follows on %d", m.Current.Generation, was)
	}
}

// L1: an empty store beside six machines of an earlier hale's, which a person moved since: nothing is built, and a
// person is told once. When the person has that hale taken over, all six are this one's as they are, and the next
// failure is healed by the next generation.
func TestL1AnEmptyStoreBuildsNothingBesideAnEarlierHale(t *testing.T) {
	t.Parallel()
	tell(t, threeHosts(), ladder(web(6), fleet.StepRecreate), func(s *story) {
		s.grown()
		s.generationsRise(2)
		earlier, were := s.installation(), s.ids()
		s.movedOn()
		s.restored(memory.New(memory.Options{}))
		s.keepsStill(20*time.Minute, fleet.ReasonInstallation)
		at := time.Now()
		if err := s.takesOver(earlier); err != nil {
			t.Fatal(err)
		}
		s.await(5*time.Minute, "all six are healthy", s.allHealthy)
		s.pass(5 * time.Minute)
		if calls := s.ordered(at); len(calls) > 0 {
			t.Errorf("something was touched: %+v", calls[0])
		}
		if is := s.ids(); !slices.Equal(is, were) || s.installation() != earlier {
			t.Errorf("they are %v, and were %v", is, were)
		}
		if m := s.machine(2); m.Generation != 2 || m.Current.Generation != 2 {
			t.Errorf("web-2 is taken for %+v", m.Current)
		}
		if p := s.pages(); len(p) != 1 || p[fleet.ReasonInstallation] != 1 {
			t.Errorf("a person was told %v", p)
		}
		s.generationsRise(2)
		s.oneInstanceEach()
	})
}

// L1: what the earlier hale had put aside is kept, and the disks that its machines keep are theirs again.
func TestL1ATakeOverKeepsDisksAndWhatWasPutAside(t *testing.T) {
	t.Parallel()
	spec := keeper(3)
	spec.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}, {Name: "root", Ephemeral: true}}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		old, earlier := s.replaced(2), s.installation()
		s.restored(memory.New(memory.Options{}))
		s.pass(5 * time.Minute)
		if err := s.takesOver(earlier); err != nil {
			t.Fatal(err)
		}
		s.await(5*time.Minute, "all are healthy", s.allHealthy)
		m := s.machine(2)
		if m.KeptAt(old) < 0 || m.Volumes == nil || len(m.Strays) > 0 {
			t.Fatalf("what was put aside, or the disks, are not the machine's: %+v", m)
		}
		disk := s.world.Attached(m.Current.ID)
		s.named = append(s.named, m.Current.ID)
		s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"})
		s.await(5*time.Minute, "the old one is back", func() bool {
			return s.healthy(2) &&
				s.machine(2).Current.ID == old
		})
		if back := s.world.Attached(old); len(disk) == 0 || len(back) != len(disk) {
			t.Errorf("it has the disks %v, and its successor had %v", back, disk)
		}
	})
}

// L1: a second hale is started with the same file and an empty store, beside one that runs: it builds nothing and tells
// a person, and the first one goes on healing.
func TestL1ASecondHaleWithTheSameFileBuildsNothing(t *testing.T) {
	t.Parallel()
	tell(t, threeHosts(), ladder(web(6), fleet.StepRecreate), func(s *story) {
		s.grown()
		second := &story{t: s.t, world: s.world, backing: memory.New(memory.Options{}), spec: s.spec,
			transport: s.world}
		second.hale = second.controller("hale-2")
		defer second.kill()
		s.pass(5 * time.Minute)
		for n := range 3 {
			s.generationsRise(n + 1)
			s.pass(2 * time.Minute)
		}
		s.pass(10 * time.Minute)
		s.oneInstanceEach()
		for _, c := range s.world.Calls() {
			if c.Client == "hale-2" {
				t.Fatalf("the second one did %+v", c)
			}
		}
		if p := second.pages(); p[fleet.ReasonInstallation] != 1 || p[fleet.ReasonStoreOlder] != 0 {
			t.Errorf("the second one told a person %v", p)
		}
		if p := s.pages(); len(p) != 0 {
			t.Errorf("the first one told a person %v", p)
		}
	})
}

// L1: a store is restored from before machines were rebuilt. Nothing is called, and a person is told once; when they
// have the world believed, the newest certified instance is the machine's, and the next failure is healed to one
// instance.
func TestL1AStoreRestoredFromBeforeARebuildIsHeld(t *testing.T) {
	t.Parallel()
	tell(t, threeHosts(), ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		backup := s.storeCopied()
		s.generationsRise(2)
		s.generationsRise(3)
		newest := s.ids()
		s.restored(backup)
		s.keepsStill(20*time.Minute, fleet.ReasonStoreOlder)
		s.inject(simulated.Crash{Instance: s.id(1)})
		at := time.Now()
		s.pass(10 * time.Minute)
		if calls := s.ordered(at); len(calls) > 0 {
			t.Errorf("in a fleet that is held, there was %+v", calls[0])
		}
		s.believes()
		s.await(10*time.Minute, "all is well", s.allHealthy)
		if is := s.ids(); is[1] != newest[1] || is[2] != newest[2] {
			t.Errorf("they are %v, and were %v", is, newest)
		}
		s.generationsRise(2)
		s.oneInstanceEach()
	})
}

// L1: the store loses its last two seconds right after an instance was asked for: the fleet is held until a person has
// the world believed, and no second instance is built. With disks that are kept, too.
func TestL1AStoreThatLosesItsLastWritesBuildsNoSecond(t *testing.T) {
	t.Parallel()
	plain := ladder(web(3), fleet.StepRecreate)
	disks := plain
	disks.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}, {Name: "root", Ephemeral: true}}
	keeping := keeper(3)
	keeping.Template.Disks = disks.Template.Disks
	for name, spec := range map[string]policy.Spec{"plain": plain, "with kept disks": disks,
		"with old instances put aside": keeping} {
		for _, lost := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 10 * time.Second} {
			t.Run(name+", "+lost.String(), func(t *testing.T) {
				t.Parallel()
				options := threeHosts()
				options.Latency = 300 * time.Millisecond
				options.Places = map[fleet.HostName]fleet.Place{"h1": {Storage: "s"}, "h2": {Storage: "s"},
					"h3": {Storage: "s"}}
				tell(t, options, spec, func(s *story) { s.losesItsLast(lost) })
			})
		}
	}
}

func (s *story) losesItsLast(lost time.Duration) {
	s.t.Helper()
	s.grown()
	s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
		Cure: simulated.ByRecreate}})
	const step = 100 * time.Millisecond
	began, before := time.Now(), []*memory.Backing{s.storeCopied()}
	for len(s.calls(fleet.OpCreate, began)) == 0 {
		if time.Since(began) > 5*time.Minute {
			s.t.Fatal("nothing is built")
		}
		s.pass(step)
		if before = append(before, s.storeCopied()); len(before) > int(lost/step)+1 {
			before = before[1:]
		}
	}
	at := time.Now()
	s.restored(before[0])
	s.pass(20 * time.Minute)
	if s.status().Whole.Older != nil {
		if calls := s.ordered(at.Add(time.Second)); len(calls) > 0 {
			s.t.Errorf("in a fleet that is held, there was %+v", calls[0])
		}
		if p := s.pages(); p[fleet.ReasonStoreOlder] != 1 {
			s.t.Errorf("a person was told %v", p)
		}
		s.believes()
	} else if lost > time.Second {
		s.t.Error("the store does not know the instance, and the fleet is not held")
	}
	s.await(20*time.Minute, "all is well", s.allHealthy)
	for n := 1; n <= s.spec.Size; n++ {
		if i := s.world.RunningCopies(s.spec.Name.Machine(n)); i != 1 {
			s.t.Errorf("%d instances of web-%d run", i, n)
		}
	}
	if c := len(s.calls(fleet.OpCreate, began)); c != 1 {
		s.t.Errorf("%d instances were built, and one was needed", c)
	}
}

// L1: the store loses the whole first build of a fleet, right after it was ordered. What was built then is the fleet's
// once a person has the world believed: nothing is built twice, and nothing that runs well is removed.
func TestL1AFirstBuildThatTheStoreLostIsTaken(t *testing.T) {
	t.Parallel()
	options := threeHosts()
	options.Latency = 300 * time.Millisecond
	tell(t, options, recreating(3), func(s *story) {
		s.start()
		s.pass(0)
		before := s.storeCopied()
		s.await(time.Minute, "all are ordered", func() bool { return len(s.calls(fleet.OpCreate, time.Time{})) == 3 })
		built := s.ids()
		s.restored(before)
		s.keepsStill(10*time.Minute, fleet.ReasonStoreOlder)
		s.believes()
		s.await(5*time.Minute, "all are healthy", s.allHealthy)
		if is := s.ids(); !slices.Equal(is, built) || len(s.calls(fleet.OpCreate, time.Time{})) != 3 {
			t.Errorf("they are %v, and %v were built", is, built)
		}
		s.generationsRise(2)
		s.oneInstanceEach()
	})
}

// L1: a store with machines of its own does not become another installation, nor does any become one that nothing
// listed names, or itself.
func TestL1WhatHasMachinesOfItsOwnTakesNothingOver(t *testing.T) {
	t.Parallel()
	tell(t, threeHosts(), web(3), func(s *story) {
		s.grown()
		own := s.installation()
		i := fleet.Instance{ID: "web-9-other", Name: "web-9-other", Host: "h1",
			Mark: fleet.Mark{Installation: "other", Fleet: "web", Machine: "web-2", Generation: 7}}
		if !s.world.Leave(i) {
			t.Fatal("the story is another one")
		}
		s.pass(10 * time.Second)
		for of, says := range map[fleet.Installation]string{
			"other": "has machines of its own", own: "is that installation",
			"nobody": "those that are listed bear [other]",
		} {
			if err := s.takesOver(of); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), says) {
				t.Errorf("take-over of %s: %v", of, err)
			}
		}
		s.pass(time.Minute)
		if s.installation() != own || !s.allHealthy() || s.count(because(record.Owner,
			fleet.ReasonTookOver)) != 1 {
			t.Error("it changed something")
		}
	})
}

// A take-over counts for all fleets: a fleet without an instance that bears the mark is not held for the starts that
// the earlier hale noted at their common provider. An earlier hale that runs all the same finds the start of its heir,
// and does nothing any more.
func TestATakeOverCountsForAllFleetsAndStopsAnEarlierHale(t *testing.T) {
	t.Parallel()
	tell(t, threeHosts(), recreating(3), func(s *story) {
		s.grown()
		earlier, first := s.installation(), &story{t: s.t, world: s.world, backing: s.backing, spec: s.spec,
			transport: s.world, hale: s.hale}
		defer first.kill()
		s.backing = memory.New(memory.Options{})
		s.hale = s.controller("hale-2")
		s.pass(time.Minute)
		setup, db := s.hale.setup(s.spec), web(1)
		db.Name, db.Mode = "db", policy.ModeObserve
		probes := netprobe.New(s.world, netprobe.Options{})
		ctx, stop := context.WithCancel(s.t.Context())
		defer stop()
		go func() { _ = probes.Run(ctx) }()
		setup.Fleets = append(setup.Fleets, engine.Fleet{Spec: db, Probes: probes})
		if err := s.hale.engine.Reload(s.t.Context(), setup); err != nil {
			t.Fatal(err)
		}
		s.pass(time.Minute)
		if err := s.takesOver(earlier); err != nil {
			t.Fatal(err)
		}
		s.await(5*time.Minute, "all are healthy", s.allHealthy)
		s.pass(2 * time.Minute)
		if f := s.hale.engine.Status()[1]; f.Spec.Name != "db" || f.Whole.Older != nil {
			t.Errorf("the other fleet is held: %+v", f.Whole.Older)
		}
		if f := first.status(); f.Whole.Older == nil {
			t.Error("the earlier hale, which runs, was not stopped")
		}
		s.generationsRise(2)
		s.pass(10 * time.Minute)
		s.oneInstanceEach()
	})
}

// A take-over that loses its answer is one all the same: what the store says counts, and all go on under that.
func TestATakeOverWhoseAnswerIsLostIsSeen(t *testing.T) {
	t.Parallel()
	tell(t, threeHosts(), web(3), func(s *story) {
		s.grown()
		earlier := s.installation()
		s.kill()
		s.backing = memory.New(memory.Options{})
		lose := false
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if lose && c.Op == memory.OpCommit && slices.ContainsFunc(c.Txn.Then,
				func(w state.Write) bool { return w.Key == "installation" }) {
				lose = false
				return memory.FailAfter
			}
			return memory.Normal
		}
		s.start()
		s.pass(time.Minute)
		lose = true
		synctest.Wait()
		if err := s.takesOver(earlier); err != nil {
			t.Fatal(err)
		}
		s.await(5*time.Minute, "all are healthy", s.allHealthy)
		if s.installation() != earlier || lose {
			t.Error("it was not lost, or not done")
		}
	})
}

// A take-over is asked of an engine that ends: nothing waits for ever.
func TestATakeOverOfAnEngineThatEndedIsRefused(t *testing.T) {
	t.Parallel()
	tell(t, threeHosts(), web(3), func(s *story) {
		s.grown()
		earlier := s.installation()
		s.restored(memory.New(memory.Options{}))
		s.pass(time.Minute)
		e := s.hale.engine
		s.kill()
		_, err := e.TakeOver(s.t.Context(), takeover.Wish{Installation: earlier, By: "alice"})
		if !fault.Is(err, fault.Conflict) || errors.Is(err, context.Canceled) {
			t.Errorf("it says %v", err)
		}
	})
}
