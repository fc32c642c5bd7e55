package fleets

import (
	"fmt"
	"math"
	"time"

	"hale/internal/config/sizes"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

func updateShape() keys.Object[updateDraft] {
	return keys.Object[updateDraft]{Fields: []keys.Field[updateDraft]{
		keys.Or("canary", defaultPilots, "So many machines are built from it first. When one of them does not become "+
			"healthy, the others keep theirs.",
			keys.Integer(1, maxSize), func(u *updateDraft) *keys.At[int] { return &u.pilots }),
		keys.Or("soak", defaultSoak, "For so long all of these must be healthy before the others follow.",
			keys.Duration(0, 7*24*time.Hour), func(u *updateDraft) *keys.At[time.Duration] { return &u.soak }),
		keys.May("batch", "So many of the others follow together, as far as `in_repair` allows at once. When all of "+
			"them are well, and the pause is over, the next ones do.", portionShape(),
			func(u *updateDraft) *keys.At[portion] { return &u.batch }).
			Said("no batches: one follows as soon as another is well, as many at once as `in_repair` allows"),
		keys.Or("pause", 0, "The time between the moment at which a batch is well and the next one.",
			keys.Duration(0, 7*24*time.Hour), func(u *updateDraft) *keys.At[time.Duration] { return &u.pause }),
		keys.May("min_in_service", "So many machines must serve while one is taken away for the update. A machine "+
			"serves when it is healthy and certified, and no spare.", portionShape(),
			func(u *updateDraft) *keys.At[portion] { return &u.minInService }).Said("none"),
		keys.May("query", "A metric that says whether the template is good. Beyond its bound the update fails; while "+
			"it says nothing, no further machine is changed.", queryShape(),
			func(u *updateDraft) *keys.At[queryDraft] { return &u.query }),
		keys.Or("on_failure", defaultOnUpdateFailure, "What becomes of the machines that were changed when the update "+
			"fails. `stop`: they stay as they are, and the others keep their template. `undo`: they go back to the "+
			"template that the others have, in batches, without a pause.",
			keys.Choice(nil, policy.UpdateStop, policy.UpdateUndo),
			func(u *updateDraft) *keys.At[policy.OnUpdateFailure] { return &u.onFailure }),
		keys.Or("undo_within", defaultUndoWithin, "How long that may take before a person is paged.",
			keys.Duration(time.Minute, 7*24*time.Hour),
			func(u *updateDraft) *keys.At[time.Duration] { return &u.undoWithin }),
		keys.Or("order", defaultUpdateOrder, "Which machines are changed first; `oldest`: those that were built "+
			"first.", keys.Choice(nil, policy.UpdateHighest, policy.UpdateLowest, policy.UpdateOldest),
			func(u *updateDraft) *keys.At[policy.UpdateOrder] { return &u.order }),
	}}
}

func queryShape() keys.Object[queryDraft] {
	value := keys.Number(-math.MaxFloat64, math.MaxFloat64)
	return keys.Object[queryDraft]{Fields: []keys.Field[queryDraft]{
		keys.Must("metric", "errors", "The name of a metric of `size.metrics`, or one that is read for this alone, "+
			"with the keys that one has there.", sizes.MetricShape(),
			func(q *queryDraft) *keys.At[sizes.MetricDraft] { return &q.metric }),
		keys.May("above", "The update fails when the metric is greater than this. One of above and below.", value,
			func(q *queryDraft) *keys.At[float64] { return &q.above }),
		keys.May("below", "The update fails when the metric is less than this.", value,
			func(q *queryDraft) *keys.At[float64] { return &q.below }),
		keys.Or("for", defaultQueryFor, "For so long every reading must be beyond the bound before the update fails. "+
			"Meanwhile no further machine is changed.", keys.Duration(0, time.Hour),
			func(q *queryDraft) *keys.At[time.Duration] { return &q.lasts }),
	}}
}

// update is how another template goes through the fleet.
func (c *compiler) update(checks []policy.Check) policy.Update {
	d := c.draft.update.Value
	out := policy.Update{Pilots: d.pilots.Value, Soak: d.soak.Value, Batch: d.batch.Value.policy(),
		Pause: d.pause.Value, InService: d.minInService.Value.policy(), OnFailure: d.onFailure.Value,
		UndoWithin: d.undoWithin.Value, Order: d.order.Value}
	c.inService(d.minInService)
	if d.query.Known() {
		out.Query = c.query(d.query.Value, d.query.Spot, checks)
	}
	return out
}

// inService judges how many machines are to serve at least: one must be free to be changed, unless a spare takes its
// place first.
func (c *compiler) inService(least keys.At[portion]) {
	size, spares := sizes.Asked(c.draft.size), c.draft.spares.Value.count
	if !least.Known() || !size.Known() || c.selects() {
		return
	}
	most := size.Value - 1
	if spares.Known() && spares.Value > 0 {
		most = size.Value
	}
	n := least.Value.policy().Of(size.Value)
	switch {
	case n <= most:
	case n > size.Value:
		c.Add(least.Spot, fmt.Sprintf("%d is more than the size, %d: no machine could ever be changed", n, size.Value),
			"lower it, or have more machines")
	default:
		c.Add(least.Spot, fmt.Sprintf("%d is not less than the size, %d: no machine could ever be changed", n,
			size.Value), "lower it, have more machines, or write spares: 1: a spare then takes each machine's place "+
			"first")
	}
}

// query is a metric that says whether a template is good.
func (c *compiler) query(d queryDraft, at keys.Spot, checks []policy.Check) *policy.UpdateQuery {
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
	out.Metric, out.Own = sizes.CompileMetric(d.metric, c.draft.size, c.aroundSize(checks))
	if m := out.Own; m != nil && m.Smooth > 0 {
		c.Add(d.metric.Spot, "has smooth, and for an update each reading counts for itself", "take smooth out")
	}
	return out
}

// WriteUpdate returns what follows the key update, in one line.
func WriteUpdate(u *policy.Update) string {
	var p keys.Pairs
	p.Add("canary", "%d", u.Pilots)
	p.Add("soak", "%s", u.Soak)
	may := func(key string, is policy.Portion) {
		if is != (policy.Portion{}) {
			p.Add(key, "%v", portionShape().Format(portion{is.Number, is.Percent}))
		}
	}
	may("batch", u.Batch)
	may("min_in_service", u.InService)
	p.May("pause", "%s", u.Pause)
	p.May("on_failure", "%s", u.OnFailure)
	p.May("undo_within", "%s", u.UndoWithin)
	p.May("order", "%s", u.Order)
	if q := u.Query; q != nil {
		var ask keys.Pairs
		ask.Add("metric", "%s", sizes.WriteMetric(q.Metric, q.Own))
		if q.Above != nil {
			ask.Add("above", "%s", keys.FormatNumber(*q.Above))
		}
		if q.Below != nil {
			ask.Add("below", "%s", keys.FormatNumber(*q.Below))
		}
		ask.Add("for", "%s", q.For)
		p.Add("query", "%s", ask)
	}
	return p.String()
}
