package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// rescuing is a fleet with a ladder that ends with a person at the machine's disk.
func rescuing() policy.Spec { return rungs(web(3), rung(fleet.StepReboot), rung(fleet.StepRescue)) }

func sick(s *story) simulated.Fault {
	return simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
		Cure: simulated.ByRecreate}}
}

// Whatever happens meanwhile, what hale has rescued stays as it is, until a person has repaired it; then it is judged
// as any other.
func TestS48ARescuedMachineIsAPersons(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, rescuing(), func(s *story) {
		s.grown()
		s.inject(sick(s))
		s.await(10*time.Minute, "web-2 is rescued", func() bool { return isRescued(s) })
		at, id := len(s.world.Calls()), s.id(2)
		s.pass(2 * time.Hour)
		s.kill()
		s.start()
		s.pass(2 * time.Hour)
		s.inject(simulated.Broken{Instance: s.id(3), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByReboot}})
		s.pass(time.Hour)
		for _, c := range s.world.Calls()[at:] {
			if c.Instance == id {
				t.Errorf("it was disturbed: %+v", c)
			}
		}
		if n := s.count(because(record.Paged, fleet.ReasonRescued)); n != 1 || !isRescued(s) ||
			s.machine(2).Quarantine != nil {
			t.Errorf("%d pages, %+v", n, s.machine(2))
		}
		s.inject(simulated.Happens{Verb: verbs.IsRepaired, Instance: id})
		s.await(10*time.Minute, "web-2 is well", func() bool { return s.healthy(2) && s.machine(2).Incident == nil })
		s.inject(sick(s))
		s.await(10*time.Minute, "web-2 is rescued again", func() bool { return isRescued(s) })
		if s.id(2) != id {
			t.Error("it was replaced")
		}
	})
}

// A rescue that loses its answer is not made twice; one that is refused leaves the machine as it is, and a person is
// told.
func TestS48ARescueThatFails(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, rescuing(), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpRescue, Effect: simulated.AnswerLost})
		s.inject(sick(s))
		s.await(10*time.Minute, "web-2 is rescued", func() bool { return isRescued(s) })
		if n := len(s.calls(fleet.OpRescue, time.Time{})); n != 1 || s.count(because(record.Paged,
			fleet.ReasonRescued)) != 1 {
			t.Errorf("it was rescued %d times", n)
		}
	})
	tell(t, simulated.Options{}, rescuing(), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpRescue, Effect: simulated.Fails, Kind: fault.Permanent})
		s.inject(sick(s))
		s.await(2*time.Hour, "web-2 is left to a person", func() bool { return s.machine(2).Quarantine != nil })
		if p := s.machine(2).Health.Cause; p != belief.CauseChecks {
			t.Errorf("it is %s", p)
		}
	})
}

// What a person rescued is theirs also where the policy heals every other stop, and another person is told only after a
// while.
func TestL10WhatAPersonRescuedIsTheirs(t *testing.T) {
	t.Parallel()
	spec := rungs(web(3), rung(fleet.StepStart), rung(fleet.StepResume), rung(fleet.StepReboot),
		rung(fleet.StepRecreate))
	spec.Repair.OnExternalStop = policy.ExternalStopHeal
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		at := len(s.world.Calls())
		s.inject(simulated.Happens{Verb: verbs.IsRescued, Instance: s.id(2)})
		s.await(time.Minute, "it is seen", func() bool { return s.machine(2).Waiting == fleet.ReasonRescued })
		s.pass(14 * time.Minute)
		if n := s.count(kind(record.Paged)); n != 0 || s.status().Tally.Failing != 0 {
			t.Errorf("%d pages, %+v", n, s.status().Tally)
		}
		s.pass(time.Hour)
		if n := s.count(because(record.Paged, fleet.ReasonHoldExpired)); n != 1 || len(s.world.Calls()) != at {
			t.Errorf("%d pages, then %+v", n, s.world.Calls()[at:])
		}
		s.inject(simulated.Happens{Verb: verbs.IsRepaired, Instance: s.id(2)})
		s.await(5*time.Minute, "it is well", func() bool { return s.healthy(2) })
	})
}
