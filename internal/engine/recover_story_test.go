package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
)

// foundOf returns what was found of the machine by the last order to recover its fleet.
func (s *story) foundOf(name fleet.MachineName) (last record.Record) {
	s.count(func(r record.Record) bool {
		if r.Kind == record.Found && r.Machine == name {
			last = r
		}
		return false
	})
	return last
}

// atNight has repairs begin at night only; stories begin at midnight, and never get there.
func atNight(spec policy.Spec) policy.Spec {
	spec.Repair.Windows = []policy.Window{{Minutes: 1, Hours: 1 << 22, Days: ^uint64(0), Months: ^uint64(0),
		Weekdays: ^uint64(0), For: time.Hour, Zone: time.UTC}}
	return spec
}

// S53: what would wait for its hour is repaired, and what is missing created, by one order. What is held, in quarantine
// or stopped by a person is named and left alone; and a second order finds the fleet well but for these.
func TestS53AFleetIsRecoveredByOrder(t *testing.T) {
	t.Parallel()
	spec := atNight(web(6))
	spec.Limits.Brake.AtLeast = 5
	spec.Repair.OnExternalStop, spec.Repair.ExternalStopHold = policy.ExternalStopHoldThenPage, 10*time.Hour
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.holds(fleet.Order{Machine: "web-3"}, 9*time.Hour)
		s.inject(simulated.Crash{Instance: s.id(1)})
		s.inject(simulated.Vanishes{Instance: s.id(2)})
		s.inject(simulated.Crash{Instance: s.id(3)})
		s.inject(simulated.PersonPowersOff{Instance: s.id(4)})
		s.pass(10 * time.Minute)
		if s.heals(1)+s.heals(2)+s.heals(3)+s.heals(4) != 0 {
			t.Fatal("repaired at the wrong hour")
		}
		s.orders(fleet.Order{Kind: fleet.OrderRecover, DryRun: true})
		s.pass(10 * time.Minute)
		if s.heals(1)+s.heals(2) != 0 || s.foundOf("web-1").Verdict != belief.VerdictUnhealthy ||
			s.foundOf("web-1").Reason != "" || s.foundOf("web-6").Kind != "" {
			t.Errorf("%d repairs by an order that was only to check, which found %+v", s.heals(1)+s.heals(2),
				s.foundOf("web-1"))
		}
		s.orders(fleet.Order{Kind: fleet.OrderRecover})
		s.await(5*time.Minute, "what failed and what was missing is well",
			func() bool { return s.healthy(1) && s.healthy(2) })
		s.pass(10 * time.Minute)
		for name, why := range map[fleet.MachineName]fleet.Reason{"web-3": fleet.ReasonHold,
			"web-4": fleet.ReasonStoppedByPerson} {
			if r := s.foundOf(name); r.Reason != why || r.Command != "" {
				t.Errorf("of %s it is said: %+v", name, r)
			}
		}
		if s.heals(3)+s.heals(4)+s.heals(5)+s.heals(6) != 0 {
			t.Error("what was to be left alone was repaired")
		}
		all := s.count(func(r record.Record) bool {
			return r.Kind == record.Found && r.Machine == "" && r.Size == 6 && r.Failing == 4
		})
		s.orders(fleet.Order{Kind: fleet.OrderRecover})
		s.pass(time.Minute)
		left := s.count(func(r record.Record) bool {
			return r.Kind == record.Found && r.Machine == "" &&
				r.Failing == 2
		})
		if all != 2 || left != 1 || s.inInbox() != 0 {
			t.Errorf("the whole was found so %d times and, in the end, %d times; %d orders wait", all, left,
				s.inInbox())
		}
	})
}

// S53: what is too many is named by a plan, and goes by an order that names it, and by none that names another.
func TestS53WhatIsTooManyGoesByItsPlan(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(4), func(s *story) {
		s.leaving = []fleet.MachineName{"web-4"}
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Size = 3 })
		s.pass(time.Second)
		s.orders(fleet.Order{Kind: fleet.OrderRecover})
		s.pass(time.Minute)
		plan := ""
		s.count(func(r record.Record) bool {
			if r.Kind == record.Change && r.Reason == fleet.ReasonAwaitsWord && r.Order != "" {
				plan = r.Detail
			}
			return false
		})
		if plan == "" || len(s.status().Machines) != 4 || !s.healthy(4) {
			t.Fatalf("plan %q, %d machines", plan, len(s.status().Machines))
		}
		s.orders(fleet.Order{Kind: fleet.OrderRecover, Plan: "web-another"})
		s.pass(time.Minute)
		if d := s.dead(); len(d) != 1 || d[0].Reason != fleet.ReasonStalePlan || !s.healthy(4) {
			t.Errorf("an order with another plan: %+v", d)
		}
		s.orders(fleet.Order{Kind: fleet.OrderRecover, Plan: plan})
		s.await(5*time.Minute, "web-4 has gone", func() bool { _, there := s.world.Instance("web-4"); return !there })
	})
}

// A repair by such an order follows one more look as any other: what answers again is left alone (L3).
func TestL3ARecoveryDestroysNothingThatAnswers(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, atNight(web(3)), func(s *story) {
		s.grown()
		id := s.id(2)
		lift := s.inject(simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.pass(10 * time.Minute)
		lift()
		s.orders(fleet.Order{Kind: fleet.OrderRecover})
		s.pass(10 * time.Minute)
		if s.id(2) != id || !s.healthy(2) || len(s.world.Harm()) > 0 {
			t.Errorf("harm %+v", s.world.Harm())
		}
	})
}
