package quorum

import (
	"context"
	"errors"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/probe"
)

// Own is the server's own engine. Its Reports are read by the Engine alone.
type Own interface {
	probe.Engine
	// Run works until ctx ends.
	Run(ctx context.Context) error
}

// Panel is the satellites, as one fleet's engine asks them.
type Panel interface {
	// Set has as many of them look at each target as its check wants. What they said of one that changed counts no
	// more.
	Set(targets ...probe.Target)
	// Remove ends that.
	Remove(ids ...probe.ID)
	// Votes returns what those say that look at the target.
	Votes(id probe.ID) []Vote
	// Changed returns what is rung when votes differ from before, and Heed which targets' do, each once.
	Changed() <-chan struct{}
	Heed() []probe.ID
	// Look has those look that look at the target now, and returns what each says, as it comes; one that is silent is
	// unknown. The channel is closed after the last one, or when ctx ends.
	Look(ctx context.Context, target probe.Target) <-chan Vote
	// Close ends all targets.
	Close()
}

// Engine implements probe.Engine for one fleet: what its own engine and the satellites say is one standing. A target
// with one vantage is its own engine's. It works while Run runs: before, its methods wait; afterwards, they do nothing,
// and Look returns unknown. Reports is never closed; it falls silent when Run ends.
type Engine struct {
	name    string
	own     Own
	panel   Panel
	turns   *probe.Turns[*board]
	reports chan probe.Report
}

var (
	_ probe.Engine   = (*Engine)(nil)
	_ probe.Counter  = (*Engine)(nil)
	_ probe.Logger   = (*Engine)(nil)
	_ probe.Measurer = (*Engine)(nil)
)

// New makes an engine above the server's own one. The name is what the server is called as a vantage.
func New(name string, own Own, panel Panel) *Engine {
	return &Engine{
		name: name, own: own, panel: panel,
		turns: probe.NewTurns[*board](), reports: make(chan probe.Report),
	}
}

var errRunTwice = errors.New("quorum: an engine runs only once")

// Run works until ctx ends. It returns what the own engine's Run returns.
func (e *Engine) Run(ctx context.Context) error {
	if !e.turns.Begin() {
		return errRunTwice
	}
	defer e.turns.End()
	defer e.panel.Close()
	b := newBoard(e.name, e.panel)
	own := make(chan error, 1)
	// Owned by this call, which waits for it; it ends with ctx.
	go func() { own <- defect.Try(func() error { return e.own.Run(ctx) }) }()
	for ctx.Err() == nil {
		e.await(ctx, b)
	}
	return <-own
}

// await sleeps until something is to be done, and does it.
func (e *Engine) await(ctx context.Context, b *board) {
	reports := e.reports
	report, waits := b.out.next()
	if !waits {
		reports = nil
	}
	select {
	case <-ctx.Done():
	case <-e.panel.Changed():
		b.judge(time.Now(), e.panel.Heed()...)
	case turn := <-e.turns.Next():
		turn.Take(b)
	case r := <-e.own.Reports():
		b.hear(time.Now(), r)
	case reports <- report:
		b.out.delivered()
	}
}

// Set implements probe.Engine.
func (e *Engine) Set(targets ...probe.Target) {
	var shared []probe.Target
	var alone []probe.ID
	for _, t := range targets {
		if t.Spec.Sight.Shared() {
			shared = append(shared, t)
		} else {
			alone = append(alone, t.ID)
		}
	}
	e.panel.Remove(alone...)
	e.panel.Set(shared...) // first: what satellites said of the last epoch must not count in the next one
	e.turns.Do(func(b *board) { b.set(shared, alone) })
	e.own.Set(targets...)
}

// Remove implements probe.Engine.
func (e *Engine) Remove(ids ...probe.ID) {
	e.own.Remove(ids...)
	e.panel.Remove(ids...)
	e.turns.Do(func(b *board) { b.remove(ids) })
}

// Standings implements probe.Engine. They are judged now: a vote that counts no more has no part in them.
func (e *Engine) Standings() []probe.Edge {
	edges := e.own.Standings()
	e.turns.Do(func(b *board) {
		b.lapse(time.Now())
		for i := range edges {
			if t := b.targets[edges[i].ID]; t != nil {
				edges[i] = t.edge
			}
		}
	})
	return edges
}

// Look implements probe.Engine: all vantages that look at the target do so now, side by side. It ends when the server
// itself has looked, and the satellites that are missing cannot change what comes out. It panics where the server's own
// engine does: that is a defect, which no caller can mend, and which the owner of the fleet notes.
func (e *Engine) Look(ctx context.Context, target probe.Target) fleet.CheckState {
	if !target.Spec.Sight.Shared() || target.Unaimed() != fleet.ResultNone {
		return e.own.Look(ctx, target)
	}
	ctx, end := context.WithCancel(ctx)
	own := make(chan fleet.CheckState, 1)
	var caught error
	// Owned by this call, which waits for it; it ends with ctx.
	go func() {
		defer close(own)
		caught = defect.Try(func() error {
			own <- e.own.Look(ctx, target)
			return nil
		})
	}()
	votes := []Vote{{Vantage: e.name, Standing: fleet.StandingUnknown}}
	others := e.panel.Look(ctx, target)
	for waits := own; waits != nil || others != nil && !Settled(votes, target.Spec.Sight); {
		select {
		case s, said := <-waits:
			if waits = nil; said {
				votes[0] = Vote{Vantage: e.name, Standing: s.Standing, Result: s.Result, Detail: s.Detail}
			}
		case v, said := <-others:
			if said {
				votes = append(votes, v)
			} else {
				others = nil
			}
		}
	}
	end()
	for range own { // until it has ended
	}
	if p := (*defect.Panic)(nil); errors.As(caught, &p) {
		panic(p) // the caller knows what it means
	}
	is := Judge(votes, target.Spec.Sight, time.Now())
	return fleet.CheckState{Check: target.Check, Standing: is.Standing, Result: is.Result, Detail: is.Detail}
}

// Reports implements probe.Engine. Edges that wait are merged per target: the latest stands for all, and its Seq shows
// the gap. Before each watermark everything is judged, so that no vote counts there that counts no more.
func (e *Engine) Reports() <-chan probe.Report { return e.reports }

// Good implements probe.Counter: by the server's own engine.
func (e *Engine) Good(ctx context.Context, ids ...probe.ID) map[probe.ID]int {
	if able, ok := e.own.(probe.Counter); ok {
		return able.Good(ctx, ids...)
	}
	return nil
}

// Measured implements probe.Measurer: by the server's own engine.
func (e *Engine) Measured(ctx context.Context, ids ...probe.ID) map[probe.ID]probe.Measure {
	if able, ok := e.own.(probe.Measurer); ok {
		return able.Measured(ctx, ids...)
	}
	return nil
}

// Log implements probe.Logger: it tells the server's own probes.
func (e *Engine) Log(machine fleet.MachineName, each func(probe.Single)) (stop func()) {
	if able, ok := e.own.(probe.Logger); ok {
		return able.Log(machine, each)
	}
	return func() {}
}
