package engine_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/engine"
	"hale/internal/probe/netprobe"
	"hale/internal/provider/simulated"
)

// reload tells the running controller of an edited spec.
func (s *story) reload(how func(spec *policy.Spec)) {
	s.t.Helper()
	s.spec.Checks = slices.Clone(s.spec.Checks)
	how(&s.spec)
	if err := s.hale.engine.Reload(s.t.Context(), s.hale.setup(s.spec)); err != nil {
		s.t.Fatal(err)
	}
	s.pass(time.Second)
}

// S10, and a reload without a gap: what is known by checks that are as they were stays known, epochs and counts
// included.
func TestAReloadDisturbsNothingThatDidNotChange(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		before, epoch := len(s.records()), s.machine(2).Epoch
		s.reload(func(spec *policy.Spec) { spec.Limits.InRepair = 2 })
		s.pass(30 * time.Second)
		for _, r := range s.records()[before:] {
			if r.Kind != record.Change {
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
		s.reload(func(spec *policy.Spec) {
			for i := range spec.Checks {
				if spec.Checks[i].Name == "page" {
					spec.Checks[i].Port = 8080
				}
			}
		})
		if got := s.check(2, "alive"); got.Standing != fleet.StandingUp || got.Since != since {
			s.t.Errorf("a check that is as it was began anew: %+v", got)
		}
		s.await(time.Minute, "the changed check is known again", func() bool {
			return s.check(2,
				"page").Standing == fleet.StandingUp
		})
		for _, r := range s.records() {
			if r.Kind == record.Verdict && r.Verdict == belief.VerdictUnhealthy {
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
		if n := len(s.hale.probes.Standings()); n != 0 {
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
		s.reload(func(spec *policy.Spec) { spec.Size = 5 })
		s.await(5*time.Minute, "five stand", func() bool { return s.healthy(4) && s.healthy(5) })
		s.reload(func(spec *policy.Spec) {
			spec.Size = 2
			spec.Template.Image = "another"
		})
		stays := func(when string) {
			status := s.status()
			if status.Spec.Size != 5 || len(status.Machines) != 5 || status.Wanted.Size != 2 {
				s.t.Errorf("%s: size %d in force, %d machines, %d wanted", when, status.Spec.Size, len(status.Machines),
					status.Wanted.Size)
			}
			p := status.Pending()
			if p.From != 5 || p.To != 2 || !p.Template || len(p.Remove) != 3 || p.Remove[0].Machine != "web-5" ||
				len(p.Replace) != 2 {
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
		setup.Fleets = append(setup.Fleets, engine.Fleet{Spec: stranger,
			Probes: netprobe.New(s.transport, netprobe.Options{})})
		if err := s.hale.engine.Reload(s.t.Context(), setup); err == nil {
			s.t.Error("a fleet on a provider that there is not is accepted")
		}
		s.pass(time.Minute)
		if len(s.hale.engine.Status()) != 1 || !s.allHealthy() {
			s.t.Error("the fleet that runs was touched")
		}
	})
}

// confirm gives a person's word for the plan that waits, and returns its name.
func (s *story) confirm() string {
	s.t.Helper()
	status := s.status()
	plan := status.Pending()
	for _, t := range slices.Concat(plan.Remove, plan.Replace) {
		s.named = append(s.named, t.Instance)
	}
	s.orders(fleet.Order{Kind: fleet.OrderConfirm, Plan: plan.ID})
	return plan.ID
}

// L10, L13: a smaller size, confirmed, removes what the plan named; nothing of it looks like a failure, and one goes
// after the other.
func TestAConfirmedSmallerSizeRemovesWhatThePlanNamed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(5), func(s *story) {
		s.grown()
		keep := []fleet.InstanceID{s.id(1), s.id(2), s.id(3)}
		s.reload(func(spec *policy.Spec) { spec.Size = 3 })
		began := len(s.records())
		s.confirm()
		s.await(5*time.Minute, "three are left", func() bool {
			status := s.status()
			return status.Spec.Size == 3 && s.gone(4) && s.gone(5)
		})
		s.pass(10 * time.Minute)
		for i, id := range keep {
			if s.id(i+1) != id || !s.healthy(i+1) {
				t.Errorf("machine %d is not as it was", i+1)
			}
		}
		for _, r := range s.records()[began:] {
			switch r.Kind {
			case record.IncidentOpen, record.Paged, record.Held, record.Brake:
				if r.Reason != fleet.ReasonBudget {
					t.Errorf("a wanted change looks like trouble: %+v", r)
				}
			default:
			}
		}
		if status := s.status(); !status.Pending().Empty() {
			t.Errorf("something waits still: %+v", status.Pending())
		}
		s.kill()
		s.start()
		s.await(time.Minute, "the next controller knows", s.allHealthy)
		s.pass(10 * time.Minute)
		if !s.gone(4) || !s.gone(5) || s.status().Spec.Size != 3 {
			t.Error("what was confirmed is forgotten, or repeated")
		}
	})
}

func TestTheOneThatFailsGoesFirstAndLeavesAGap(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3)), func(s *story) {
		s.grown()
		s.inject(simulated.Broken{Instance: s.id(1), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.await(time.Minute, "it fails", func() bool { return s.machine(1).Quarantine != nil })
		s.reload(func(spec *policy.Spec) { spec.Size = 2 })
		status := s.status()
		if p := status.Pending(); len(p.Remove) != 1 || p.Remove[0].Machine != "web-1" ||
			p.Remove[0].Why != fleet.ReasonFailing {
			t.Fatalf("the plan is %+v", p)
		}
		s.confirm()
		s.await(5*time.Minute, "it has gone", func() bool { return s.gone(1) && s.status().Spec.Size == 2 })
		s.pass(5 * time.Minute)
		if !s.healthy(2) || !s.healthy(3) {
			t.Error("the other two are not well")
		}
		s.reload(func(spec *policy.Spec) { spec.Size = 3 })
		s.await(5*time.Minute, "its number is taken again", func() bool { return s.healthy(1) })
	})
}

func TestAPlanThatIsNotThePresentOneIsRefused(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Size = 2 })
		status := s.status()
		stale := status.Pending().ID
		old := s.id(3)
		s.inject(simulated.Vanishes{Instance: old})
		s.await(5*time.Minute, "it is another instance", func() bool {
			return s.healthy(3) &&
				s.machine(3).Current.ID != old
		})
		s.orders(fleet.Order{Kind: fleet.OrderConfirm, Plan: stale})
		s.pass(5 * time.Minute)
		if !s.healthy(3) {
			t.Error("a machine is removed that the person was not shown")
		}
		refused := false
		for _, r := range s.records() {
			refused = refused || r.Kind == record.Order && r.Reason == fleet.ReasonStalePlan
		}
		if !refused {
			t.Error("the stale plan is not refused")
		}
	})
}

// S52: a removal that fails is given up with a page, and the machine is healed as before.
func TestARemovalThatFailsIsGivenUpAndHealingGoesOn(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]simulated.Calls{
		"it cannot be powered off": {Op: fleet.OpPowerOff, Effect: simulated.Fails, Kind: fault.Permanent},
		"it cannot be deleted":     {Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Permanent},
		"nothing is let through":   {Op: fleet.OpPowerOff, Effect: simulated.Fails, Kind: fault.Throttled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, web(3), func(s *story) {
				s.grown()
				id := s.id(3)
				s.reload(func(spec *policy.Spec) { spec.Size = 2 })
				lift := s.inject(trouble)
				s.confirm()
				s.await(20*time.Minute, "it is given up", func() bool { return s.has(fleet.ReasonGivenUp) })
				lift()
				s.await(10*time.Minute, "it is well again", func() bool { return s.healthy(3) })
				if s.id(3) != id {
					t.Error("it was replaced although a start was enough")
				}
				s.inject(simulated.Crash{Instance: id})
				s.await(10*time.Minute, "it is healed as before", func() bool { return s.healthy(3) })
				status := s.status()
				if p := status.Pending(); len(p.Remove) != 1 || status.Spec.Size != 3 {
					t.Errorf("the edit does not wait again: %+v", p)
				}
			})
		})
	}
}

func TestARemovalIsTakenBackByAnEditThatAsksForMore(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Size = 2 })
		lift := s.inject(simulated.Outage{})
		s.pass(time.Minute)
		s.confirm()
		s.pass(time.Minute)
		s.reload(func(spec *policy.Spec) { spec.Size = 3 })
		lift()
		s.pass(10 * time.Minute)
		if !s.allHealthy() || !s.has(fleet.ReasonWithdrawn) {
			t.Error("the order was not taken back")
		}
	})
}

// has reports whether the journal has a record for the reason.
func (s *story) has(reason fleet.Reason) bool {
	return slices.ContainsFunc(s.records(), func(r record.Record) bool { return r.Reason == reason })
}

// gone reports whether the machine has no instance, by truth, and hale believes that.
func (s *story) gone(n int) bool {
	_, exists := s.world.Instance(s.spec.Name.Machine(n))
	m := s.machine(n)
	return !exists && m.Current.None() && m.Repair == nil && m.Incident == nil
}

// S56: another template is tried by one machine, and goes through the fleet when that one stays healthy.
func TestATemplateGoesThroughTheFleetAfterItsCanary(t *testing.T) {
	t.Parallel()
	spec := web(3)
	spec.Template.Image, spec.Update = "v1", policy.Update{Pilots: 1, Soak: 2 * time.Minute}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v2" })
		s.confirm()
		s.await(2*time.Minute, "one tries it", func() bool { return s.built("v2") == 1 && s.healthy(3) })
		s.pass(time.Minute)
		if n := s.built("v2"); n != 1 {
			t.Errorf("%d machines have it before it proved itself", n)
		}
		s.await(10*time.Minute, "all have it", func() bool { return s.built("v2") == 3 && s.allHealthy() })
		s.inject(simulated.Vanishes{Instance: s.id(1)})
		s.await(10*time.Minute, "what dies is built from it", func() bool {
			return s.built("v2") == 3 &&
				s.allHealthy() && s.machine(1).Generation == 3
		})
		if status := s.status(); !status.Pending().Empty() {
			t.Errorf("something waits still: %+v", status.Pending())
		}
	})
}

// S56: a template that yields sick machines reaches the canary only; machines that die meanwhile are built from the old
// one.
func TestATemplateThatYieldsSickMachinesReachesTheCanaryOnly(t *testing.T) {
	t.Parallel()
	spec := web(4)
	spec.Template.Image = "v1"
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.inject(simulated.NextBuilds{Image: "v2", Illness: simulated.Illness{Symptom: simulated.NeverBoots,
			Cure: simulated.ByRecreate}})
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v2" })
		s.confirm()
		s.await(10*time.Minute, "it is stopped", func() bool { return s.has(fleet.ReasonUpdateStopped) })
		s.inject(simulated.Vanishes{Instance: s.id(1)})
		s.await(10*time.Minute, "what dies is built from the old one", func() bool {
			return s.healthy(1) &&
				s.machine(1).Generation == 2
		})
		s.pass(time.Hour)
		if n := s.built("v2"); n != 1 || s.machine(4).Quarantine == nil {
			t.Errorf("%d machines have it; the canary is %+v", n, s.machine(4))
		}
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v1" })
		s.confirm()
		s.await(10*time.Minute, "the canary is back", func() bool { return s.built("v1") == 4 && s.allHealthy() })
	})
}

// S52, S56: an update stops, too, when its first build fails at once, so that there is not even a sick machine to look
// at, and a person is told. The machine is healed, from the template that is in force.
func TestAnUpdateWhoseBuildFailsStopsAndHealingGoesOn(t *testing.T) {
	t.Parallel()
	spec := web(3)
	spec.Template.Image = "v1"
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.Fails, Kind: fault.Permanent, Times: 1})
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v2" })
		s.confirm()
		s.await(10*time.Minute, "it is stopped", func() bool { return s.has(fleet.ReasonUpdateStopped) })
		s.pass(time.Hour)
		if pages := s.count(kind(record.Paged)); pages != 1 || s.built("v1") != 3 || !s.allHealthy() {
			t.Errorf("%d pages, %d machines of the old template, all healthy: %v", pages, s.built("v1"), s.allHealthy())
		}
		s.confirm()
		s.await(10*time.Minute, "all have it", func() bool { return s.built("v2") == 3 && s.allHealthy() })
	})
}

// built counts the machines that were built from the image.
func (s *story) built(image string) int {
	n := 0
	for _, l := range s.world.Lives() {
		if l.Removed.IsZero() && l.Image == image {
			n++
		}
	}
	return n
}
