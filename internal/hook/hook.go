// Package hook is hale's port to what people want done around the work on a machine: a program, a request, a playbook,
// files on the machine. What runs them for real is package ways.
//
// It promises that a hook is over when its context is: nothing that it started here lives on. What is kept of what it
// says is bounded, and has no secret of its own in it. It does not decide whether one is run, or run again.
package hook

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/core/situation"
	"hale/internal/defect"
	"hale/internal/program"
)

// Runner runs hooks.
type Runner interface {
	// Run runs the hook. Without an error the code says how it ended: 0, it is done. fault.Transient and
	// fault.Throttled: nothing was done, and it may be tried again. fault.UnknownOutcome: it may have been done.
	// program.NoSecret: it was not started. Any other: it failed. The result's output counts in any case.
	Run(ctx context.Context, e *situation.Errand) (program.Result, error)
}

// Guarded returns the runner as one that does not panic. When the one behind it does, Guarded tells the witness, and it
// is unknown how far the hook came.
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
func (g guarded) Run(ctx context.Context, e *situation.Errand) (result program.Result, err error) {
	defer g.told.Catch("", "hook", func(p *defect.Panic) {
		err = fault.New(fault.UnknownOutcome, "hook.run", string(e.Facts.Machine), p)
	})
	return g.behind.Run(ctx, e)
}
