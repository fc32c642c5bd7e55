package program

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/defect"
)

// Guarded returns the runner as one that does not panic. When the one behind it does, Guarded tells the witness, and it
// is unknown how far the command ran (fault.UnknownOutcome).
func Guarded(r Runner, told defect.Witness) Runner {
	if r == nil {
		return nil
	}
	return guarded{r, told}
}

type guarded struct {
	behind Runner
	told   defect.Witness
}

// Run implements Runner.
func (g guarded) Run(ctx context.Context, job Job) (result Result, err error) {
	defer g.told.Catch("", "run", func(p *defect.Panic) {
		err = fault.New(fault.UnknownOutcome, "program.run", string(job.Machine), p)
	})
	return g.behind.Run(ctx, job)
}
