package decide_test

import (
	"fmt"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
)

// The provider says that web-1 is off. Before hale starts it, it looks once more.
func ExampleDecide() {
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)}
	current := belief.Incarnation{ID: "i-1", Generation: 1, Host: "h1", Certified: true}
	s := situation.Situation{
		State: situation.State{
			Now:      now,
			Spec:     spec(1),
			SteadyAt: 1,
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			Hosts:    []fleet.Host{{Name: "h1", Up: true}},
		},
		Installation: ours,
		Machines: []situation.View{{
			Due: true, FreshID: "i-2",
			Machine: belief.Machine{Name: "web-1", Generation: 1, Current: current},
			Checks:  []fleet.CheckState{{Check: "page", Standing: fleet.StandingUnknown}},
			Seen: []fleet.Sighting{{Asked: now.Mono, Instance: fleet.Instance{
				ID: "i-1", Name: "web-1", Host: "h1", Power: fleet.PowerOff, Stop: fleet.StopGuest,
				Mark: fleet.Mark{Installation: ours, Machine: "web-1", Generation: 1, Certified: true},
			}}},
		}},
	}
	for _, m := range decide.Decide(s).Machines {
		for _, r := range m.Records {
			fmt.Println(m.Belief.Name, r.Kind)
		}
		for _, a := range m.Actions {
			fmt.Println("then", a.Kind)
		}
	}
	// Output:
	// web-1 verdict
	// web-1 incident-opened
	// web-1 repair-started
	// web-1 step-chosen
	// then look
}
