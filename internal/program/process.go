package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"hale/internal/core/fault"
)

// pipeWait is how long a program's pipes may stay open after its end.
const pipeWait = 200 * time.Millisecond

// NotStarted is why a program did not run at all.
type NotStarted struct {
	Program string // as it was called
	Err     error
}

// Error implements error.
func (e NotStarted) Error() string { return "it could not be started: " + e.Err.Error() }

// Unwrap returns the cause.
func (e NotStarted) Unwrap() error { return e.Err }

// Judge says it to a person. NotFound: there is no such program. Unauthorised: hale may not run it. Transient: anything
// else.
func (e NotStarted) Judge() (kind fault.Kind, why string) {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist), errors.Is(e.Err, exec.ErrNotFound):
		return fault.NotFound, "there is no program " + e.Program
	case errors.Is(e.Err, fs.ErrPermission):
		return fault.Unauthorised, "hale may not run " + e.Program
	}
	return fault.Transient, e.Error()
}

// Process is a program with all that it gets.
type Process struct {
	Args []string // the first one names it
	// Env is its environment beside a PATH, as "NAME=value", the last one of a name counting.
	Env []string
	// Input is what it reads; nil: nothing.
	Input io.Reader
	// Output takes what it writes to its standard output; and to its standard error, too, one write after the other,
	// unless Errors takes that.
	Output io.Writer
	Errors io.Writer
}

// Run executes the program and returns its exit code; -1: a signal killed it. An error is the context's, if that ended
// it, or a NotStarted, or that of its output.
func Run(ctx context.Context, p Process) (code int, err error) {
	if len(p.Args) == 0 {
		return 0, NotStarted{Err: fmt.Errorf("no program is named: %w", fs.ErrNotExist)}
	}
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, p.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Input, p.Output, p.Output
	if p.Errors != nil {
		cmd.Stderr = p.Errors
	}
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeWait
	err = runGroup(cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case errors.Is(err, exec.ErrWaitDelay): // a process that left the group holds its pipes
		return cmd.ProcessState.ExitCode(), nil
	}
	return 0, err
}

// runGroup runs the program and then ends what is left of its group.
func runGroup(cmd *exec.Cmd) error {
	runtime.LockOSThread() // with the thread that started it the program would end
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return NotStarted{cmd.Args[0], err}
	}
	return reap(cmd)
}
