package engine

import (
	"context"
	"errors"
	"slices"

	"hale/internal/core/policy"
	"hale/internal/engine/notes"
	"hale/internal/engine/poller"
	"hale/internal/engine/process"
	"hale/internal/engine/takeover"
)

// TakeOver makes the store the other installation, in one transaction with the journal's word of it and with the orders
// by which its fleets believe the world: machines are then what the provider shows by their marks. Every owner begins a
// new term. fault.Conflict, in words for a person: the store has machines of its own, it is that installation, no
// listed instance bears it, or the engine does not run; nothing was changed then. Any other error is the store's.
func (e *Engine) TakeOver(ctx context.Context, t takeover.Wish) (takeover.Done, error) {
	if err := takeover.May(ctx, e.opts.Store, t, e.Status()); err != nil || t.DryRun {
		return takeover.Done{}, err
	}
	var out takeover.Done
	var err error
	asked := e.ask(ctx, func(ctx context.Context) { out, err = e.takeOver(ctx, t) })
	return out, errors.Join(asked, err)
}

// takeOver does what TakeOver says. It is Run's own. No fleet has an owner while the store becomes another
// installation.
func (e *Engine) takeOver(ctx context.Context, t takeover.Wish) (takeover.Done, error) {
	owners, fleets := *e.owners.Load(), e.Status()
	for _, o := range owners {
		e.dismiss(o)
	}
	out, err := takeover.Rename(ctx, e.opts.Store, t, fleets, e.clock.Now().Wall)
	for ctx.Err() == nil { // whatever became of it: no owner may go on under an id that is not the store's
		id, unread := process.Installation(ctx, e.opts.Store)
		if unread == nil {
			if e.id = id; err != nil && id == t.Installation {
				err = nil // the answer was lost
			}
			break
		}
		_ = process.Rest(ctx, firstRest)
	}
	e.recall(e.id)
	for _, s := range e.pollers {
		s.Roll.Become(ctx, e.id)
		s.Adopters.Become(ctx, e.id)
		if e.id == t.Installation {
			s.Roll.Inherit(ctx, notes.Builds(e.builds(s)))
		}
	}
	for _, o := range owners {
		o.installation = e.id
		e.keep(ctx, o, o.place(), o.run)
	}
	for _, s := range e.pollers {
		s.Nudge()
	}
	return out, err
}

// builds reports whether something is built or destroyed in a fleet of the poller's.
func (e *Engine) builds(s *poller.Poller) bool {
	return slices.ContainsFunc(*e.owners.Load(), func(o *holder) bool {
		spec := o.told.Load().spec
		return o.poller == s && spec.Mode == policy.ModeAct && spec.Rolled()
	})
}
