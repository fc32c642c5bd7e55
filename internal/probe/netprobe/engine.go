package netprobe

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/probe"
	"hale/internal/provider"
)

// Options tune an engine. The zero value is a good default.
type Options struct {
	// Workers is the greatest number of probes in flight, 4096 by default. Targets x timeout / interval must stay below
	// it, or a great outage shows as unknown.
	Workers int
	// Roots are the authorities that sign the certificates of https targets; nil means the
	// system's. A check can name its own.
	Roots *x509.CertPool
	// Agents asks the agents inside guests, for agent checks; nil: such checks stay unknown.
	Agents provider.GuestPinger
	// Hearing is where the beats of heartbeat checks come in. Nil: they come in at the transport, as those of simulated
	// machines do, or else the checks stay unknown.
	Hearing probe.Hearing
	// Pools is where load balancers say what they find. Nil: the transport knows, as that of simulated machines does,
	// or else the checks have nothing to say.
	Pools probe.Pools
	// Panics is told of each probe that panicked, by its check's name; nil: no report.
	Panics defect.Witness
}

// Engine implements probe.Engine. It works while Run runs: before, its methods wait; afterwards, they do nothing, and
// Look returns unknown. Reports is never closed; it falls silent when Run ends.
type Engine struct {
	asker   asker
	workers int
	turns   *probe.Turns[*register]
	answers chan *attempt // as large as there are workers, so a worker never waits to be heard
	reports chan probe.Report
}

var (
	_ probe.Engine = (*Engine)(nil)
	_ probe.Logger = (*Engine)(nil)

	_ probe.Measurer = (*Engine)(nil)
)

// New makes an engine that reaches its targets through the transport.
func New(transport probe.Transport, options Options) *Engine {
	workers := options.Workers
	if workers <= 0 {
		workers = 4096
	}
	return &Engine{
		asker:   newAsker(transport, options),
		workers: workers,
		turns:   probe.NewTurns[*register](),
		answers: make(chan *attempt, workers),
		reports: make(chan probe.Report),
	}
}

var errRunTwice = errors.New("netprobe: an engine runs only once")

// Run probes until ctx ends and then waits for the probes in flight. It returns nil, or an error when it was called
// before or when a transport does not let go of a probe after its context ended.
func (e *Engine) Run(ctx context.Context) error {
	if !e.turns.Begin() {
		return errRunTwice
	}
	b := newRegister(e.workers, time.Now())
	b.hearing = e.asker.hearing
	defer e.turns.End()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		for _, a := range b.advance(b.clock()) {
			e.launch(ctx, a)
		}
		now := b.clock()
		timer.Reset(b.arm(now).Sub(now))
		e.await(ctx, b, timer)
	}
	return e.drain(b)
}

// await sleeps until something is to be done, and does it unless it is a matter of time.
func (e *Engine) await(ctx context.Context, b *register, timer *time.Timer) {
	reports := e.reports
	report, ok := b.out.next()
	if !ok {
		reports = nil
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
		b.clock()
	case turn := <-e.turns.Next():
		turn.Take(b)
	case a := <-e.answers:
		b.clock()
		b.finish(a)
	case reports <- report:
		b.clock()
		b.out.delivered()
	}
}

// clock reads the clock for the register.
func (b *register) clock() time.Time {
	now := time.Now()
	b.notice(now)
	return now
}

// launch starts the worker of one attempt.
func (e *Engine) launch(ctx context.Context, a *attempt) {
	ctx, a.cancel = context.WithTimeout(ctx, limitOf(a.ask.Spec))
	// Owned by Run, which waits for it; it ends with the probe's timeout, with its target, or with ctx.
	go func() {
		defer a.cancel()
		a.answer = e.asker.ask(ctx, a.ask, a.started) // which catches what panics
		e.answers <- a
	}()
}

// drain waits for the probes in flight; their context has ended.
func (e *Engine) drain(b *register) error {
	patience := time.NewTimer(overrun)
	defer patience.Stop()
	for len(b.flying) > 0 {
		select {
		case a := <-e.answers:
			delete(b.flying, a)
		case <-patience.C:
			return fmt.Errorf("netprobe: %d probes do not end", len(b.flying))
		}
	}
	return nil
}

// order has Run do something with the register. It returns false when Run has ended or ctx ended before it was taken
// up.
func (e *Engine) order(ctx context.Context, do func(b *register, now time.Time)) bool {
	return e.turns.DoWithin(ctx, func(b *register) { do(b, b.clock()) })
}

// Set implements probe.Engine. The first probes of more than 100 new or changed targets are spread over their interval,
// at most one second. A target with another instance counts as changed. A target that was removed and is set again
// counts its edges from 1 again: give it a new epoch.
func (e *Engine) Set(targets ...probe.Target) {
	e.order(context.Background(), func(b *register, now time.Time) { b.set(targets, now) })
}

// Remove implements probe.Engine. Probes in flight are cut short.
func (e *Engine) Remove(ids ...probe.ID) {
	e.order(context.Background(), func(b *register, _ time.Time) { b.remove(ids) })
}

// Standings implements probe.Engine. It returns each target's latest edge, delivered or not; a target without any has
// Seq 0. It is empty when Run has ended.
func (e *Engine) Standings() []probe.Edge {
	var edges []probe.Edge
	e.order(context.Background(), func(b *register, _ time.Time) { edges = b.standings() })
	return edges
}

// Good implements probe.Counter.
func (e *Engine) Good(ctx context.Context, ids ...probe.ID) map[probe.ID]int {
	out := map[probe.ID]int{}
	e.order(ctx, func(b *register, _ time.Time) {
		for _, id := range ids {
			if t, ok := b.targets[id]; ok {
				out[id] = t.tally.TowardsUp(t.Spec)
			}
		}
	})
	return out
}

// Measured implements probe.Measurer.
func (e *Engine) Measured(ctx context.Context, ids ...probe.ID) map[probe.ID]probe.Measure {
	out := make(map[probe.ID]probe.Measure, len(ids))
	e.order(ctx, func(b *register, _ time.Time) {
		for _, id := range ids {
			if t, ok := b.targets[id]; ok && !t.measure.At.IsZero() {
				out[id] = t.measure
			}
		}
	})
	return out
}

// Log implements probe.Logger.
func (e *Engine) Log(machine fleet.MachineName, each func(probe.Single)) (stop func()) {
	number := 0
	if !e.order(context.Background(), func(b *register, _ time.Time) { number = b.log.Add(machine, each) }) {
		return func() {}
	}
	return sync.OnceFunc(func() {
		e.order(context.Background(), func(b *register, _ time.Time) { b.log.Remove(machine, number) })
	})
}

// Reports implements probe.Engine. Edges that wait are merged per target: the latest stands for all, and its Seq shows
// the gap.
func (e *Engine) Reports() <-chan probe.Report { return e.reports }

// Look implements probe.Engine. It does not wait for a free worker. Since stays zero: it is on the owner's clock.
func (e *Engine) Look(ctx context.Context, target probe.Target) fleet.CheckState {
	if why := target.Unaimed(); why != fleet.ResultNone {
		return looked(target, answer{reason: why, detail: string(target.Rival)})
	}
	var before, after uint64
	young := true
	begun := e.order(ctx, func(b *register, _ time.Time) {
		b.looks++
		before = b.stalls
		if t, watched := b.targets[target.ID]; watched {
			young = t.tally.CameUp()
		}
	})
	if !begun {
		return looked(target, answer{reason: fleet.ResultLocal, detail: "the probe engine does not run"})
	}
	target.Keeps = false
	got := e.asker.insist(ctx, target)
	heard := e.order(context.Background(), func(b *register, _ time.Time) {
		b.looks--
		after = b.stalls
	})
	if young {
		got = tooYoung(got)
	}
	if got.reason == fleet.ResultTimeout && (!heard || before != after) {
		got = answer{reason: fleet.ResultLate, detail: "stalled", at: got.at}
	}
	return looked(target, got)
}

// looked turns a look's answer into a state: what failed all the time is down.
func looked(t probe.Target, a answer) fleet.CheckState {
	state := fleet.CheckState{Check: t.Check, Standing: fleet.StandingUnknown, Result: a.reason, Detail: a.detail}
	switch probe.MeaningOf(a.reason) {
	case probe.MeansSuccess:
		state.Standing = fleet.StandingUp
	case probe.MeansFailure:
		state.Standing = fleet.StandingDown
	case probe.MeansNothing:
	}
	return state
}
