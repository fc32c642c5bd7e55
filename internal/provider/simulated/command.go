package simulated

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/hook"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/sim/errand"
	"hale/internal/sim/guest"
	"hale/internal/sim/world"
)

// Commands executes commands for the world's guests, none of them for real: a guest that can be reached gets its
// configuration applied again, whatever the command is. Calls with OpRun hit them as they hit calls.
func (p *Provider) Commands() program.Runner { return commands{p} }

type commands struct{ p *Provider }

// commandTime is how long a command takes.
const commandTime = 2 * time.Second

// unreachableCode is what a command ends with that does not get to its guest.
const unreachableCode = 4

// Run implements program.Runner.
func (c commands) Run(ctx context.Context, job program.Job) (program.Result, error) {
	ref := provider.Ref{ID: job.Instance, Host: job.Host, Mark: fleet.Mark{Machine: job.Machine}}
	said := strings.Join(job.Args, " ")
	var r program.Result
	fail := func(err error) (program.Result, error) {
		return r, fault.New(fault.Permanent, "simulated.run", string(job.Machine), err)
	}
	if err := c.p.wait(ctx, commandTime); err != nil {
		return fail(err)
	}
	if err := c.p.change(ctx, fleet.OpRun, ref, func(call *world.Call) { call.Op = world.Configure }); err != nil {
		return fail(err)
	}
	r = program.Result{Code: unreachableCode, Output: said + ": unreachable"}
	c.p.world.onVM(ref.ID, ref.Host, func(t *world.World, vm *world.VM) bool {
		if t.Hear("", vm.Lease()).Ping == guest.Well {
			r = program.Result{Output: fmt.Sprintf("%s: ok, at %s", said, vm.Lease())}
		}
		return true
	})
	return r, nil
}

// Hooks runs hooks around the work on the world's machines, none of them for real: each is done after a while, and a
// guest that it gets to has its configuration applied again.
func (p *Provider) Hooks() hook.Runner { return hooks{p} }

type hooks struct{ p *Provider }

// Run implements hook.Runner.
func (h hooks) Run(ctx context.Context, e *situation.Errand) (program.Result, error) {
	fail := func(kind fault.Kind, err error) (program.Result, error) {
		return program.Result{}, fault.New(kind, "simulated.hook", string(e.Facts.Machine), err)
	}
	id := string(e.Moment.Hook(e.Hook.Name))
	fate := h.p.world.fate(id)
	if fate == errand.Hangs {
		<-ctx.Done()
		return fail(fault.Permanent, fmt.Errorf("killed: %w", ctx.Err()))
	}
	if err := h.p.wait(ctx, commandTime); err != nil {
		return fail(fault.UnknownOutcome, err)
	}
	if fate != errand.Done {
		return fail(kindOf(world.End(fate)), errIll)
	}
	ref := provider.Ref{ID: e.Facts.Instance, Host: e.Facts.Host, Mark: fleet.Mark{Machine: e.Facts.Machine}}
	if err := h.p.change(ctx, fleet.OpHook, ref, func(call *world.Call) {
		call.Op, call.Hook, call.Repair, call.Once = world.Configure, id, e.Repair, !e.Hook.Idempotent
	}); err != nil {
		return fail(fault.UnknownOutcome, err)
	}
	return program.Result{}, nil
}

var errIll = errors.New("the world has it end so")

// fate is how the hook ends, which is named with its moment.
func (w *World) fate(hook string) (is errand.Fate) {
	w.do(func(t *world.World) { is = t.Errands.Of(hook) })
	return is
}
