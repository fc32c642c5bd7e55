package engine

import (
	"context"
	"sync"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/defect"
	"hale/internal/engine/calls"
	"hale/internal/engine/notes"
	"hale/internal/probe"
	"hale/internal/provider"
)

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
		if err := calls.Introduce(ctx, &order, checks); err != nil {
			return told(fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeNotSent, Detail: fault.Plain(err)})
		}
		return told(t.calls().Send(ctx, a, order, rolled))
	}, func(p *defect.Panic) news {
		return told(fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeUnknown, Detail: p.Error()})
	})
}

// orderOf returns what a create asks for: the instance as it is built from the template in force.
func (t *term) orderOf(a situation.Action) provider.Blueprint {
	ref := calls.Ref(a)
	ref.Mark.Built, ref.Mark.Instance = a.Intent.At, a.Instance
	template := t.own.Spec().Template
	if l := t.own.State().Whole.Ledger; l != nil {
		template = l.TemplateOf(a.Intent.Edition, t.own.Wanted())
	}
	return provider.Blueprint{Ref: ref, Name: string(a.Machine), Template: template, Made: a.Made}
}

// calls is what asks the provider.
func (t *term) calls() calls.Caller {
	return calls.Caller{Poller: t.poller, Remaining: t.lease.Remaining, Defects: t.defects, Place: t.place()}
}
