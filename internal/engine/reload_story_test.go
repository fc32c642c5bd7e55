package engine_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/engine"
	"hale/internal/fleet"
	"hale/internal/probe/netprobe"
	"hale/internal/provider/simulated"
)

// reload tells the running controller of an edited spec.
func (s *story) reload(how func(spec *fleet.Spec)) {
	s.t.Helper()
	s.spec.Checks = slices.Clone(s.spec.Checks)
	how(&s.spec)
	if err := s.hale.engine.Reload(s.t.Context(), s.hale.setup(s.spec)); err != nil {
		s.t.Fatal(err)
	}
	s.pass(time.Second)
}

// S10, and a reload without a gap: what is known by checks that are as they were stays known, epochs and counts included.
func TestAReloadDisturbsNothingThatDidNotChange(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		before, epoch := len(s.records()), s.machine(2).Epoch
		s.reload(func(spec *fleet.Spec) { spec.Limits.InRepair = 2 })
		s.pass(30 * time.Second)
		for _, r := range s.records()[before:] {
			if r.Kind != fleet.RecordChange {
				s.t.Errorf("a policy is edited, and this happens: %+v", r)
			}
		}
		if s.machine(2).Epoch != epoch {
			s.t.Error("a machine is judged afresh although nothing about it changed")
		}
		if s.status().Spec.Limits.InRepair != 2 {
			s.t.Error("the edited policy is not in force")
		}
	})
}

func TestAChangedCheckBeginsAnewAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Ports: []uint16{80, 8080}}, web(3), func(s *story) {
		s.grown()
		since := s.check(2, "alive").Since
		s.reload(func(spec *fleet.Spec) {
			for i := range spec.Checks {
				if spec.Checks[i].Name == "page" {
					spec.Checks[i].Port = 8080
				}
			}
		})
		if got := s.check(2, "alive"); got.Standing != fleet.StandingUp || got.Since != since {
			s.t.Errorf("a check that is as it was began anew: %+v", got)
		}
		s.await(time.Minute, "the changed check is known again", func() bool { return s.check(2, "page").Standing == fleet.StandingUp })
		for _, r := range s.records() {
			if r.Kind == fleet.RecordVerdict && r.Verdict == fleet.VerdictUnhealthy {
				s.t.Errorf("a change of a check looks like a failure: %+v", r)
			}
		}
	})
}

// check returns how the check of the machine stands.
func (s *story) check(n int, name fleet.CheckName) fleet.CheckState {
	for _, v := range s.status().Machines {
		for _, c := range v.Checks {
			if v.Machine.Name == s.spec.Name.Machine(n) && c.Check == name {
				return c
			}
		}
	}
	return fleet.CheckState{}
}

// S10: what is no longer in the file is not probed any more, and nothing is healed.
func TestAFleetThatLeavesIsLetGoWithinOneInterval(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		setup := s.hale.setup(s.spec)
		setup.Fleets = nil
		if err := s.hale.engine.Reload(s.t.Context(), setup); err != nil {
			s.t.Fatal(err)
		}
		if n := len(s.hale.probes.Snapshot()); n != 0 {
			s.t.Errorf("%d checks are still probed", n)
		}
		calls := len(s.world.Calls())
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(10 * time.Minute)
		if n := len(s.world.Calls()); n != calls {
			s.t.Errorf("%d calls after the fleet was let go", n-calls)
		}
		records := s.records()
		if last := records[len(records)-1]; last.Reason != fleet.ReasonFleetLeft {
			s.t.Errorf("the last record is %+v", last)
		}
	})
}

func TestAFleetThatComesBackIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		ids := []fleet.InstanceID{s.id(1), s.id(2), s.id(3)}
		setup := s.hale.setup(s.spec)
		fleets := setup.Fleets
		setup.Fleets = nil
		for _, next := range [][]engine.Fleet{nil, fleets} {
			setup.Fleets = next
			if err := s.hale.engine.Reload(s.t.Context(), setup); err != nil {
				s.t.Fatal(err)
			}
		}
		s.await(time.Minute, "it is looked after again", s.allHealthy)
		if now := []fleet.InstanceID{s.id(1), s.id(2), s.id(3)}; !slices.Equal(ids, now) {
			s.t.Errorf("its machines are %v, and were %v", now, ids)
		}
	})
}

func TestAFleetGrowsAtAReloadAndAfterOneDestroysNothing(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.reload(func(spec *fleet.Spec) { spec.Size = 5 })
		s.await(5*time.Minute, "five stand", func() bool { return s.healthy(4) && s.healthy(5) })
		s.reload(func(spec *fleet.Spec) {
			spec.Size = 2
			spec.Template.Image = "another"
		})
		stays := func(when string) {
			status := s.status()
			if status.Spec.Size != 5 || len(status.Machines) != 5 || status.Wanted.Size != 2 {
				s.t.Errorf("%s: size %d in force, %d machines, %d wanted", when, status.Spec.Size, len(status.Machines), status.Wanted.Size)
			}
			p := status.Pending()
			if p.From != 5 || p.To != 2 || !p.Template || len(p.Remove) != 3 || p.Remove[0].Machine != "web-5" || len(p.Replace) != 2 {
				s.t.Errorf("%s: the plan that waits is %+v", when, p)
			}
		}
		s.pass(time.Minute)
		stays("after the reload")
		s.kill()
		s.start()
		s.await(time.Minute, "the next controller has looked", func() bool { return s.healthy(5) })
		stays("after a restart with the edited file")
		s.inject(simulated.Vanishes{Instance: s.id(5)})
		s.await(10*time.Minute, "it is healed although the file speaks of fewer", func() bool { return s.healthy(5) })
		for _, l := range s.world.Lives() {
			if l.Image == "another" {
				s.t.Errorf("%s is built from a template that nobody confirmed", l.Name)
			}
		}
	})
}

func TestAFleetIsHealedOverAnotherConnectionOfItsProvider(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		s.grown()
		old := s.hale.handle
		s.hale.handle = s.world.Open("hale-1")
		s.hale.adapter = s.hale.handle
		if err := s.hale.engine.Reload(s.t.Context(), s.hale.setup(s.spec)); err != nil {
			s.t.Fatal(err)
		}
		if err := old.Close(); err != nil {
			s.t.Fatal(err)
		}
		s.await(time.Minute, "both are looked after", s.allHealthy)
		s.pass(time.Minute)
		s.inject(simulated.Crash{Instance: s.id(1)})
		s.await(5*time.Minute, "the fleet is healed over the new connection", s.allHealthy)
	})
}

func TestASetupThatIsNotSoundChangesNothing(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		s.grown()
		setup := s.hale.setup(s.spec)
		stranger := s.spec
		stranger.Name, stranger.Provider = "db", "nowhere"
		setup.Fleets = append(setup.Fleets, engine.Fleet{Spec: stranger, Probes: netprobe.New(s.transport, netprobe.Options{})})
		if err := s.hale.engine.Reload(s.t.Context(), setup); err == nil {
			s.t.Error("a fleet on a provider that there is not is accepted")
		}
		s.pass(time.Minute)
		if len(s.hale.engine.Status()) != 1 || !s.allHealthy() {
			s.t.Error("the fleet that runs was touched")
		}
	})
}
