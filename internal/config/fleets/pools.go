package fleets

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/config/hooks"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// PoolDraft is what the file says of the place of a fleet's machines in the pool of a load balancer.
type PoolDraft struct {
	Port keys.At[int]
	Wait keys.At[time.Duration]
}

// defaultPoolWait is longer than most requests, and shorter than the patience of those who want the change.
const defaultPoolWait = 30 * time.Second

// poolShape reads a port, or a mapping with more.
func poolShape() keys.Shorthand[PoolDraft, int] {
	port := keys.Integer(1, 65535)
	port.Noun, port.Example = "a port", "80"
	return keys.Shorthand[PoolDraft, int]{
		Short: port,
		Long: keys.Object[PoolDraft]{Fields: []keys.Field[PoolDraft]{
			keys.Must("port", "80", "At which port of each machine the pool's connections arrive.", port,
				func(p *PoolDraft) *keys.At[int] { return &p.Port }),
			keys.Or("wait", defaultPoolWait,
				"How long the connections of a machine that leaves may take to end: until "+
					"then it gets no new ones, and after that it is out.", keys.Duration(0, 24*time.Hour),
				func(p *PoolDraft) *keys.At[time.Duration] { return &p.Wait }),
		}},
		Take: func(port keys.At[int]) PoolDraft {
			return PoolDraft{Port: port, Wait: keys.At[time.Duration]{Value: defaultPoolWait, How: keys.Preset}}
		},
	}
}

// poolsField is the key of a fleet's pools.
func poolsField() keys.Field[Draft] {
	return keys.May("balancers",
		"The pools that the machines are in, by the names of balancers at the top of the file: a "+
			"port, or a mapping. Healthy machines serve; unhealthy ones, and those in repair, do not.",
		keys.Mapping[PoolDraft]{Key: "BALANCER", Each: poolShape()},
		func(f *Draft) *keys.At[[]keys.Named[PoolDraft]] { return &f.pools }).Said("none")
}

// fleetSurroundings are the keys of what is around the machines: load balancers, and people's own hooks.
func fleetSurroundings() []keys.Field[Draft] {
	return []keys.Field[Draft]{
		poolsField(),
		keys.Part("hooks", "What hale does around the work on a machine: hooks, in the order in which they are "+
			"written.",
			hooks.Shape(), func(f *Draft) *keys.At[hooks.Draft] { return &f.hooks }),
		keys.May("provision",
			"Steps that set up a new instance, in the order in which they are written. They run once "+
				"the instance has an address, and before its health is checked. An instance on which they did not "+
				"succeed is not certified and does not serve.", hooks.Provision(),
			func(f *Draft) *keys.At[[]keys.Named[hooks.Hook]] { return &f.provision }),
	}
}

// pooled are the pools that the machines are in, sorted by balancer.
func (c *compiler) pooled() []policy.Pool {
	var out []policy.Pool
	for _, p := range c.draft.pools.Value {
		out = append(out, policy.Pool{Balancer: fleet.BalancerName(p.Name), Wait: p.Value.Wait.Value})
	}
	slices.SortFunc(out, func(a, b policy.Pool) int { return cmp.Compare(a.Balancer, b.Balancer) })
	return out
}

// Pools are the pools of the fleet.
func (d *Draft) Pools() []keys.Named[PoolDraft] { return d.pools.Value }
