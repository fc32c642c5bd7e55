package netprobe

import (
	"context"
	"errors"
	"fmt"

	"hale/internal/probe"
	"hale/internal/process"
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

	out := &head{}
	code, err = process.Run(ctx, process.Program{Args: p.Args, Env: p.Env, Output: out})
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

// head keeps the beginning of what is written. os/exec serialises the writes, since both outputs are the same writer.
type head struct{ kept []byte }

// Write keeps what there is room for and accepts the rest.
func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxOutput-len(h.kept))]...)
	return len(p), nil
}

// String returns what was kept.
func (h *head) String() string { return string(h.kept) }
