package netprobe

import (
	"context"
	"errors"
	"fmt"

	"hale/internal/probe"
	"hale/internal/program"
)

const (
	// maxPrograms is the greatest number of programs of exec checks that run at once.
	maxPrograms = 64
	// maxOutput is how much of a program's output is kept, in bytes.
	maxOutput = 4 << 10
)

// Run implements probe.Transport. The program gets a PATH and its own environment, nothing on its standard input, and a
// process group, which is killed when ctx ends and when the program does: nothing that it started in it lives on. When
// ctx ends the error is the context's. Any other error is local: the program did not run, or not with its whole time
// because too many others did. A program that a signal killed has code -1.
func (n *Net) Run(ctx context.Context, p probe.Program) (code int, output string, err error) {
	if len(p.Args) == 0 {
		return 0, "", probe.LocalError{Err: errors.New("no program")}
	}
	waited, err := n.enter(ctx)
	if err != nil {
		return 0, "", probe.LocalError{Err: fmt.Errorf("more than %d programs: %w", maxPrograms, err)}
	}
	defer func() { <-n.programs }()

	out := &program.Head{Most: maxOutput}
	code, err = program.Run(ctx, program.Process{Args: p.Args, Env: p.Env, Output: out})
	switch {
	case err == nil:
		return code, out.String(), nil
	case ctx.Err() != nil && waited:
		return 0, "", probe.LocalError{
			Err: fmt.Errorf("waited for one of %d programs to end: %w", maxPrograms, ctx.Err()),
		}
	case ctx.Err() != nil:
		return 0, out.String(), ctx.Err()
	}
	return 0, out.String(), probe.LocalError{Err: err}
}

// enter takes one of the places for programs, and says whether it had to wait for it.
func (n *Net) enter(ctx context.Context) (waited bool, err error) {
	select {
	case n.programs <- struct{}{}:
		return false, nil
	default:
	}
	select {
	case n.programs <- struct{}{}:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}
