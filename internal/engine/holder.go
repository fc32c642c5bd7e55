package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/defect"
	"hale/internal/engine/beside"
	"hale/internal/engine/defects"
	"hale/internal/engine/fellows"
	"hale/internal/engine/poller"
	"hale/internal/engine/process"
	"hale/internal/gauge"
	"hale/internal/owner/published"
	"hale/internal/probe"
	"hale/internal/state"
)

// charge is what an owner is told to look after. It may be told anew.
type charge struct {
	spec    policy.Spec
	vantage beside.Vantage
}

// holder holds one fleet for as long as it can: term after term.
type holder struct {
	name         fleet.Name
	told         atomic.Pointer[charge] // the last one
	edited       chan struct{}          // there is another one than was taken
	spec         policy.Spec            // as configured; of the charge that was taken, as the vantage
	vantage      beside.Vantage
	probes       probe.Engine
	clock        *process.Clock
	poller       *poller.Poller
	reports      <-chan poller.Report
	store        state.Store
	fleets       func() int // that share the store
	fellows      *fellows.Fleets
	gauges       gauge.Open
	server       string
	log          *slog.Logger
	tells        Post
	nudged       chan struct{}
	trials       chan trial
	installation fleet.Installation
	begun        *process.Beginning
	cannot       []fleet.Op // what the provider does not have
	defects      *defect.Register
	confessed    defects.Told // which of them the journal has
	stumbled     bool         // the last term ended by a panic
	// members tells what the pools said last of the fleet's machines; nil: it has no pools.
	members func(fleet.Name) []Membership
	// drift is the clock's as last heeded, also in an earlier term: a step between two is noticed in the later one
	// (L15). nil: there was no term yet, and what wall time says holds.
	drift     *time.Duration
	published atomic.Pointer[published.Fleet]
	lease     atomic.Pointer[state.Lease] // of the term; nil: there is none
	// unreturned are the leases that could not be given back since the last term began.
	unreturned []state.LeaseID
	// afar is how the fleet stood at the other server that looks after it; nil: that is not known.
	afar atomic.Pointer[fellows.Afar]
	// turn is when the turn of its loop began that is under way, a fleet.Instant; 0: it waits for something to hear.
	turn atomic.Int64
	// lived is when the last turn began, a fleet.Instant.
	lived atomic.Int64
}

func newHolder(f Fleet, c *process.Clock, s *poller.Poller, b *process.Beginning, opts Options) *holder {
	o := &holder{
		name: f.Spec.Name, edited: make(chan struct{}, 1), probes: f.Probes, clock: c, poller: s,
		reports: s.Subscribe(), store: opts.Store,
		server: opts.Server, log: opts.Logger.With("fleet", f.Spec.Name), cannot: s.Source.Cannot(),
		begun: b, tells: opts.Post, nudged: make(chan struct{}, 1), trials: make(chan trial), defects: opts.Defects,
		gauges:    opts.Gauges,
		members:   opts.Members,
		confessed: defects.Told{},
	}
	o.told.Store(&charge{f.Spec, opts.Vantage})
	o.take()
	o.published.Store(&published.Fleet{
		State:  situation.State{Spec: f.Spec, Cannot: o.cannot, Acting: fleet.ReasonNotOwner},
		Wanted: f.Spec,
	})
	return o
}

// Tell gives the owner another charge, of the same fleet. It takes it when it is ready to.
func (o *holder) tell(c charge) {
	o.told.Store(&c)
	select {
	case o.edited <- struct{}{}:
	default:
	}
}

// take begins to look after what the owner was told last.
func (o *holder) take() {
	c := o.told.Load()
	o.spec, o.vantage = c.spec, c.vantage
	for _, step := range o.spec.Repair.Steps {
		if slices.Contains(o.cannot, ladder.OpOf(step)) {
			o.log.Warn("the provider cannot do a step of the ladder: it will be skipped", "step", step.Kind, "op",
				ladder.OpOf(step))
		}
	}
}

// Between two terms.
const (
	firstRest   = 100 * time.Millisecond
	longestRest = 5 * time.Second
)

func (o *holder) run(ctx context.Context) {
	pause := firstRest
	for ctx.Err() == nil {
		began := time.Now()
		err := o.soundly("a term", func() error { return o.serve(ctx) })
		o.turn.Store(0)
		if ctx.Err() != nil {
			return
		}
		o.stumbled = errors.As(err, new(*defect.Panic))
		o.sayWhy(err)
		if time.Since(began) > longestRest {
			pause = firstRest
		}
		_ = process.Rest(ctx, pause)
		pause = min(2*pause, longestRest)
	}
}

// serve wins the fleet and reigns until the lease, the store or ctx ends.
func (o *holder) serve(ctx context.Context) error {
	tctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t, err := o.begin(tctx)
	if err != nil {
		return err
	}
	defer t.end(tctx, cancel)
	o.lease.Store(&t.lease)
	defer o.lease.Store(nil)
	if o.stumbled {
		if err := t.confess(tctx); err != nil {
			return err
		}
	}
	return t.reign(tctx)
}

// remaining is for how long the fleet is surely still held.
func (o *holder) remaining() time.Duration {
	if lease := o.lease.Load(); lease != nil {
		return (*lease).Remaining()
	}
	return 0
}

func (o *holder) sayWhy(err error) {
	s := *o.published.Load()
	s.Acting, s.Detail = fleet.ReasonStoreDown, fault.Plain(err)
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.LeaseLost) {
		s.Acting = fleet.ReasonNotOwner
	}
	if fault.Is(err, fault.NoSpace) {
		s.Acting = fleet.ReasonStoreFull
	}
	if errors.As(err, new(*defect.Panic)) {
		s.Acting = fleet.ReasonOwnerPanicked
	}
	if was := o.published.Load(); was.Acting != s.Acting || was.Detail != s.Detail {
		o.log.Warn("not acting", "reason", s.Acting, "err", s.Detail)
	}
	if s.Idle.IsZero() {
		s.Idle = o.clock.Now().Wall
	}
	if s.AsOf.IsZero() {
		s.AsOf = s.Now.Wall
	}
	o.published.Store(&s)
}
