package bulkprobe

import (
	"context"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/probe"
)

// Ordinary is the engine that takes what the shards do not, and all looks on demand. Its Reports are read by the Engine
// alone.
type Ordinary interface {
	probe.Engine
	// Run works until ctx ends.
	Run(ctx context.Context) error
}

// Engine implements probe.Engine for one fleet: it routes each target to the pool's shards or to the ordinary engine,
// and tells their edges as one. It works while Run runs: before, its methods wait; afterwards, they do nothing, and
// Look returns unknown. Reports is never closed; it falls silent when Run ends.
type Engine struct {
	pool     *Pool
	ordinary Ordinary
	turns    *probe.Turns[*register]
	reports  chan probe.Report
}

var (
	_ probe.Engine = (*Engine)(nil)
	_ probe.Logger = (*Engine)(nil)

	_ probe.Measurer = (*Engine)(nil)
)

// Engine makes an engine over the pool's shards and the ordinary one, which its Run runs.
func (p *Pool) Engine(ordinary Ordinary) *Engine {
	return &Engine{
		pool: p, ordinary: ordinary,
		turns: probe.NewTurns[*register](), reports: make(chan probe.Report),
	}
}

// Run works until ctx ends, and then ends all targets. The pool must run meanwhile. It returns what the ordinary
// engine's Run returns.
func (e *Engine) Run(ctx context.Context) error {
	if !e.turns.Begin() {
		return errRunTwice
	}
	defer e.turns.End()
	r := newRegister(e.pool, e.ordinary)
	defer r.close()
	ordinary := make(chan error, 1)
	// Owned by this call, which waits for it; it ends with ctx.
	go func() { ordinary <- defect.Try(func() error { return e.ordinary.Run(ctx) }) }()
	for ctx.Err() == nil {
		e.await(ctx, r)
	}
	return <-ordinary
}

// await sleeps until something is to be done, and does it.
func (e *Engine) await(ctx context.Context, r *register) {
	reports, usual := e.reports, e.ordinary.Reports()
	report, waits := r.out.next()
	if !waits {
		reports = nil
	}
	if len(r.out.apart) > 0 {
		usual = nil // one at a time: the ordinary engine merges the rest meanwhile
	}
	select {
	case <-ctx.Done():
	case <-r.box.bell:
		r.hear()
	case turn := <-e.turns.Next():
		turn.Take(r)
	case u := <-usual:
		r.pass(u)
	case reports <- report:
		r.out.delivered()
	}
}

// Set implements probe.Engine. The first probes of more than 100 new or changed targets are spread over their interval,
// at most one second. A target with another instance counts as changed. A target that was removed and is set again
// counts its edges from 1 again: give it a new epoch.
func (e *Engine) Set(targets ...probe.Target) {
	e.turns.Do(func(r *register) { r.set(targets, time.Now()) })
}

// Remove implements probe.Engine.
func (e *Engine) Remove(ids ...probe.ID) {
	e.turns.Do(func(r *register) { r.remove(ids) })
}

// Standings implements probe.Engine. It returns each target's latest edge, delivered or not; a target without any has
// Seq 0. It is empty when Run has ended.
func (e *Engine) Standings() []probe.Edge {
	var edges []probe.Edge
	e.turns.Do(func(r *register) { edges = r.standings() })
	return edges
}

// Look implements probe.Engine, by the ordinary engine.
func (e *Engine) Look(ctx context.Context, target probe.Target) fleet.CheckState {
	return e.ordinary.Look(ctx, target)
}

// Reports implements probe.Engine. Edges that wait are merged per target: the latest stands for all, and its Seq shows
// the gap. There is one watermark for all shards: the oldest of theirs and of the ordinary engine's.
func (e *Engine) Reports() <-chan probe.Report { return e.reports }
