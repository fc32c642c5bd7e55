package picture_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/owner/picture"
)

// What a check found just before it was edited may be heard after that: it says nothing of the check as it is now.
func TestWhatACheckFoundBeforeItWasEditedIsNotHeard(t *testing.T) {
	t.Parallel()
	a := shown(t)
	edited := spec()
	edited.Checks[1].Port = 8081
	a.Want(edited, noon(time.Minute))
	hear := func(check fleet.CheckName, since time.Duration) fleet.Standing {
		a.Hear(
			picture.Edge{
				Machine:  "web-1",
				Check:    check,
				Epoch:    a.Aim(0).Epoch,
				Standing: fleet.StandingUp,
				Since:    at(since),
			},
		)
		for _, c := range a.View(0).Checks {
			if c.Check == check {
				return c.Standing
			}
		}
		return ""
	}
	if got := hear("page", time.Minute-1); got != fleet.StandingUnknown {
		t.Errorf("what was found a moment before the edit makes it %s", got)
	}
	if got := hear("page", time.Minute); got != fleet.StandingUp {
		t.Errorf("what was found at the edit makes it %s", got)
	}
	if got := hear("alive", time.Second); got != fleet.StandingUp {
		t.Errorf("a check that was not edited is %s", got)
	}
}
