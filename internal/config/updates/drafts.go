package updates

import (
	"time"

	"hale/internal/config/sizes"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Draft is what the file says of a fleet's updates, key by key.
type Draft struct {
	pilots       keys.At[int]
	soak         keys.At[time.Duration]
	batch        keys.At[policy.Portion]
	pause        keys.At[time.Duration]
	minInService keys.At[policy.Portion]
	surge        keys.At[int]
	query        keys.At[queryDraft]
	onFailure    keys.At[policy.OnUpdateFailure]
	undoWithin   keys.At[time.Duration]
	order        keys.At[policy.UpdateOrder]
}

// queryDraft is a metric that says whether another template is good.
type queryDraft struct {
	metric       keys.At[sizes.MetricDraft]
	above, below keys.At[float64]
	lasts        keys.At[time.Duration]
}
