package calls

import (
	"context"
	"errors"
	"strconv"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/core/tenure"
	"hale/internal/defect"
	"hale/internal/engine/notes"
	"hale/internal/engine/poller"
	"hale/internal/program"
	"hale/internal/provider"
)

// Ref is the instance that the action is about.
func Ref(a situation.Action) provider.Ref {
	return provider.Ref{ID: a.Instance, Host: a.Host, Mark: a.Mark, Adopted: a.Adopted, ForGood: a.ForGood,
		Excused: a.Excused}
}

// Caller asks for one fleet.
type Caller struct {
	Poller    *poller.Poller
	Remaining func() time.Duration // of the lease
	Defects   *defect.Register
	Place     defect.Place
}

// Send sends the action's call, and returns how it ended.
func (c Caller) Send(ctx context.Context, a situation.Action, order provider.Blueprint,
	rolled notes.Builds) fleet.Outcome {
	if why := c.Poller.Roll.Permit(ctx, a, rolled); why != "" {
		return fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeNotSent, Detail: why}
	}
	if err := c.Poller.Adopters.Permit(ctx, a); err != nil {
		return fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeNotSent, Detail: fault.Plain(err)}
	}
	limit, covered := tenure.Cover(a.Intent, c.Remaining())
	if !covered {
		return fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeNotSent, Detail: string(fleet.ReasonLeaseShort)}
	}
	cctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch a.Intent.Op {
	case fleet.OpRun:
		return c.run(cctx, a)
	case fleet.OpHook:
		return c.hook(cctx, a)
	case fleet.OpFence:
		return c.cutPower(cctx, a)
	default:
	}
	o := fleet.Outcome{Intent: a.Intent.ID}
	var err error
	call := provider.Call{Op: a.Intent.Op, Ref: Ref(a), Blueprint: order, Snapshot: a.Snapshot}
	o.Copy, err = provider.Do(cctx, c.Poller.Source.Adapter, call)
	o.Kind = outcomeOf(err)
	if err != nil {
		o.Detail = fault.Plain(err)
	}
	return o
}

// run executes a command. Its exit code is its word: 0 is a success.
func (c Caller) run(ctx context.Context, a situation.Action) fleet.Outcome {
	result, err := c.Poller.Source.Runner.Run(ctx, program.Job{Machine: a.Machine, Instance: a.Instance, Host: a.Host,
		Args: a.Args, Env: a.Env})
	return ended(a, result, err)
}

// hook runs a hook.
func (c Caller) hook(ctx context.Context, a situation.Action) fleet.Outcome {
	if c.Poller.Source.Hooks == nil || a.Errand == nil {
		return fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeUnsupported, Detail: lacking(a).Error()}
	}
	result, err := c.Poller.Source.Hooks.Run(ctx, a.Errand)
	return ended(a, result, err)
}

// ended is how a program, or what is like one, ended.
func ended(a situation.Action, result program.Result, err error) fleet.Outcome {
	o := fleet.Outcome{Intent: a.Intent.ID, Kind: outcomeOf(err), Output: result.Output}
	switch {
	case errors.As(err, new(program.NoSecret)):
		o.Kind, o.Detail = fleet.OutcomeNoSecret, fault.Plain(err)
	case err != nil:
		o.Detail = fault.Plain(err)
	case result.Code != 0:
		o.Kind, o.Detail = fleet.OutcomeFailed, "exit code "+strconv.Itoa(result.Code)
	}
	return o
}

// cutPower has the host turned off, or its access cut, by one of its methods.
func (c Caller) cutPower(ctx context.Context, a situation.Action) fleet.Outcome {
	o := fleet.Outcome{Intent: a.Intent.ID}
	f := c.Poller.Source.Fencer
	if f == nil {
		o.Kind, o.Detail = fleet.OutcomeUnsupported, lacking(a).Error()
		return o
	}
	done, err := f.Fence(ctx, a.Host, a.Intent.Try)
	if o.Kind, o.Already, o.Proof = outcomeOf(err), done.Already, done.Proof; err != nil {
		o.Detail = fault.Plain(err)
	}
	return o
}

// lacking says that the provider does not have the operation.
func lacking(a situation.Action) error {
	return fault.New(fault.Unsupported, "engine.call", string(a.Intent.Op), nil)
}

func outcomeOf(err error) fleet.OutcomeKind {
	switch fault.KindOf(err) {
	case "":
		return fleet.OutcomeDone
	case fault.UnknownOutcome:
		return fleet.OutcomeUnknown
	case fault.Throttled, fault.Transient, fault.LeaseLost:
		return fleet.OutcomeRetry
	case fault.Conflict:
		return fleet.OutcomeConflict
	case fault.Locked:
		return fleet.OutcomeLocked
	case fault.NotFound:
		return fleet.OutcomeNotFound
	case fault.Quota, fault.Unauthorised, fault.Invalid, fault.NoSpace:
		return fleet.OutcomeRefused
	case fault.Unsupported:
		return fleet.OutcomeUnsupported
	case fault.Permanent:
	}
	return fleet.OutcomeFailed
}
