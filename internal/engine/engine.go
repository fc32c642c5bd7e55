package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/journal"
	"hale/internal/probe"
	"hale/internal/state"

	"github.com/google/uuid"
)

// Fleet is one fleet with the engine that probes its machines.
type Fleet struct {
	Spec   fleet.Spec
	Probes probe.Engine
}

// Options are what an Engine is made of. All are needed but Vantage.
type Options struct {
	Store   state.Store
	Server  string // this server's name, for the owner's key
	Sources []Source
	Fleets  []Fleet
	Vantage Vantage
	Logger  *slog.Logger
}

// Engine runs the owners of fleets.
type Engine struct {
	opts      Options
	clock     *clock
	sentinels []*sentinel
	owners    []*owner
}

// New makes an engine. fault.Invalid: a fleet names a provider that is not among the sources.
func New(opts Options) (*Engine, error) {
	e := &Engine{opts: opts, clock: newClock()}
	byName := make(map[fleet.ProviderName]*sentinel)
	for _, src := range opts.Sources {
		s := newSentinel(src, e.clock, opts.Store, opts.Logger)
		byName[src.Name] = s
		e.sentinels = append(e.sentinels, s)
	}
	for _, f := range opts.Fleets {
		s, ok := byName[f.Spec.Provider]
		if !ok {
			return nil, fault.New(fault.Invalid, "engine.new", string(f.Spec.Name), nil)
		}
		e.owners = append(e.owners, newOwner(f, e.clock, s, opts))
	}
	return e, nil
}

// Run works until ctx ends and everything it started has ended. It returns an error only when it cannot begin.
func (e *Engine) Run(ctx context.Context) error {
	installation, err := e.installation(ctx)
	if err != nil {
		return err
	}
	if err := e.noteReleased(ctx); err != nil {
		e.opts.Logger.Warn("fleets that left the configuration could not be noted", "err", err)
	}
	var wg sync.WaitGroup
	for _, s := range e.sentinels {
		wg.Go(func() { s.watch(ctx) })
		wg.Go(func() { s.run(ctx) })
	}
	for _, o := range e.owners {
		o.installation = installation
		wg.Go(func() { o.run(ctx) })
	}
	wg.Wait()
	return nil
}

// installation returns this store's random id, made at first use.
func (e *Engine) installation(ctx context.Context) (fleet.Installation, error) {
	for {
		entry, err := e.opts.Store.Get(ctx, installationKey)
		if err == nil {
			return fleet.Installation(entry.Value), nil
		}
		if !fault.Is(err, fault.NotFound) {
			return "", err
		}
		_, err = e.opts.Store.Commit(ctx, state.Txn{
			If:   []state.Compare{state.Absent(installationKey)},
			Then: []state.Write{state.Put(installationKey, []byte(uuid.NewString()))},
		})
		if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.UnknownOutcome) {
			return "", err
		}
	}
}

// noteReleased says, once, of each fleet that is in the store and no longer in the configuration that it was let go:
// nothing of it is watched or touched any more.
func (e *Engine) noteReleased(ctx context.Context) error {
	entries, _, err := e.opts.Store.List(ctx, fleetsPrefix)
	if err != nil {
		return err
	}
	known := make(map[fleet.Name]bool)
	for _, o := range e.owners {
		known[o.spec.Name] = true
	}
	for _, entry := range entries {
		name, ok := fleetOf(entry.Key)
		if !ok || known[name] {
			continue
		}
		known[name] = true
		if err := e.noteRelease(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) noteRelease(ctx context.Context, name fleet.Name) error {
	records, _, err := journal.Read(ctx, e.opts.Store, name)
	if err != nil {
		return err
	}
	if n := len(records); n > 0 && records[n-1].Reason == fleet.ReasonFleetLeft {
		return nil
	}
	e.opts.Logger.Warn("the fleet is no longer in the configuration: it is not watched any more, and nothing was destroyed", "fleet", name)
	book, err := journal.Open(ctx, e.opts.Store, name)
	if err != nil {
		return err
	}
	writes, err := book.Writes([]fleet.Record{{
		At: e.clock.now().Wall, Fleet: name, Kind: fleet.RecordOwner, Reason: fleet.ReasonFleetLeft}})
	if err != nil {
		return err
	}
	_, err = e.opts.Store.Commit(ctx, state.Txn{Then: writes})
	return err
}

// StepClock moves the wall clock as this engine sees it, as an administrator or a time server does: where time is simulated,
// nobody else can.
func (e *Engine) StepClock(by time.Duration) { e.clock.skew.Add(int64(by)) }

// Status returns the fleets as they stand, in the order of the configuration.
func (e *Engine) Status() []FleetStatus {
	out := make([]FleetStatus, 0, len(e.owners))
	for _, o := range e.owners {
		out = append(out, *o.published.Load())
	}
	return out
}
