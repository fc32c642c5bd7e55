package judge

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/world"
)

// burden is what the judge knows of the load beside the machines that bear it.
type burden struct {
	counted     time.Duration // until when it is
	serving, on int           // since then
}

// glance is the time between two looks at a load that follows its course.
const glance = 5 * time.Second

// Bear counts what the load needed and had until now, and how many machines bear it from now on.
func (j *Judge) Bear() {
	if j.first != nil || !j.w.Demand.Loaded() {
		return
	}
	b, now := &j.burden, j.w.Now()
	for b.counted < now {
		next := min(b.counted+glance, now)
		middle := b.counted + (next-b.counted)/2
		needed := j.sizes.Policy.Bound(j.w.Demand.Needed(middle))
		j.score.Span(next-b.counted, b.serving, b.on, needed)
		j.history.Bore(chronicle.Load{At: b.counted, Asked: j.w.Demand.Asked(middle) / j.w.Demand.Capacity,
			Needed: needed, Serving: b.serving, On: b.on, Size: j.asked})
		b.counted = next
	}
	b.serving = j.w.Members(world.Domain{Kind: "all"}, j.IsOfFleet)
	b.on = 0
	for machine, n := range j.w.Running() {
		if fleet.MachineName(machine).Fleet() == j.spec.Name {
			b.on += n
		}
	}
}
