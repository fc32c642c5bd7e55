// Package program runs other people's programs on hale's side: checks, fences, targets of messages, providers, and the
// commands of run steps, for which it is the port.
//
// It promises that a program runs without a shell and with nothing of hale's environment but a PATH. The program has a
// process group of its own, which is killed when the context ends and when the program does: no process that it started
// there lives on. What is kept of an output is bounded. It does not limit how many programs run at once, and does not
// decide whether one may be run, or run again.
package program

import (
	"context"
	"errors"
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
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
	Env []policy.Variable
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
	env, hidden, err := Environment(ctx, job.Env)
	if err != nil {
		return Result{}, err
	}
	out := Digest{Hide: hidden}
	code, err := Run(ctx, Process{Args: job.Args, Env: env, Output: &out})
	r := Result{Code: code, Output: out.String()}
	fail := func(kind fault.Kind, err error) (Result, error) {
		return r, fault.New(kind, "program.run", string(job.Machine), err)
	}
	var never NotStarted
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return fail(fault.Permanent, fmt.Errorf("killed: %w", ctx.Err()))
	case errors.As(err, &never):
		if kind, _ := never.Judge(); kind == fault.Transient {
			return fail(kind, err)
		}
		return fail(fault.Invalid, err)
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

// Environment returns the variables as "NAME=value", and the values among them that are secret. They are read anew each
// time, so that a changed one is taken up, and live no longer than the command. The error is a NoSecret.
func Environment(ctx context.Context, variables []policy.Variable) (env, hidden []string, err error) {
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
