package guard_test

import (
	"fmt"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
)

// elsewhere is a machine of another fleet in repair, beside web-2 or away from it.
func elsewhere(n int, place string) budget.Slot {
	return budget.Slot{
		Machine: fleet.Name("db").Machine(n), Repair: "r", Provider: fleet.ProviderName("lab" + place),
		Host:  fleet.HostName("h" + place),
		Place: fleet.Place{Rack: "r" + place, Room: "m" + place, Zone: "z" + place},
	}
}

// L5: of each budget that fleets share the last place is given, and not one more; repairs in other scopes, and the
// machine's own, take none.
func TestSharedBudgetsToTheLastPlace(t *testing.T) {
	t.Parallel()
	for _, scope := range []policy.ScopeKind{
		policy.ScopeInstallation, policy.ScopeProvider, policy.ScopeHost, policy.ScopeRack, policy.ScopeRoom,
		policy.ScopeZone,
	} {
		for limit := 1; limit <= 3; limit++ {
			for taken := range 5 {
				t.Run(fmt.Sprintf("%s, %d of %d", scope, taken, limit), func(t *testing.T) {
					t.Parallel()
					m, s := sick(), quiet()
					s.Spec.Provider, m.Current.Host = "lab", "h"
					s.Hosts = []fleet.Host{{Name: "h", Up: true, Place: fleet.Place{Rack: "r", Room: "m", Zone: "z"}}}
					s.Spec.Limits.Shared = []policy.SharedLimit{{Scope: scope, InRepair: limit}}
					s.Slots = s.Slots.With(budget.Slot{Machine: m.Name, Repair: "before", Provider: "lab", Host: "h"})
					for n := range taken {
						s.Slots = s.Slots.With(elsewhere(n+1, ""))
					}
					if scope != policy.ScopeInstallation {
						s.Slots = s.Slots.With(elsewhere(8, "-other")).With(elsewhere(9, "-other"))
					}
					full := guard.SharedBudget(&m, &s)
					if (full != nil) != (taken >= limit) || full != nil &&
						(full.Taken != taken || full.Limit.InRepair != limit) {
						t.Errorf("%+v", full)
					}
					if why := guard.NewRepair(&m, &s,
						fleet.StepReboot); (why == fleet.ReasonBudget) != (taken >= limit) {
						t.Errorf("held: %q", why)
					}
				})
			}
		}
	}
}

// The same of a fleet's own budgets, of repairs and of builds.
func TestAFleetsBudgetsToTheLastPlace(t *testing.T) {
	t.Parallel()
	for limit := 1; limit <= 3; limit++ {
		for taken := range 5 {
			m, s := sick(), quiet()
			s.Spec.Limits.InRepair, s.Tally.InRepair = limit, taken
			if why := guard.NewRepair(&m, &s, fleet.StepReboot); (why == fleet.ReasonBudget) != (taken >= limit) {
				t.Errorf("repair, %d of %d: held: %q", taken, limit, why)
			}
			s = quiet()
			s.Spec.Limits.InBuild, s.Tally.InBuild = limit, taken
			if why := guard.NewBuild(&m, &s); (why == fleet.ReasonBuildBudget) != (taken >= limit) {
				t.Errorf("build, %d of %d: held: %q", taken, limit, why)
			}
		}
	}
}

// A wanted change counts every machine that fails or changes, but its own.
func TestAWantedChangeTakesTheLastPlace(t *testing.T) {
	t.Parallel()
	for limit := 1; limit <= 3; limit++ {
		for failing := range 3 {
			for changing := range 3 {
				m, s := sick(), quiet()
				s.Spec.Limits.InRepair = limit
				s.Tally.Failing, s.Tally.Changing = failing+1, changing // it fails itself
				if why := guard.NewChange(&m, &s); (why == fleet.ReasonBudget) != (failing+changing >= limit) {
					t.Errorf("%d fail and %d change of %d: held: %q", failing, changing, limit, why)
				}
			}
		}
	}
}

// `hale heal` repairs also while no window is open: a person who orders it knows what time it is. Only as long as the
// order stands.
func TestAPersonsOrderHealsInClosedHours(t *testing.T) {
	t.Parallel()
	m, s := sick(), quiet()
	s.Closed = true
	if why := guard.NewRepair(&m, &s, fleet.StepReboot); why != fleet.ReasonWindow {
		t.Errorf("without an order: %q", why)
	}
	m.Wanted = &belief.Wanted{Order: "o", By: "alice", Until: s.Now.Wall.Add(time.Nanosecond)}
	if why := guard.NewRepair(&m, &s, fleet.StepReboot); why != "" {
		t.Errorf("by order: %q", why)
	}
	m.Wanted.Until = s.Now.Wall
	if why := guard.NewRepair(&m, &s, fleet.StepReboot); why != fleet.ReasonWindow {
		t.Errorf("by an order that is over: %q", why)
	}
}
