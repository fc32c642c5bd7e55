package netprobe

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"hale/internal/probe"

	"golang.org/x/sys/unix"
)

const (
	// maxPrograms is the greatest number of programs of exec checks that run at once.
	maxPrograms = 64
	// maxOutput is how much of a program's output is kept, in bytes.
	maxOutput = 4 << 10
	// pipeWait is how long a program's pipes may stay open after its end.
	pipeWait = 200 * time.Millisecond
)

// Run implements probe.Transport. The program gets a PATH and its own environment, nothing on its standard input, and a process
// group, which is killed when ctx ends and when the program does: nothing that it started in it lives on. When ctx ends the error is
// the context's. Any other error is local: the program did not run, or not with its whole time because too many others did. A program
// that a signal killed has code -1.
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
	cmd := programOf(ctx, p, out)
	err = runGroup(cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && waited:
		return 0, "", probe.LocalError{Err: fmt.Errorf("waited for one of %d programs to end: %w", maxPrograms, ctx.Err())}
	case ctx.Err() != nil:
		return 0, out.String(), ctx.Err()
	case errors.As(err, &exit):
		return exit.ExitCode(), out.String(), nil
	case errors.Is(err, exec.ErrWaitDelay): // somebody who left the group holds its pipes
		return cmd.ProcessState.ExitCode(), out.String(), nil
	case err != nil:
		return 0, out.String(), probe.LocalError{Err: err}
	}
	return 0, out.String(), nil
}

// runGroup runs the program and then ends what is left of its group.
func runGroup(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	// The program is dead but not reaped yet, so nobody else can have its group's number.
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return cmd.Wait()
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

func programOf(ctx context.Context, p probe.Program, out *head) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	// The last one of a name counts.
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, p.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeWait
	return cmd
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
