package engine

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/core/tenure"
	"hale/internal/defect"
	"hale/internal/engine/notes"
	"hale/internal/probe"
	"hale/internal/program"
	"hale/internal/provider"
)

func refOf(a situation.Action) provider.Ref {
	return provider.Ref{ID: a.Instance, Host: a.Host, Mark: a.Mark, Adopted: a.Adopted, ForGood: a.ForGood,
		Excused: a.Excused}
}

// perform starts an action once its belief is stored. Its result comes back as news.
func (t *term) perform(ctx context.Context, index int, a situation.Action) {
	switch a.Kind {
	case situation.ActionLook:
		t.look(ctx, index, a)
	case situation.ActionObserve:
		t.observe(ctx, index, a.Instance, a.Host)
	case situation.ActionCall:
		t.call(ctx, index, a)
	case situation.ActionGather:
		t.gather(ctx, index, a)
	}
}

// Tell hands news to the reigning goroutine, unless the term is over.
func (t *term) tell(ctx context.Context, n news) {
	select {
	case t.inbox <- n:
	case <-ctx.Done():
	}
}

func (t *term) observe(ctx context.Context, index int, id fleet.InstanceID, host fleet.HostName) {
	q := t.question(index, id, host)
	t.apart(ctx, "observe", func() news {
		if s := t.observation(ctx, q); s != nil {
			return func(t *term) { t.own.Sight(index, *s) }
		}
		return nil
	}, func(*defect.Panic) news { return nil })
}

// look asks the provider, and then each check once, side by side, at the address that the provider named just now: a
// machine that moved is not dead.
func (t *term) look(ctx context.Context, index int, a situation.Action) {
	targets, q := t.forLook(index, a.Scope), t.question(index, a.Instance, a.Host)
	stood := t.own.Stood(a.Instance)
	asked := fleet.Look{ID: a.Look, Started: t.clock.Now().Mono}
	told := func(l fleet.Look) news { return func(t *term) { t.own.TellLook(index, l) } }
	t.apart(ctx, "look", func() news {
		l := asked
		l.Checks = make([]fleet.CheckState, len(targets))
		if s := t.observation(ctx, q); s != nil {
			l.Seen = *s
		}
		var probes sync.WaitGroup
		for k := range targets {
			if a := l.Seen.Instance.Address; a.IsValid() && a != targets[k].Address {
				targets[k].Address, targets[k].Rival = a, "" // whether it has one there the picture knows
			}
			if l.Seen.Instance.Power != fleet.PowerGone && l.Seen.Instance.ID == targets[k].Instance {
				targets[k].Host, targets[k].Metadata = l.Seen.Instance.Host, l.Seen.Instance.Metadata
			}
			probes.Go(func() { l.Checks[k] = t.lookAt(ctx, targets[k]) })
		}
		l.Moves = t.moves(ctx, q.Subject, stood)
		probes.Wait()
		return told(l)
	}, func(p *defect.Panic) news { return told(blind(asked, targets, p)) })
}

// ask probes a machine once, on demand, at the address that is known.
func (t *term) ask(ctx context.Context, index int) {
	targets := t.forLook(index, situation.LookFull)
	told := func(checks []fleet.CheckState) news { return func(t *term) { t.own.TellAsked(index, checks) } }
	t.apart(ctx, "ask", func() news {
		checks := make([]fleet.CheckState, len(targets))
		var probes sync.WaitGroup
		for k := range targets {
			probes.Go(func() { checks[k] = t.lookAt(ctx, targets[k]) })
		}
		probes.Wait()
		return told(checks)
	}, func(*defect.Panic) news { return told(nil) })
}

// lookAt probes one target now. A probe that panics says nothing.
func (t *term) lookAt(ctx context.Context, target probe.Target) (s fleet.CheckState) {
	at := defect.Place{Part: defect.Probes, Of: string(t.name)}
	defer t.defects.Catch(at, "look", func(p *defect.Panic) { s = unprobed(target, p) })
	return t.probes.Look(ctx, target)
}

func unprobed(target probe.Target, p *defect.Panic) fleet.CheckState {
	return fleet.CheckState{
		Check: target.Check, Standing: fleet.StandingUnknown, Result: fleet.ResultPanicked, Detail: p.Value,
	}
}

// blind is a look that panicked: it has no answer.
func blind(l fleet.Look, targets []probe.Target, p *defect.Panic) fleet.Look {
	for _, target := range targets {
		l.Checks = append(l.Checks, unprobed(target, p))
	}
	return l
}

// call sends a stored intent. A disruptive one goes out only while the lease surely covers it (L7).
func (t *term) call(ctx context.Context, index int, a situation.Action) {
	order, rolled, checks := t.orderOf(a), notes.Builds(t.spec.Rolled()), t.own.Spec().Asked()
	told := func(o fleet.Outcome) news {
		return func(t *term) {
			t.own.TellOutcome(index, o)
			t.poller.Nudge()
		}
	}
	t.apart(ctx, "call", func() news {
		if err := introduce(ctx, &order, checks); err != nil {
			return told(fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeNotSent, Detail: fault.Plain(err)})
		}
		return told(t.send(ctx, a, order, rolled))
	}, func(p *defect.Panic) news {
		return told(fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeUnknown, Detail: p.Error()})
	})
}

// orderOf returns what a create asks for: the instance as it is built from the template in force.
func (t *term) orderOf(a situation.Action) provider.Blueprint {
	ref := refOf(a)
	ref.Mark.Built, ref.Mark.Instance = a.Intent.At, a.Instance
	template := t.own.Spec().Template
	if l := t.own.State().Whole.Ledger; l != nil {
		template = l.TemplateOf(a.Intent.Edition, t.own.Wanted())
	}
	return provider.Blueprint{Ref: ref, Name: string(a.Machine), Template: template, Made: a.Made}
}

func (t *term) send(ctx context.Context, a situation.Action, order provider.Blueprint, rolled notes.Builds) fleet.Outcome {
	if why := t.poller.Roll.Permit(ctx, a, rolled); why != "" {
		return fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeNotSent, Detail: why}
	}
	if err := t.poller.Adopters.Permit(ctx, a); err != nil {
		return fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeNotSent, Detail: fault.Plain(err)}
	}
	limit, covered := tenure.Cover(a.Intent, t.lease.Remaining())
	if !covered {
		return fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeNotSent, Detail: string(fleet.ReasonLeaseShort)}
	}
	cctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch a.Intent.Op {
	case fleet.OpRun:
		return t.run(cctx, a)
	case fleet.OpFence:
		return t.cutPower(cctx, a)
	default:
	}
	o := fleet.Outcome{Intent: a.Intent.ID}
	var err error
	call := provider.Call{Op: a.Intent.Op, Ref: refOf(a), Blueprint: order, Snapshot: a.Snapshot}
	o.Copy, err = provider.Do(cctx, t.poller.Source.Adapter, call)
	o.Kind = outcomeOf(err)
	if err != nil {
		o.Detail = fault.Plain(err)
	}
	return o
}

// Run executes a command. Its exit code is its word: 0 is a success.
func (t *term) run(ctx context.Context, a situation.Action) fleet.Outcome {
	result, err := t.poller.Source.Runner.Run(ctx, program.Job{Machine: a.Machine, Instance: a.Instance, Host: a.Host,
		Args: a.Args, Env: a.Env})
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
func (t *term) cutPower(ctx context.Context, a situation.Action) fleet.Outcome {
	o := fleet.Outcome{Intent: a.Intent.ID}
	f := t.poller.Source.Fencer
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
