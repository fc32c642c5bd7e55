package engine

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/engine/beside"
	"hale/internal/engine/fellows"
	"hale/internal/engine/notes"
	"hale/internal/engine/poller"
	"hale/internal/engine/process"
	"hale/internal/engine/steward"
	"hale/internal/engine/unowned"
	"hale/internal/gauge"
	"hale/internal/owner/published"
	"hale/internal/probe"
	"hale/internal/provider"
	"hale/internal/state"
)

// Fleet is one fleet with the engine that probes its machines.
type Fleet struct {
	Spec   policy.Spec
	Probes probe.Engine
}

// Options are what an Engine is made of. All are needed but Vantage, Post, Gauges, Defects, Room, Called and Committed.
type Options struct {
	Store   state.Store
	Server  string // this server's name, for the owner's key
	Sources []poller.Source
	Fleets  []Fleet
	Vantage beside.Vantage
	Post    Post
	// Gauges opens what reads the metrics of sources outside hale; nil: there are none.
	Gauges gauge.Open
	// Members tells what the pools said last that the fleet's machines are in, sorted by balancer; nil: there are none.
	Members func(fleet.Name) []Membership
	Logger  *slog.Logger
	// Defects is where panics are noted, also those of the parts that the engine is given; nil: in a book of its own.
	Defects *defect.Register
	// Room tells how much room the store has; nil: it does not say.
	Room func() (state.Space, error)
	// Called is told how each call to a provider went, and Committed how each write to the store did; nil: nothing is.
	Called    func(of fleet.ProviderName, c provider.Call, took time.Duration, err error)
	Committed func(took time.Duration, err error)
}

// Membership is what one pool said last, and when it was asked.
type Membership struct {
	fleet.PoolWord
	At time.Time
}

// Setup is what an engine looks after: the part of its options that Reload can replace.
type Setup struct {
	Sources []poller.Source
	Fleets  []Fleet
	Vantage beside.Vantage
}

// Engine runs the owners of fleets.
type Engine struct {
	opts     Options
	clock    *process.Clock
	pollers  []*poller.Poller // while it runs, Run's own
	owners   atomic.Pointer[[]*holder]
	fellows  *fellows.Fleets
	begun    *process.Beginning
	workers  map[any]*worker // of pollers and owners; Run's own
	asks     chan asked
	id       fleet.Installation // the store's, while it runs; Run's own
	ended    chan struct{}
	steward  *steward.Steward
	watching atomic.Pointer[[]*poller.Poller] // the pollers, for those who ask

	ours atomic.Pointer[fleet.Installation] // id, for those who ask

	unowned unowned.Instances
}

// New makes an engine. fault.Invalid: a fleet names a provider that is not among the sources.
func New(opts Options) (*Engine, error) {
	if err := opts.setup().sound(); err != nil {
		return nil, err
	}
	if opts.Defects == nil {
		opts.Defects = defect.NewRegister(opts.Logger)
	}
	opts.Post = opts.Post.guarded(opts.Defects)
	heard := steward.Listen(opts.Store, opts.Committed)
	opts.Store = heard
	e := &Engine{
		opts:    opts,
		clock:   process.NewClock(),
		begun:   process.NewBeginning(opts.Store),
		workers: map[any]*worker{},
		asks:    make(chan asked),
		ended:   make(chan struct{}),
	}
	e.fellows = fellows.New(e.shown, e.clock.Now)
	byName := make(map[fleet.ProviderName]*poller.Poller)
	for _, src := range opts.Sources {
		s := e.newPoller(src, opts)
		byName[src.Name] = s
		e.pollers = append(e.pollers, s)
	}
	var owners []*holder
	for _, f := range opts.Fleets {
		o := newHolder(f, e.clock, byName[f.Spec.Provider], e.begun, opts)
		o.fleets, o.fellows = e.fleets, e.fellows
		owners = append(owners, o)
	}
	e.owners.Store(&owners)
	e.show()
	e.steward = steward.New(steward.Options{
		Room: opts.Room, Find: opts.Post.find, Words: opts.Post.Words, Within: sendLimit, Logger: opts.Logger,
		Defects: opts.Defects, Status: e.Status,
	}, heard)
	return e, nil
}

func (o Options) setup() Setup {
	return Setup{Sources: o.Sources, Fleets: o.Fleets, Vantage: o.Vantage}
}

// fleets returns how many fleets share the store.
func (e *Engine) fleets() int { return len(*e.owners.Load()) }

// shown lists the fleets as their owners show them.
func (e *Engine) shown() iter.Seq[fellows.Shown] {
	return func(yield func(fellows.Shown) bool) {
		for _, o := range *e.owners.Load() {
			if !yield(fellows.Shown{
				Fleet: o.published.Load(), Told: o.told.Load().spec, Lived: fleet.Instant(o.lived.Load()),
				Afar: o.afar.Load(),
			}) {
				return
			}
		}
	}
}

// newPoller returns a poller of the provider that knows what the engine's fleets know.
func (e *Engine) newPoller(src poller.Source, opts Options) *poller.Poller {
	return poller.New(poller.Options{
		Source: src, Clock: e.clock, Begun: e.begun, Store: opts.Store, Log: opts.Logger, Defects: opts.Defects,
		Called: opts.Called,
		Serves: func(h fleet.HostName) bool { return e.fellows.Serve(src.Name, h) },
		Rests:  func() []fleet.HostName { return e.fellows.Rest(src.Name) },
		Cares: func() notes.Cares {
			cared, selects := e.fellows.Care(src.Name)
			return notes.Cares{Cared: cared, Selects: selects}
		},
	})
}

// recall lets callers see which marks are hale's own.
func (e *Engine) recall(id fleet.Installation) { e.ours.Store(&id) }

// show lets those who ask see which pollers there are.
func (e *Engine) show() {
	all := slices.Clone(e.pollers)
	e.watching.Store(&all)
}

// sound is fault.Invalid when a fleet names a provider that is not among the sources.
func (s Setup) sound() error {
	for _, f := range s.Fleets {
		if !slices.ContainsFunc(s.Sources, func(src poller.Source) bool { return src.Name == f.Spec.Provider }) {
			return fault.New(fault.Invalid, "engine.setup", string(f.Spec.Name), nil)
		}
	}
	return nil
}

// slowEnd is how long an end may take until it is worth a word.
const slowEnd = time.Second

// Run works until ctx ends and everything it started has ended. It returns an error only when it cannot begin.
func (e *Engine) Run(ctx context.Context) error {
	defer close(e.ended)
	var err error
	if e.id, err = process.Installation(ctx, e.opts.Store); err != nil {
		return err
	}
	e.steward.Begin(e.id)
	e.recall(e.id)
	e.keep(ctx, e.steward, e.steward.Place(), e.steward.Run)
	if _, err := e.begun.Start(ctx); err != nil && !fault.Is(err, fault.Permanent) {
		e.opts.Logger.Warn("this start could not be counted in the store yet; nothing is done before that", "err", err)
	} else if err != nil {
		e.dismiss(e.steward)
		return err
	}
	if err := e.noteReleased(ctx); err != nil {
		e.opts.Logger.Warn("fleets that left the configuration could not be noted", "err", err)
	}
	for _, s := range e.pollers {
		s.Roll.Of(e.id)
		s.Adopters.Become(ctx, e.id)
		e.keep(ctx, s, s.Place(), s.Runs()...)
	}
	for _, o := range *e.owners.Load() {
		o.installation = e.id
		e.keep(ctx, o, o.place(), o.run)
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case a := <-e.asks:
			a.do(ctx)
			close(a.done)
		}
	}
	for _, p := range e.workers {
		slow := time.AfterFunc(slowEnd, func() {
			defer e.opts.Defects.Catch(p.at, "its end", nil)
			e.opts.Logger.Warn("something does not end: is a call under way that does not return?", "part", p.at.Part,
				"of", p.at.Of)
		})
		p.leave()
		slow.Stop()
	}
	return nil
}

// noteReleased says of each fleet that is in the store and no longer in the configuration that it was let go.
func (e *Engine) noteReleased(ctx context.Context) error {
	known := make(map[fleet.Name]bool)
	for _, o := range *e.owners.Load() {
		known[o.name] = true
	}
	return e.unowned.NoteReleased(ctx, e.opts.Store, known, e.clock.Now().Wall, e.opts.Logger)
}

// StepClock moves the wall clock as this engine sees it, as an administrator or a time server does, where time
// is simulated.
func (e *Engine) StepClock(by time.Duration) { e.clock.Step(by) }

// Nudge lets the owners look for letters that another process put into the store.
func (e *Engine) Nudge() {
	for _, o := range *e.owners.Load() {
		select {
		case o.nudged <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// Stuck returns a fleet with an owner that has been at one turn of its loop for longer than that: nothing is decided in
// it meanwhile. None is stuck while it waits for a lease, for news or for a call: calls have goroutines of their own.
func (e *Engine) Stuck(longerThan time.Duration) (fleet.Name, bool) {
	now := e.clock.Now().Mono
	for _, o := range *e.owners.Load() {
		if began := fleet.Instant(o.turn.Load()); began != 0 && now.Sub(began) > longerThan {
			return o.name, true
		}
	}
	return "", false
}

// Idle names a fleet in which hale does not act, and says why: this server does not own it, its store takes nothing, or
// nothing has been decided for longer than that.
func (e *Engine) Idle(longerThan time.Duration) (name fleet.Name, why string, idle bool) {
	if name, stuck := e.Stuck(longerThan); stuck {
		return name, "nothing has been decided for " + longerThan.String(), true
	}
	for _, s := range e.Status() {
		if s.Acting != "" {
			return s.Spec.Name, string(s.Acting), true
		}
	}
	return "", "", false
}

// Status returns the fleets as they stand, in the order of the configuration.
func (e *Engine) Status() []published.Fleet {
	owners := *e.owners.Load()
	out := make([]published.Fleet, 0, len(owners))
	for _, o := range owners {
		f := *o.published.Load()
		f.Lease = o.remaining()
		out = append(out, f)
	}
	return out
}

// TellStoreLost pages that the store cannot go on and hale ends, and returns when each target took it, refused it, or
// ctx ended.
func (e *Engine) TellStoreLost(ctx context.Context, why error) {
	var id fleet.Installation
	if ours := e.ours.Load(); ours != nil {
		id = *ours
	}
	e.steward.TellLost(ctx, id, why)
}

// StoreStatus returns how the store does.
func (e *Engine) StoreStatus() published.Store { return e.steward.Stands() }

// Unowned returns what each provider's last good listing shows of hale's mark and no fleet owns.
func (e *Engine) Unowned() []published.Unowned {
	var ours fleet.Installation
	if id := e.ours.Load(); id != nil {
		ours = *id
	}
	return e.unowned.In(e.listings(), e.Status(), ours)
}

// listings returns the last one of each provider.
func (e *Engine) listings() map[fleet.ProviderName]poller.Listing {
	out := make(map[fleet.ProviderName]poller.Listing)
	for _, s := range *e.watching.Load() {
		if l := s.Shows(); l != nil {
			out[s.Source.Name] = *l
		}
	}
	return out
}
