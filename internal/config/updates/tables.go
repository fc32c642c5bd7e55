package updates

import (
	"math"
	"time"

	"hale/internal/config/sizes"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// The defaults, in one place: the reader fills them in, the schema and the reference page state them.
const (
	defaultPilots     = 1
	defaultSoak       = 2 * time.Minute
	defaultOnFailure  = policy.UpdateStop
	defaultUndoWithin = time.Hour
	defaultOrder      = policy.UpdateHighest
	defaultQueryFor   = time.Minute
)

// Shape is what follows the key update.
func Shape() keys.Object[Draft] {
	return keys.Object[Draft]{Fields: []keys.Field[Draft]{
		keys.Or("canary", defaultPilots, "So many machines are built from it first. When one of them does not become "+
			"healthy, the others keep theirs.",
			keys.Integer(1, fleet.LargestSize), func(u *Draft) *keys.At[int] { return &u.pilots }),
		keys.Or("soak", defaultSoak, "For so long all of these must be healthy before the others follow.",
			keys.Duration(0, 7*24*time.Hour), func(u *Draft) *keys.At[time.Duration] { return &u.soak }),
		keys.May("batch", "So many of the others follow together, as far as `in_repair` allows at once. When all of "+
			"them are well, and the pause is over, the next ones do.", sizes.PortionShape(),
			func(u *Draft) *keys.At[policy.Portion] { return &u.batch }).
			Said("no batches: one follows as soon as another is well, as many at once as `in_repair` allows"),
		keys.Or("pause", 0, "The time between the moment at which a batch is well and the next one.",
			keys.Duration(0, 7*24*time.Hour), func(u *Draft) *keys.At[time.Duration] { return &u.pause }),
		keys.May("min_in_service", "So many machines must serve while one is taken away for the update. A machine "+
			"serves when it is healthy and certified, and no spare.", sizes.PortionShape(),
			func(u *Draft) *keys.At[policy.Portion] { return &u.minInService }).Said("none"),
		keys.Or("surge", 0, "So many machines are built beyond the size, from the other template, and serve before a "+
			"machine that serves is changed. They go when the last one is changed, and never fewer serve than the "+
			"size says. The same holds for `hale replace`.", keys.Integer(0, fleet.LargestSize),
			func(u *Draft) *keys.At[int] { return &u.surge }),
		keys.May("query", "A metric that says whether the template is good. Beyond its bound the update fails; while "+
			"it says nothing, no further machine is changed.", queryShape(),
			func(u *Draft) *keys.At[queryDraft] { return &u.query }),
		keys.Or("on_failure", defaultOnFailure, "What becomes of the machines that were changed when the update "+
			"fails. `stop`: they stay as they are, and the others keep their template. `undo`: they go back to the "+
			"template that the others have, in batches, without a pause.",
			keys.Choice(nil, policy.UpdateStop, policy.UpdateUndo),
			func(u *Draft) *keys.At[policy.OnUpdateFailure] { return &u.onFailure }),
		keys.Or("undo_within", defaultUndoWithin, "How long that may take before a person is paged.",
			keys.Duration(time.Minute, 7*24*time.Hour),
			func(u *Draft) *keys.At[time.Duration] { return &u.undoWithin }),
		keys.Or("order", defaultOrder, "Which machines are changed first; `oldest`: those that were built "+
			"first.", keys.Choice(nil, policy.UpdateHighest, policy.UpdateLowest, policy.UpdateOldest),
			func(u *Draft) *keys.At[policy.UpdateOrder] { return &u.order }),
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
