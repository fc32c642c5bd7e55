package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
)

// What the web's checks say of its database, they say a moment before those of the database do: a repair that has
// begun, and has done nothing yet, makes room. What is under way is finished, and what a person orders is done.
func TestARepairMakesRoomForTheFleetThatComesFirst(t *testing.T) {
	t.Parallel()
	stage := func() *stage {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		st.s.Unready = []situation.Ahead{{Fleet: "db"}}
		return st
	}
	st := stage()
	st.want("it makes room", st.round(), "repair-ended after; held after; over")
	st = stage()
	st.m.Repair.OffCalls = 1
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("it finishes", st.round(), "look confirmed; CALL reboot old; act")
	st = stage()
	st.m.Wanted = &belief.Wanted{Order: "o", Until: st.s.Now.Wall.Add(time.Hour)}
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("a person wants it", st.round(), "look confirmed; CALL reboot old; act")
}
