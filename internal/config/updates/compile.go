package updates

import (
	"fmt"

	"hale/internal/config/sizes"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Around is what else the configuration says of the fleet, as far as it matters to its updates.
type Around struct {
	sizes.Around
	Size keys.At[sizes.Draft]
	// StandsIn says that a spare takes the place of each machine first.
	StandsIn bool
	// Keeps is a disk with data that no other machine has; empty: there is none.
	Keeps string
}

// compiler judges one fleet's updates.
type compiler struct{ Around }

// Compile judges how another template goes through the fleet. What it returns counts only when nothing was found.
func Compile(d *Draft, around Around) policy.Update {
	c := compiler{around}
	out := policy.Update{Pilots: d.pilots.Value, Soak: d.soak.Value, Batch: d.batch.Value, Pause: d.pause.Value,
		InService: d.minInService.Value, Surge: d.surge.Value, OnFailure: d.onFailure.Value,
		UndoWithin: d.undoWithin.Value,
		Order:      d.order.Value}
	c.inService(d.minInService, c.surge(d.surge))
	if d.query.Known() {
		out.Query = c.query(d.query.Value, d.query.Spot)
	}
	return out
}

// Metric names the metric of the fleet's size that its updates go by; empty: none.
func (d *Draft) Metric() string {
	if q := d.query.Value; q.metric.Known() {
		return q.metric.Value.Name()
	}
	return ""
}

// surge judges how many machines come beyond the size, and reports whether any does.
func (c *compiler) surge(n keys.At[int]) bool {
	size := sizes.Largest(c.Size)
	switch {
	case n.Value == 0:
		return false
	case c.Selects:
		c.Add(n.Spot, "has hale build machines, and a fleet with select has only machines that exist",
			"take surge out, or build the fleet from a template")
	case c.Keeps != "":
		c.Add(n.Spot, fmt.Sprintf("cannot serve for machines that keep disk %s: each has its own data on it", c.Keeps),
			"take surge out, or declare the disk ephemeral")
	case c.StandsIn:
		c.Add(n.Spot, "is not needed: a spare takes the place of each machine before it is changed",
			"keep one of surge and spares")
	case size.Known() && size.Value+n.Value > fleet.LargestSize:
		c.Add(n.Spot, fmt.Sprintf("makes %d machines, with those of the size", size.Value+n.Value),
			fmt.Sprintf("lower one of the two: a fleet has at most %d machines", fleet.LargestSize))
	}
	return true
}

// inService judges how many machines are to serve at least: one must be free to be changed, unless another one serves
// first.
func (c *compiler) inService(least keys.At[policy.Portion], surges bool) {
	size := sizes.Asked(c.Size)
	if !least.Known() || !size.Known() || c.Selects {
		return
	}
	most := size.Value - 1
	if c.StandsIn || surges {
		most = size.Value
	}
	n := least.Value.Of(size.Value)
	switch {
	case n <= most:
	case n > size.Value:
		c.Add(least.Spot, fmt.Sprintf("%d is more than the size, %d: no machine could ever be changed", n, size.Value),
			"lower it, or have more machines")
	default:
		c.Add(least.Spot, fmt.Sprintf("%d is not less than the size, %d: no machine could ever be changed", n,
			size.Value), "lower it, have more machines, or write surge: 1: another machine then serves before one is "+
			"changed")
	}
}

// query is a metric that says whether a template is good.
func (c *compiler) query(d queryDraft, at keys.Spot) *policy.UpdateQuery {
	out := &policy.UpdateQuery{For: d.lasts.Value}
	if d.above.Known() {
		out.Above = &d.above.Value
	}
	if d.below.Known() {
		out.Below = &d.below.Value
	}
	switch {
	case d.above.Known() && d.below.Known():
		c.Add(d.below.Spot, "is a second bound", "keep one of above and below")
	case !d.above.Written() && !d.below.Written():
		c.Add(at, "has no bound", "add above: 5, or below: 5")
	}
	out.Metric, out.Own = sizes.CompileMetric(d.metric, c.Size, c.Around.Around)
	if m := out.Own; m != nil && m.Smooth > 0 {
		c.Add(d.metric.Spot, "has smooth, and for an update each reading counts for itself", "take smooth out")
	}
	return out
}
