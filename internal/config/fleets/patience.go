package fleets

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/health"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// rise is how long after a step the checks need to say that a machine is healthy, and the last one that is needed for
// it.
type rise struct {
	check fleet.CheckName
	takes time.Duration
}

// riseOf finds the moment from which on the condition is surely false, when all checks succeed and the provider has
// nothing to object.
func riseOf(checks []policy.Check, unhealthy policy.Condition) rise {
	rises := make([]rise, len(checks))
	for i := range checks {
		rises[i] = rise{checks[i].Name, time.Duration(checks[i].UpAfter)*checks[i].Every + checks[i].Timeout}
	}
	slices.SortFunc(rises, func(a, b rise) int { return cmp.Compare(a.takes, b.takes) })
	up := map[fleet.CheckName]bool{policy.ProviderTerm: true}
	for _, r := range rises {
		up[r.check] = true
		down := health.Evaluate(unhealthy, func(name fleet.CheckName) health.Truth {
			if up[name] {
				return health.False
			}
			return health.Unknown
		})
		if down == health.False {
			return r
		}
	}
	return rise{}
}

// patience returns how long to wait for health. A wait that is over before the checks can have spoken is a mistake:
// such a step would fail each time, also when it helped, and a harder one would follow. Where none is written it is the
// default, or twice what the checks need.
func (c *compiler) patience(wait keys.At[time.Duration]) time.Duration {
	switch {
	case wait.How == keys.Preset:
		return max(wait.Value, 2*c.rise.takes)
	case wait.Given() && wait.Value < c.rise.takes:
		c.Add(wait.Spot, fmt.Sprintf("%s is over before check %s can say that a machine is healthy: it needs %s "+
			"(every, as often as up_after, and timeout)",
			keys.FormatDuration(wait.Value), c.rise.check, keys.FormatDuration(c.rise.takes)),
			"allow more time, or let the check be asked more often")
	}
	return wait.Value
}
