package sim

import (
	"time"

	"hale/internal/core/fleet"
)

// Defaults is the exemplar with the times that a configuration has which says nothing of them: the score of the new
// plans is what an operator gets who wrote ten lines. Its limits grow with the fleet, as the exemplar's do.
func Defaults(size int) fleet.Spec {
	const every, wait = 5 * time.Second, time.Minute
	s := Exemplar(size)
	for i := range s.Checks {
		s.Checks[i].Every, s.Checks[i].Timeout = every, time.Second
	}
	for i := range s.Repair.Steps {
		step := &s.Repair.Steps[i]
		if step.Kind.Builds() {
			step.Timeout, step.VerifyWithin = 2*time.Minute, 0 // it is built within BuildWithin
			continue
		}
		step.Timeout, step.VerifyWithin = 30*time.Second, wait
	}
	s.Repair.Backoff = 10 * time.Second
	s.Limits.Brake.ReleaseAfter = 30 * time.Second
	s.Grace, s.BuildWithin, s.BlindAfter = wait, 5*wait, 5*wait
	return s
}
