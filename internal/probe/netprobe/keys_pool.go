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
	"What a load balancer finds of the machine by checks of its own. hale takes this from the answers that it reads "+
		"for the pool, so `every` cannot be shorter than the balancer's own `every`. While the balancer says "+
		"nothing of the machine, for example because it drains or is out of the pool, the check does not count.",
	poolShape(),
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
