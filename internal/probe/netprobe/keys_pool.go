package netprobe

import (
	"fmt"
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type poolDraft struct{ balancer keys.At[string] }

var poolKeys = kinds.CheckOf(policy.CheckPool, "balancer: edge",
	"What a load balancer finds of the machine, by checks of its own. It is asked nothing beside what it is asked for "+
		"its pool, so `every` is no shorter than there. As long as it says nothing of the machine, since that is out of "+
		"the pool or drains, say, the machine is judged as if the check did not stand here.", poolShape(),
	func(c kinds.Asked, d keys.At[poolDraft]) { c.Check.Pool.Balancer = d.Value.balancer.Value },
	func(c *policy.Check, p *keys.Pairs) { p.Add("balancer", "%s", keys.Quoted(c.Pool.Balancer)) }).
	WithTimeout(poolTimeout)

func poolShape() keys.Object[poolDraft] {
	return keys.Object[poolDraft]{Fields: []keys.Field[poolDraft]{
		keys.Must("balancer", "edge", "Which one: a load balancer that the fleet is behind, as in its `balancers`.",
			keys.Text("a balancer", "edge"), func(d *poolDraft) *keys.At[string] { return &d.balancer }),
	}}
}

// poolTimeout is half of every by default: a load balancer's own interface may be slow.
func poolTimeout(f *keys.Finder, every, timeout keys.At[time.Duration]) time.Duration {
	switch {
	case timeout.How == keys.Absent:
		return every.Value / 2
	case timeout.Known() && every.Known() && timeout.Value >= every.Value:
		f.Add(timeout.Spot, fmt.Sprintf("%s is not shorter than every", keys.FormatDuration(timeout.Value)),
			"raise every or lower timeout")
	}
	return timeout.Value
}
