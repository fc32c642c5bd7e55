package bulkprobe

import (
	"context"
	"maps"
	"math/bits"

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

// counted is what a shard answers of one target.
type counted struct {
	id   probe.ID
	good int
	is   bool
}

// Good implements probe.Counter: it asks the shards, and the ordinary engine for what that one watches.
func (e *Engine) Good(ctx context.Context, ids ...probe.ID) map[probe.ID]int {
	out := map[probe.ID]int{}
	if able, ok := e.ordinary.(probe.Counter); ok {
		maps.Copy(out, able.Good(ctx, ids...))
	}
	answers, asked := make(chan counted, len(ids)), 0
	e.within(ctx, func(r *register) {
		for _, id := range ids {
			i := r.index.find(id)
			if i == none || r.records.at(i).handle == none {
				continue
			}
			rec := r.records.at(i)
			h := held{id, r.pool.shards[r.shardOf(id)], rec.handle, rec.run, rec.plan}
			if h.shard.tell(instruction{inspect: func(s *shard) { answers <- s.good(h) }}) {
				asked++
			}
		}
	})
	for range asked {
		select {
		case c := <-answers:
			if c.is {
				out[c.id] = c.good
			}
		case <-ctx.Done():
			return out
		}
	}
	return out
}

// within is order, for who waits no longer than until ctx ends.
func (e *Engine) within(ctx context.Context, do func(r *register)) {
	c := command{do, make(chan struct{})}
	select {
	case e.commands <- c:
		<-c.done
	case <-e.ended:
	case <-ctx.Done():
	}
}

// good counts the good answers of a target, unless it is another one by now.
func (s *shard) good(h held) counted {
	t := s.targets.at(h.handle)
	if !t.flags.has(inUse) || t.run != h.run {
		return counted{}
	}
	return counted{h.id, t.tally.towardsUp(h.plan), true}
}

// towardsUp is how many good answers count towards making it up.
func (t *tally) towardsUp(p *plan) int {
	if p.upIn <= p.upAfter {
		return int(max(t.row, 0))
	}
	window := ^uint64(0) >> (probe.MostInWindow - min(p.upIn, probe.MostInWindow))
	return bits.OnesCount64(t.good & window)
}
