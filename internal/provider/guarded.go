package provider

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/defect"
)

// Guarded returns the provider as one that does not panic, and tells the witness when the one behind it does. A
// question that panicked has no answer (fault.Transient), and an order has an unknown outcome. What it can do is what
// the one behind can.
func Guarded(p Provider, told defect.Witness) Provider {
	g := &guarded{told: told}
	g.Relay = NewRelay(p, func(ctx context.Context, c Call, do func(context.Context, Provider) error) (err error) {
		defer func() { g.note(c, recover(), &err) }()
		return do(ctx, p)
	})
	return g
}

type guarded struct {
	*Relay
	told defect.Witness
}

func (g *guarded) note(c Call, panicked any, err *error) {
	p := defect.Of(panicked)
	if p == nil {
		return
	}
	g.told.Note("", string(c.Op), p)
	kind := fault.UnknownOutcome
	if c.Asks() {
		kind = fault.Transient
	}
	*err = fault.New(kind, "provider."+string(c.Op), string(c.Ref.ID), p)
}

// Has implements Chooser.
func (g *guarded) Has(name string) (has bool) {
	defer g.told.Catch("", "has", nil)
	return g.Relay.Has(name)
}

// Close implements Provider.
func (g *guarded) Close() (err error) {
	defer func() { g.note(Call{Op: "close"}, recover(), &err) }()
	return g.Relay.Close()
}

// GuardedWatcher returns the watcher as one that does not panic: Watch returns what panicked as an error.
func GuardedWatcher(w Watcher, told defect.Witness) Watcher {
	if w == nil {
		return nil
	}
	return guardedWatcher{w, told}
}

type guardedWatcher struct {
	behind Watcher
	told   defect.Witness
}

// Watch implements Watcher.
func (g guardedWatcher) Watch(ctx context.Context, changed func(Event)) (err error) {
	defer g.told.Catch("", "watch", func(p *defect.Panic) { err = fault.New(fault.Transient, "provider.watch", "", p) })
	return g.behind.Watch(ctx, changed)
}
