// Package program is hale's port to the commands of run steps, which are executed on hale's side: a playbook, a script.
//
// It promises that a command's whole process group ends when its context does, and that what is kept of its output is
// bounded: the beginning and the end. It does not decide whether a command may be run, or run again.
package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/process"
	"hale/internal/secret"
)

// Job is one command for one machine, with everything filled in.
type Job struct {
	Machine  fleet.MachineName
	Instance fleet.InstanceID
	Host     fleet.HostName
	Args     []string // the program itself first
	// Env is its environment beside a PATH; nothing else is handed down. Secrets are read when it is started, and
	// hidden in what it says.
	Env []fleet.Variable
}

// Result is how a command ended.
type Result struct {
	Code   int    // its exit code; -1: a signal killed it
	Output string // what it said, bounded
}

// Runner executes commands.
type Runner interface {
	// Run executes the command. An error means that there is no exit code. fault.Invalid: there is no such program.
	// fault.Transient: it could not be started. fault.Permanent: its time was over and it was killed. NoSecret: it was
	// not started. The result's output counts in any case.
	Run(ctx context.Context, job Job) (Result, error)
}

// Here executes commands on this machine.
type Here struct{}

var _ Runner = Here{}

// Run implements Runner.
func (Here) Run(ctx context.Context, job Job) (Result, error) {
	env, hidden, err := environment(ctx, job.Env)
	if err != nil {
		return Result{}, err
	}
	out := Digest{Hide: hidden}
	code, err := process.Run(ctx, process.Program{Args: job.Args, Env: env, Output: &out})
	r := Result{Code: code, Output: out.String()}
	fail := func(kind fault.Kind, err error) (Result, error) {
		return r, fault.New(kind, "program.run", string(job.Machine), err)
	}
	var never process.NotStarted
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return fail(fault.Permanent, fmt.Errorf("killed: %w", ctx.Err()))
	case errors.As(err, &never) &&
		(errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || len(job.Args) == 0):
		return fail(fault.Invalid, err)
	case errors.As(err, &never):
		return fail(fault.Transient, err)
	}
	return fail(fault.Permanent, err)
}

// NoSecret says that a secret of a command's environment cannot be read. It tells neither where it is kept nor what is
// there.
type NoSecret struct {
	Variable string
	Err      error
}

// Error implements error.
func (n NoSecret) Error() string {
	return fmt.Sprintf("the secret of %s cannot be read: %v", n.Variable, n.Err)
}

// Unwrap returns the cause.
func (n NoSecret) Unwrap() error { return n.Err }

// environment returns the variables as "NAME=value", and the values among them that are secret. They are read anew each
// time, so that a changed one is taken up, and live no longer than the command. The error is a NoSecret.
func environment(ctx context.Context, variables []fleet.Variable) (env, hidden []string, err error) {
	for _, v := range variables {
		if !v.Secret.None() {
			if v.Value, err = secret.Read(ctx, v.Secret); err != nil {
				return nil, nil, NoSecret{v.Name, err}
			}
			hidden = append(hidden, v.Value)
		}
		env = append(env, v.Name+"="+v.Value)
	}
	return env, hidden, nil
}

// How much of an output is kept, in bytes.
const (
	headSize = 8 << 10
	tailSize = 16 << 10
)

// Digest keeps the beginning and the end of what is written to it. The zero value is ready. It is not safe for
// concurrent use.
type Digest struct {
	// Hide are values that are not kept: secrets.
	Hide       []string
	head, tail []byte
	cut        int // bytes between them that were let go
}

// Write implements io.Writer; it cannot fail.
func (d *Digest) Write(p []byte) (int, error) {
	n := len(p)
	room := min(n, headSize-len(d.head))
	d.head = append(d.head, p[:room]...)
	d.tail = append(d.tail, p[room:]...)
	if over := len(d.tail) - tailSize; over > tailSize { // now and then, so that a byte is not moved each time
		d.cut += over
		d.tail = append(d.tail[:0], d.tail[over:]...)
	}
	return n, nil
}

// String returns what was kept, printable, and says how much was left out.
func (d *Digest) String() string {
	tail, cut := d.tail, d.cut
	if over := len(tail) - tailSize; over > 0 {
		tail, cut = tail[over:], cut+over
	}
	if cut == 0 {
		return d.shown(string(d.head) + string(tail))
	}
	return d.shown(secret.RedactEnd(string(d.head), d.Hide...)) + fmt.Sprintf("\n[%d bytes left out]\n", cut) +
		d.shown(secret.RedactBegin(string(tail), d.Hide...))
}

// shown is a printable text without what is hidden, as that looks once it is printable.
func (d *Digest) shown(s string) string {
	s = printable(s)
	for _, v := range d.Hide {
		s = secret.Redact(s, printable(v))
	}
	return s
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		if r == '\t' {
			return ' '
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
}
