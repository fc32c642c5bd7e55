package sim_test

import (
	"fmt"
	"testing"
	"time"

	"hale/internal/fleet"
	"hale/internal/sim"
	"hale/internal/sim/world"
)

// S74: the switch of a rack dies for half an hour, whenever in the order of the checks that is. The only machine of a
// fleet lies behind it, and thirty of other fleets do, too. It is not touched, though silence alone is enough for its
// policy, and one page tells of the rack. Where it hangs alone, it is healed.
func TestS74TheOnlyMachineOfAFleetBehindADeadSwitch(t *testing.T) {
	t.Parallel()
	for second := range 10 {
		for event, healed := range map[string]bool{"rack r1 is cut off for 30m": false, "web-1 hangs": true} {
			t.Run(fmt.Sprintf("%s after %d s", event, 60+second), func(t *testing.T) {
				t.Parallel()
				o := sim.Options{Spec: sim.Exemplar(1), Horizon: time.Hour}
				o.Spec.Repair.Silence = fleet.SilenceActs
				for h := range 6 {
					o.Hosts = append(o.Hosts, world.Host{
						Name: fmt.Sprintf("h%d", h+1), Rack: fmt.Sprintf("r%d", 1+h/3), Beside: 10,
					})
				}
				e, err := sim.ParseEvent(fmt.Sprintf("%ds %s", 60+second, event))
				if err != nil {
					t.Fatal(err)
				}
				o.Plan = []sim.Event{e}
				r, err := sim.Run(o)
				if err != nil {
					t.Fatal(err)
				}
				s := r.Score
				if acted := s.Actions > 0; acted != healed || (s.Paged == 1) == healed || s.LawsBroken > 0 {
					t.Errorf("%d calls, %d pages, broken: %v", s.Actions, s.Paged, r.Violations)
				}
			})
		}
	}
}
