package bulkprobe

import (
	"context"
	"maps"
	"math/bits"
	"time"

	"hale/internal/probe"
)

// held is where a target is, and which run of it.
type held struct {
	id     probe.ID
	shard  *shard
	handle int32
	run    uint32
	plan   *plan
}

// told is what a shard answers of one target.
type told[A any] struct {
	id   probe.ID
	says A
	is   bool
}

// ask has the shards say something of each target that they watch, unless it is another one by now. What does not come
// before ctx ends is left out.
func ask[A any](ctx context.Context, e *Engine, ids []probe.ID, say func(*shard, *target, *plan) (A, bool),
	take func(probe.ID, A)) {
	answers, asked := make(chan told[A], len(ids)), 0
	e.turns.DoWithin(ctx, func(r *register) {
		for _, id := range ids {
			i := r.index.find(id)
			if i == none || r.records.at(i).handle == none {
				continue
			}
			rec := r.records.at(i)
			h := held{id, r.pool.shards[r.shardOf(id)], rec.handle, rec.run, rec.plan}
			if h.shard.tell(instruction{inspect: func(s *shard) {
				a := told[A]{id: h.id}
				if t := s.targets.at(h.handle); t.flags.has(inUse) && t.run == h.run {
					a.says, a.is = say(s, t, h.plan)
				}
				answers <- a
			}}) {
				asked++
			}
		}
	})
	for range asked {
		select {
		case a := <-answers:
			if a.is {
				take(a.id, a.says)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Good implements probe.Counter: it asks the shards, and the ordinary engine for what that one watches.
func (e *Engine) Good(ctx context.Context, ids ...probe.ID) map[probe.ID]int {
	out := map[probe.ID]int{}
	if able, ok := e.ordinary.(probe.Counter); ok {
		maps.Copy(out, able.Good(ctx, ids...))
	}
	ask(ctx, e, ids, func(_ *shard, t *target, p *plan) (int, bool) { return t.tally.towardsUp(p), true },
		func(id probe.ID, good int) { out[id] = good })
	return out
}

// Measured implements probe.Measurer, in the same way.
func (e *Engine) Measured(ctx context.Context, ids ...probe.ID) map[probe.ID]probe.Measure {
	out := map[probe.ID]probe.Measure{}
	if able, ok := e.ordinary.(probe.Measurer); ok {
		maps.Copy(out, able.Measured(ctx, ids...))
	}
	ask(ctx, e, ids, func(_ *shard, t *target, _ *plan) (probe.Measure, bool) {
		return probe.Measure{
			At:   e.pool.origin.Add(time.Duration(t.tally.heard)),
			Took: time.Duration(t.took) * time.Microsecond,
		}, t.tally.row > 0 // the last result that said something was good
	}, func(id probe.ID, m probe.Measure) { out[id] = m })
	return out
}

// towardsUp is how many good answers count towards making it up.
func (t *tally) towardsUp(p *plan) int {
	if p.upIn <= p.upAfter {
		return int(max(t.row, 0))
	}
	window := ^uint64(0) >> (probe.MostInWindow - min(p.upIn, probe.MostInWindow))
	return bits.OnesCount64(t.good & window)
}
