package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// db is a fleet that selects machines which existed before hale, with the ladder that such a fleet has.
func db() policy.Spec {
	spec := rungs(web(0), rung(fleet.StepStart), rung(fleet.StepResume), softly(), rung(fleet.StepReboot))
	spec.Name, spec.Adopt = "db", policy.Adoption{Select: policy.Selector{Name: "db-*"}}
	return spec
}

// existing are instances that somebody else made: their names are their ids.
func (s *story) existing(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := s.world.Plant(fleet.Instance{ID: fleet.InstanceID(name), Name: name}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// called returns what hale believes of the machine that has that name at its provider.
func (s *story) called(alias string) belief.Machine {
	for _, v := range s.status().Machines {
		if v.Machine.Alias == alias {
			return v.Machine
		}
	}
	return belief.Machine{}
}

func (s *story) adopted(names ...string) func() bool {
	return func() bool {
		for _, name := range names {
			m := s.called(name)
			if !m.Current.Adopted || !m.Current.Certified || m.Health.Verdict != belief.VerdictHealthy {
				return false
			}
		}
		return s.status().Spec.Size == len(names)
	}
}

// adopts starts hale and waits until it looks after the machines, and the amnesty is over.
func (s *story) adopts(names ...string) {
	s.t.Helper()
	s.start()
	s.await(2*time.Minute, "the machines are adopted", s.adopted(names...))
	s.pass(time.Minute)
}

// S68: machines that existed before are adopted when they were seen healthy, without a call to them, and looked after
// from then on: the one that dies is started, as the same instance, and nobody else is touched, least of all a
// stranger.
func TestS68MachinesThatExistedBeforeAreAdoptedAndHealed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main", "db-one", "db-two", "mail")
		s.adopts("db-main", "db-one", "db-two")
		if calls := s.world.Calls(); len(calls) != 0 {
			t.Fatalf("adoption calls the provider: %+v", calls)
		}
		if n := s.count(because(record.Adoption, fleet.ReasonAdopted)); n != 3 {
			t.Errorf("%d adoptions are told of, want 3", n)
		}
		if s.called("mail").Name != "" {
			t.Error("a machine that nobody selected is looked after")
		}
		s.inject(simulated.Crash{Instance: "db-main"})
		s.inject(simulated.Crash{Instance: "mail"})
		s.await(2*time.Minute, "db-main is started", func() bool {
			return s.world.Healthy("db-main") &&
				s.called("db-main").Incident == nil
		})
		s.pass(time.Minute)
		calls := s.world.Calls()
		if len(calls) != 1 || calls[0].Op != fleet.OpStart || calls[0].Instance != "db-main" {
			t.Errorf("calls: %+v", calls)
		}
		if m := s.called("db-main"); m.Current.ID != "db-main" || m.Name != "db-1" {
			t.Errorf("it is %+v", m.Current)
		}
	})
}

// A machine that is selected and not well is watched and never touched, however long that lasts, and counts for
// nothing; it is adopted when it is well.
func TestACandidateIsNotTouchedUntilItIsWell(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.inject(simulated.Crash{Instance: "db-one"})
		mend := s.inject(simulated.Broken{Instance: "db-two", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.start()
		s.await(2*time.Minute, "the one that is well is adopted", s.adopted("db-main"))
		s.pass(24 * time.Hour)
		for _, name := range []string{"db-one", "db-two"} {
			if m := s.called(name); !m.Current.Candidate() || m.Incident != nil || m.Waiting != fleet.ReasonCandidate {
				t.Errorf("%s is no candidate: %+v, waiting for %q, incident %v", name, m.Current, m.Waiting, m.Incident)
			}
		}
		if calls, f := s.world.Calls(), s.status(); len(calls) != 0 || f.Brake.Engaged || f.Tally.Failing != 0 {
			t.Errorf("calls %+v, brake %+v, tally %+v", calls, f.Brake, f.Tally)
		}
		mend()
		s.await(time.Minute, "it is adopted when it is well", s.adopted("db-main", "db-two"))
	})
}

// L2: whatever is wrong with an adopted machine, it is never destroyed: at the end of its ladder, and when it is gone,
// a person is paged.
func TestL2AnAdoptedMachineIsNeverDestroyed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		at := time.Now()
		s.inject(simulated.Broken{Instance: "db-one", Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByRecreate}})
		s.await(2*time.Hour, "it is in quarantine", func() bool { return s.called("db-one").Quarantine != nil })
		s.inject(simulated.Vanishes{Instance: "db-two"})
		s.await(time.Hour, "a person is told that it is gone",
			func() bool { q := s.called("db-two").Quarantine; return q != nil && q.Reason == fleet.ReasonNoStep })
		s.pass(24 * time.Hour)
		for _, op := range []fleet.Op{fleet.OpPowerOff, fleet.OpDelete, fleet.OpCreate, fleet.OpCertify} {
			if calls := s.calls(op, at); len(calls) != 0 {
				t.Errorf("calls: %+v", calls)
			}
		}
		if n := s.count(kind(record.Paged)); n != 2 {
			t.Errorf("%d pages, want one for each", n)
		}
	})
}

// The law does not rest on the configuration: with the step recreate in the ladder, and a template, an adopted machine
// is not replaced.
func TestL2NoLadderReplacesAMachineThatIsNotReplaceable(t *testing.T) {
	t.Parallel()
	spec := rungs(db(), rung(fleet.StepRecreate))
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		s.inject(simulated.Broken{Instance: "db-one", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(time.Hour, "it is left to a person", func() bool { return s.called("db-one").Quarantine != nil })
		if calls := s.world.Calls(); len(calls) != 0 {
			t.Errorf("calls: %+v", calls)
		}
		if s.count(because(record.StepSkipped, fleet.ReasonIrreplaceable)) != 1 {
			t.Error("nothing says why recreate was passed over")
		}
	})
}

// With replaceable: true an adopted machine may be built anew: fenced first, then as hale's own, with hale's mark.
func TestAReplaceableMachineIsBuiltAnew(t *testing.T) {
	t.Parallel()
	spec := rungs(db(), rung(fleet.StepReboot), policy.Step{Kind: fleet.StepRecreate, Timeout: 30 * time.Second,
		OnDeleteFailure: policy.DeleteFailureStop})
	spec.Adopt.Replaceable = true
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		s.inject(simulated.Broken{Instance: "db-one", Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByRecreate}})
		s.await(time.Hour, "it is healed", func() bool { return s.healthy(2) && s.machine(2).Current.ID != "db-one" })
		if m := s.machine(2); m.Current.Adopted || m.Current.Irreplaceable || s.idOf("db-2") != m.Current.ID ||
			s.status().Spec.Size != 3 {
			t.Errorf("it is %+v of %d", m.Current, s.status().Spec.Size)
		}
		for _, c := range s.world.Calls() {
			if c.Instance != "db-one" && c.Machine != "db-2" {
				t.Errorf("somebody else was touched: %+v", c)
			}
		}
	})
}

// A policy that does not allow it any more ends the replacement under way, wherever it stands.
func TestL2AReplacementEndsWhenThePolicyForbidsIt(t *testing.T) {
	t.Parallel()
	spec := rungs(db(), policy.Step{Kind: fleet.StepRecreate, Timeout: 30 * time.Second,
		OnDeleteFailure: policy.DeleteFailureStop})
	spec.Adopt.Replaceable = true
	spec.Repair.OnExternalStop = policy.ExternalStopHeal // the stop is hale's own, which nobody can tell by then
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		s.inject(simulated.Calls{Op: fleet.OpPowerOff, Effect: simulated.Slow, Delay: 5 * time.Second})
		s.inject(simulated.Broken{Instance: "db-one", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(time.Minute, "it is told to power off", func() bool {
			r := s.called("db-one").Repair
			return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpPowerOff
		})
		s.reload(func(spec *policy.Spec) {
			spec.Adopt.Replaceable = false
			*spec = rungs(*spec, rung(fleet.StepStart))
		})
		s.await(5*time.Minute, "it is started again", func() bool {
			return s.adopted("db-main", "db-one", "db-two")() &&
				s.called("db-one").Incident == nil
		})
		if n := s.count(because(record.RepairEnded, fleet.ReasonIrreplaceable)); n != 1 {
			t.Errorf("%d replacements were ended, want 1", n)
		}
		if n := len(s.calls(fleet.OpDelete, time.Time{})) + s.count(because(record.Held,
			fleet.ReasonLawBroken)); n != 0 {
			t.Error("it was destroyed, or only the law held it")
		}
	})
}

// What the file does not select any more is let go, at once and as it is; what it selects again becomes a candidate.
func TestAMachineThatIsNotSelectedAnyMoreIsLetGo(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		s.reload(func(spec *policy.Spec) { spec.Adopt.Select.Except = []string{"db-main"} })
		s.await(time.Minute, "it is let go", s.adopted("db-one", "db-two"))
		s.inject(simulated.Crash{Instance: "db-main"})
		s.pass(time.Hour)
		if n := s.count(kind(record.Paged)); len(s.world.Calls()) != 0 || n != 0 ||
			s.called("db-main").Name != "" {
			t.Errorf("it is still looked after: %d pages, calls %+v", n, s.world.Calls())
		}
		s.existing("db-three")
		s.await(time.Minute, "another one takes its number", s.adopted("db-one", "db-two", "db-three"))
		if name := s.called("db-three").Name; name != "db-1" {
			t.Errorf("it is %s", name)
		}
	})
}

// What is selected by what it bears is adopted whatever its name is. When somebody takes that away, it is let go as it
// is, and a person is told; while its provider is silent, nobody knows, and nothing changes.
func TestWhatIsSelectedByMetadataIsLetGoWhenItBearsThemNoMore(t *testing.T) {
	t.Parallel()
	role := fleet.MetadataOf(map[string]string{"role": "db"})
	spec := db()
	spec.Adopt.Select = policy.Selector{Name: "*", Metadata: role, Tags: []string{"prod"}}
	tell(t, simulated.Options{}, spec, func(s *story) {
		for name, i := range map[string]fleet.Instance{
			"main":   {Metadata: role, Tags: fleet.TagsOf([]string{"prod", "eu"})},
			"other":  {Metadata: role, Tags: "prod\n"},
			"tagged": {Tags: "prod\n"}, "bears": {Metadata: role}, "db-one": {},
		} {
			i.ID, i.Name = fleet.InstanceID(name), name
			if err := s.world.Plant(i); err != nil {
				t.Fatal(err)
			}
		}
		s.adopts("main", "other")
		s.pass(time.Hour)
		if s.called("tagged").Name != "" || s.called("bears").Name != "" || s.called("db-one").Name != "" {
			t.Error("what bears only a part of it is looked after")
		}
		mend := s.inject(simulated.Outage{})
		s.world.Bear("main", fleet.MetadataOf(map[string]string{"role": "web"}))
		s.pass(10 * time.Minute)
		if !s.adopted("main", "other")() {
			t.Error("it was let go while nobody knew what it bears")
		}
		mend()
		s.await(2*time.Minute, "it is let go", func() bool { return s.called("main").Name == "" })
		if n := s.count(because(record.Paged, fleet.ReasonNotSelected)); n != 1 || len(s.world.Calls()) != 0 ||
			!s.adopted("other")() {
			t.Errorf("%d pages, calls %+v", n, s.world.Calls())
		}
	})
}

// A machine that somebody built anew under its name is the machine again, once it was seen healthy.
func TestWhoeverIsBuiltAnewUnderItsNameIsAdoptedInItsPlace(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		s.inject(simulated.Vanishes{Instance: "db-main"})
		s.await(time.Hour, "a person is told", func() bool { return s.called("db-main").Quarantine != nil })
		if err := s.world.Plant(fleet.Instance{ID: "restored", Name: "db-main"}); err != nil {
			t.Fatal(err)
		}
		s.await(time.Minute, "it is adopted", s.adopted("db-main", "db-one", "db-two"))
		if m := s.called("db-main"); m.Name != "db-1" || m.Current.ID != "restored" || m.Incident != nil ||
			m.Current.Generation != 2 {
			t.Errorf("%s is %+v, incident %v", m.Name, m.Current, m.Incident)
		}
	})
}

// What two fleets select, neither adopts, and both are named.
func TestWhatTwoFleetsSelectIsAdoptedByNeither(t *testing.T) {
	t.Parallel()
	spec := db()
	spec.Adopt.Rivals = []policy.Rival{{Fleet: "mains", Select: policy.Selector{Name: "*-main"}}}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one")
		s.adopts("db-one")
		s.pass(time.Hour)
		contested := func(r record.Record) bool {
			return r.Reason == fleet.ReasonContested && r.Fleet == "db" && r.Alias == "db-main" && r.Detail == "mains"
		}
		if n := s.count(contested); n != 1 || s.called("db-main").Name != "" {
			t.Errorf("it is told of %d times, want once", n)
		}
	})
}

// An instance that bears a mark is somebody's: it is not adopted, whoever's it is.
func TestAMarkedInstanceIsNotAdopted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-one")
		if err := s.world.Plant(fleet.Instance{ID: "x", Name: "db-main",
			Mark: fleet.Mark{Installation: "another", Fleet: "db", Machine: "db-9", Generation: 1}}); err != nil {
			t.Fatal(err)
		}
		s.adopts("db-one")
		s.pass(time.Hour)
		if s.called("db-main").Name != "" || len(s.world.Calls()) != 0 {
			t.Error("it is looked after")
		}
	})
}

// What was adopted stays so when hale dies: nobody has to be well for it a second time.
func TestAdoptionSurvivesARestart(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		s.kill()
		s.inject(simulated.Crash{Instance: "db-one"})
		s.start()
		s.await(5*time.Minute, "it is started", func() bool { return s.world.Healthy("db-one") })
		if n := s.count(because(record.Adoption, fleet.ReasonAdopted)); n != 3 {
			t.Errorf("%d adoptions, want 3", n)
		}
	})
}

// A person is told once when the fleet has fewer machines than its size says.
func TestAFleetThatIsShortOfWhatIsExpectedSaysSo(t *testing.T) {
	t.Parallel()
	spec := db()
	spec.Adopt.Expected = 3
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one")
		s.adopts("db-main", "db-one")
		s.pass(time.Hour)
		if n := s.count(because(record.Paged, fleet.ReasonShort)); n != 1 {
			t.Errorf("%d pages, want 1", n)
		}
		s.existing("db-two")
		s.await(time.Minute, "it is complete", s.adopted("db-main", "db-one", "db-two"))
		s.pass(time.Hour)
		if short := s.status().Whole.Short; !short.Since.IsZero() {
			t.Errorf("it is still short: %+v", short)
		}
	})
}

// L8: an adopted machine bears no mark, so it cannot be put aside: a ladder that wants that does not power it off, and
// a person is told.
func TestL8AnAdoptedMachineIsNotPutAside(t *testing.T) {
	t.Parallel()
	spec := rungs(db(), policy.Step{Kind: fleet.StepRecreate, Timeout: 30 * time.Second,
		OnDeleteFailure: policy.DeleteFailureStop, KeepOld: 24 * time.Hour})
	spec.Adopt.Replaceable = true
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		n, _ := s.called("db-one").Name.Ordinal()
		s.inject(simulated.Broken{Instance: "db-one", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(10*time.Minute, "a person is told", func() bool { return s.machine(n).Quarantine != nil })
		if off := s.calls(fleet.OpPowerOff, time.Time{}); len(off) > 0 {
			t.Errorf("it was powered off: %+v", off)
		}
	})
}

// A person who shuts an adopted machine down in order is not known to its provider, and obeyed all the same (L10).
func TestL10AnAdoptedMachineThatIsShutDownInOrderIsHeld(t *testing.T) {
	t.Parallel()
	spec := db()
	spec.Repair.ExternalStopHold = 40 * time.Second
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one")
		s.adopts("db-main", "db-one")
		began := time.Now()
		s.inject(simulated.Happens{Verb: verbs.IsShutDown, Instance: "db-one"})
		s.inject(simulated.Crash{Instance: "db-main"})
		s.pass(10 * time.Minute)
		for _, c := range s.calls(fleet.OpStart, began) {
			if c.Instance == "db-one" {
				t.Error("it is started again")
			}
		}
		if m := s.called("db-one"); m.Waiting != fleet.ReasonShutDown || len(m.Attempts) != 0 {
			t.Errorf("it waits for %q after %d attempts", m.Waiting, len(m.Attempts))
		}
		if n := s.count(because(record.Paged, fleet.ReasonHoldExpired)); n != 1 {
			t.Errorf("a person is told %d times", n)
		}
		if v := s.called("db-main").Health.Verdict; v != belief.VerdictHealthy {
			t.Errorf("the one that crashed is %s", v)
		}
	})
}
