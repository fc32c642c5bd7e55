package poller

import (
	"context"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/hook"
	"hale/internal/program"
	"hale/internal/provider"
)

// guarded returns the source with a guard around whatever of it is not the engine's own: what panics there is noted,
// and unknown to the engine.
func (s Source) guarded(b *defect.Register,
	called func(fleet.ProviderName, provider.Call, time.Duration, error)) Source {
	of := string(s.Name)
	if called != nil {
		s.Adapter = provider.Timed(s.Adapter, func(c provider.Call, took time.Duration, err error) {
			called(s.Name, c, took, err)
		})
	}
	told := b.Witness(defect.Provider, of)
	s.Adapter, s.Watcher = provider.Guarded(s.Adapter, told), provider.GuardedWatcher(s.Watcher, told)
	s.Runner = program.Guarded(s.Runner, b.Witness(defect.Commands, of))
	s.Hooks = hook.Guarded(s.Hooks, b.Witness(defect.Commands, of))
	if s.Fencer != nil {
		s.Fencer = guardedFencer{s.Fencer, b.Witness(defect.Fence, of)}
	}
	return s
}

// guardedFencer is a fencer that does not panic.
type guardedFencer struct {
	behind Fencer
	told   defect.Witness
}

// Means implements Fencer. A host without known means has none.
func (g guardedFencer) Means(host fleet.HostName, seen []fleet.Name) (m fleet.Means) {
	defer g.told.Catch("", "means", func(*defect.Panic) { m = fleet.Means{} })
	return g.behind.Means(host, seen)
}

// Access implements Fencer.
func (g guardedFencer) Access(host fleet.HostName) (a fleet.Access, at time.Time) {
	defer g.told.Catch("", "access", func(*defect.Panic) { a, at = fleet.AccessUnknown, time.Time{} })
	return g.behind.Access(host)
}

// SaidOff implements Fencer. A host is not off when that is unknown.
func (g guardedFencer) SaidOff(host fleet.HostName) (at time.Time) {
	defer g.told.Catch("", "off", func(*defect.Panic) { at = time.Time{} })
	return g.behind.SaidOff(host)
}

// Watch implements Fencer.
func (g guardedFencer) Watch(hosts []fleet.HostName) {
	defer g.told.Catch("", "watch", nil)
	g.behind.Watch(hosts)
}

// Fence implements Fencer.
func (g guardedFencer) Fence(ctx context.Context, host fleet.HostName, try int) (done Fenced, err error) {
	defer g.told.Catch("", "fence", func(p *defect.Panic) {
		done, err = Fenced{}, fault.New(fault.UnknownOutcome, "engine.fence", string(host), p)
	})
	return g.behind.Fence(ctx, host, try)
}
