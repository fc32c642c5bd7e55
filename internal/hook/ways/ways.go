// Package ways runs hooks for real: commands and playbooks as programs, requests over HTTP, files over SSH.
//
// It promises that a playbook is about one machine alone, that a file is replaced on a machine at once and as a whole,
// and that SSH is waited for as long as there is time: a new machine is still starting.
package ways

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/hook"
	"hale/internal/program"
)

// Ways runs hooks.
type Ways struct {
	Programs program.Runner
	Version  string // of hale
}

var _ hook.Runner = Ways{}

// Run implements hook.Runner.
func (w Ways) Run(ctx context.Context, e *situation.Errand) (program.Result, error) {
	switch e.Hook.Kind {
	case policy.HookCommand:
		args, env := e.Hook.Run.Fill(e.Facts.Filler())
		return w.Programs.Run(ctx, job(e, args, env))
	case policy.HookHTTP:
		return w.post(ctx, e)
	case policy.HookAnsible:
		return w.play(ctx, e)
	case policy.HookCopy:
		return copyFiles(ctx, e)
	case policy.HookWait: // nobody runs it
	}
	return program.Result{}, fault.New(fault.Unsupported, "hook.run", string(e.Hook.Kind), nil)
}

func job(e *situation.Errand, args []string, env []policy.Variable) program.Job {
	return program.Job{Machine: e.Facts.Machine, Instance: e.Facts.Instance, Host: e.Facts.Host, Args: args, Env: env}
}

const (
	knockEvery  = time.Second
	knockWithin = 5 * time.Second
)

// await returns when something answers at the machine's port.
func await(ctx context.Context, e *situation.Errand, port int) error {
	at := net.JoinHostPort(e.Facts.Address.String(), strconv.Itoa(port))
	tick := time.NewTicker(knockEvery)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{Timeout: knockWithin}).DialContext(ctx, "tcp", at)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fault.New(fault.Transient, "hook.ssh", at, errors.Join(errors.New("SSH does not answer there"), err))
		}
	}
}
