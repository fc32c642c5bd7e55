package look_test

import (
	"fmt"

	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/look"
)

// A check that fails in the look, too, confirms the failure; one that succeeds refutes it.
func ExampleShows() {
	m := fleet.Machine{Name: "web-2", Current: fleet.Incarnation{ID: "i-2", Certified: true},
		Health: fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseChecks}}
	s := guard.Situation{State: fleet.State{Spec: fleet.Spec{Name: "web", Size: 3,
		Checks:        []fleet.Check{{Name: "page", Kind: fleet.CheckHTTP}},
		UnhealthyWhen: fleet.Condition{Op: fleet.OpTerm, Term: "page"}}}}
	c := chart.Chart{M: &m, View: &fleet.View{}, Situation: &s}
	heal := fleet.Repair{Kind: fleet.RepairHeal}
	heal.Climb = fleet.Climb{Step: fleet.StepReboot, Aim: fleet.AimAt(m.Current)}
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
