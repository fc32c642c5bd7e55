package engine

import (
	"context"
	"reflect"
	"sync"

	"hale/internal/core/change"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/engine/beside"
	"hale/internal/engine/poller"
	"hale/internal/probe"
)

// worker is a poller or an owner at work.
type worker struct {
	at   defect.Place
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// keep runs a worker until ctx ends, or it stops by itself. One that panics is begun again.
func (e *Engine) keep(ctx context.Context, who any, at defect.Place, work ...func(context.Context)) {
	ctx, stop := context.WithCancel(ctx)
	p := &worker{at: at, stop: stop}
	for _, do := range work {
		p.wg.Go(func() { e.opts.Defects.Keep(ctx, at, do) })
	}
	e.workers[who] = p
}

// Leave ends the work, and waits for its end.
func (p *worker) leave() {
	p.stop()
	p.wg.Wait()
}

// dismiss ends a worker.
func (e *Engine) dismiss(who any) {
	if p := e.workers[who]; p != nil {
		p.leave()
		delete(e.workers, who)
	}
}

// ask has Run do something between two of its own. Without an error it was done. fault.Conflict: the engine does not
// run (any more); or ctx ended before it began.
func (e *Engine) ask(ctx context.Context, do func(ctx context.Context)) error {
	a := asked{do, make(chan struct{})}
	select {
	case e.asks <- a:
		<-a.done
		return nil
	case <-e.ended:
		return fault.New(fault.Conflict, "engine.ask", "", nil)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Asked is what Run is asked to do, with the context of Run.
type asked struct {
	do   func(ctx context.Context)
	done chan struct{}
}

// Reload makes the running engine look after another setup, without a gap for what is in both. A source goes on as it
// is while its Adapter is the same; a fleet while its source does, and its Probes are the same: an edited spec is taken
// in on the spot, and what would destroy something waits for a person's word. A fleet that is not there any more is let
// go: it is not watched when Reload returns, and nothing of it is destroyed; its Probes, and adapters that are not
// there any more, are not used any more and may be closed. Without an error everything was done; else nothing was:
// fault.Invalid, a fleet names a provider that is not among the sources; fault.Conflict, the engine does not run (any
// more); or ctx ended before it began.
func (e *Engine) Reload(ctx context.Context, s Setup) error {
	if err := s.sound(); err != nil {
		return err
	}
	return e.ask(ctx, func(ctx context.Context) { e.swap(ctx, s) })
}

// swap does what Reload says. It is Run's own.
func (e *Engine) swap(ctx context.Context, s Setup) {
	was, before := e.pollers, *e.owners.Load()
	byName := e.hire(ctx, s.Sources)
	kept := make(map[*holder]bool)
	owners := make([]*holder, 0, len(s.Fleets))
	opts := e.opts
	opts.Vantage = s.Vantage
	for _, f := range s.Fleets {
		old := ownerOf(before, f.Spec.Name)
		if old != nil && old.poller == byName[f.Spec.Provider] && old.probes == f.Probes {
			old.mind(f.Spec, s.Vantage)
			owners, kept[old] = append(owners, old), true
			continue
		}
		e.release(old)
		o := newHolder(f, e.clock, byName[f.Spec.Provider], e.begun, opts)
		o.installation, o.fleets, o.fellows = e.id, e.fleets, e.fellows
		e.keep(ctx, o, o.place(), o.run)
		owners = append(owners, o)
	}
	for _, o := range before {
		if !kept[o] {
			e.release(o)
		}
	}
	e.owners.Store(&owners)
	e.show()
	for _, o := range owners {
		e.unowned.Watched(o.name)
	}
	for _, o := range before {
		if ownerOf(owners, o.name) == nil {
			if err := e.unowned.NoteRelease(ctx, e.opts.Store, o.name, e.clock.Now().Wall, e.opts.Logger); err != nil {
				e.opts.Logger.Warn("a fleet that left the configuration could not be noted", "fleet", o.name, "err",
					err)
			}
		}
	}
	for _, old := range was {
		if byName[old.Source.Name] != old {
			e.dismiss(old)
		}
	}
}

// hire returns the pollers of the sources: those that there are, and new ones.
func (e *Engine) hire(ctx context.Context, sources []poller.Source) map[fleet.ProviderName]*poller.Poller {
	byName := make(map[fleet.ProviderName]*poller.Poller)
	was := e.pollers
	e.pollers = nil
	for _, src := range sources {
		var s *poller.Poller
		for _, old := range was {
			if old.Is(src) {
				s = old
				s.SetBeat(src)
			}
		}
		if s == nil {
			s = e.newPoller(src, e.opts)
			s.Roll.Of(e.id)
			s.Adopters.Become(ctx, e.id)
			e.keep(ctx, s, s.Place(), s.Runs()...)
		}
		byName[src.Name] = s
		e.pollers = append(e.pollers, s)
	}
	return byName
}

// release ends an owner's work. There may be none.
func (e *Engine) release(o *holder) {
	if o != nil {
		e.dismiss(o)
		o.poller.Unsubscribe(o.reports)
	}
}

func ownerOf(owners []*holder, name fleet.Name) *holder {
	for _, o := range owners {
		if o.name == name {
			return o
		}
	}
	return nil
}

// mind gives the owner another charge, if it is another one.
func (o *holder) mind(spec policy.Spec, vantage beside.Vantage) {
	if c := o.told.Load(); !change.Same(&c.spec, &spec) || !reflect.DeepEqual(c.vantage, vantage) {
		o.tell(charge{spec, vantage})
	}
}

// heed takes in what the owner was told anew: whatever did not change goes on undisturbed.
func (t *term) heed() {
	c, now := t.told.Load(), t.clock.Now()
	t.spec = c.spec
	changes, dropped := t.own.Edit(t.spec, now)
	t.aimAnew(dropped)
	if !reflect.DeepEqual(t.vantage, c.vantage) {
		t.vantage = c.vantage
		t.askCanaries(t.canaries.Next(t.vantage, now))
	}
	for _, d := range changes {
		t.log.Info("reloaded", "change", d.Kind, "check", d.Check, "was", d.Was, "is", d.Is)
	}
	t.warnOfPlan()
}

// warnOfPlan says in the log what waits for a person's word.
func (t *term) warnOfPlan() {
	if p := t.own.Pending(); !p.Empty() {
		t.log.Warn("a part of the configuration would destroy something, and waits to be confirmed", "plan", p.ID)
	}
}

// aimAnew probes by the spec's checks as they are now. To the probe engine, one that is as it was is no news.
func (t *term) aimAnew(dropped []fleet.CheckName) {
	for i := range t.own.Len() {
		if t.own.Aim(i).Epoch == 0 {
			continue
		}
		t.probes.Set(t.targets(i)...)
		for _, check := range dropped {
			t.probes.Remove(probe.ID{Machine: t.own.View(i).Machine.Name, Check: check})
		}
	}
}
