package look_test

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/look"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// A check that fails in the look, too, confirms the failure; one that succeeds refutes it.
func ExampleShows() {
	m := belief.Machine{Name: "web-2", Current: belief.Incarnation{ID: "i-2", Certified: true},
		Health: belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}}
	s := guard.Situation{State: situation.State{Spec: policy.Spec{Name: "web", Size: 3,
		Checks:        []policy.Check{{Name: "page", Kind: policy.CheckHTTP}},
		UnhealthyWhen: policy.Condition{Op: policy.OpTerm, Term: "page"}}}}
	c := chart.Chart{M: &m, View: &situation.View{}, Situation: &s}
	heal := belief.Repair{Kind: belief.RepairHeal}
	heal.Climb = belief.Climb{Step: fleet.StepReboot, Aim: belief.AimAt(m.Current)}
	for _, standing := range []fleet.Standing{fleet.StandingDown, fleet.StandingUp} {
		truth, why := look.Shows(&c, &heal, &fleet.Look{
			Seen:   fleet.Sighting{Asked: 1, Instance: fleet.Instance{ID: "i-2", Power: fleet.PowerRunning}},
			Checks: []fleet.CheckState{{Check: "page", Standing: standing}},
		})
		fmt.Println(truth == health.True, why)
	}
	// Output:
	// true confirmed
	// false refuted
}
