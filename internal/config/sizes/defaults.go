package sizes

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// The defaults, in one place: the reader fills them in, the schema and the reference page state them.
const (
	defaultTellAfter     = 10 * time.Minute
	defaultMetricEvery   = 15 * time.Second
	defaultMetricTimeout = 5 * time.Second // or half of every, when that is shorter
	defaultTolerance     = 0.2
)

// How fast opinions move a size. Down there is no need for a cooldown: the window is enough.
var (
	defaultUp   = pace{most: stride{4, 100}}
	defaultDown = pace{stabilise: 20 * time.Minute, most: stride{percent: 100}}
)

// defaultLeave says who goes first.
var defaultLeave = []policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveOldestTemplate, policy.LeaveOldest}

const (
	maxSize = fleet.LargestSize
	// longestLook is how far the rule of sizes looks back at most.
	longestLook = time.Hour
)
