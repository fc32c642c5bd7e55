package pools

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/balancer"
	"hale/internal/balancer/roster"
	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/engine"
)

// Said returns what the pools said last that the fleet's machines are in, sorted by balancer: of one that never
// answered, nothing.
func (p *Pools) Said(name fleet.Name) []engine.Membership {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []engine.Membership
	for _, w := range p.wanted {
		k := p.at[w.Name]
		if k == nil || !slices.ContainsFunc(w.Fleets, func(f config.Pool) bool { return f.Fleet == name }) {
			continue
		}
		if word := k.wordNow(); word.Rev > 0 {
			out = append(out, word)
		}
	}
	slices.SortFunc(out, func(a, b engine.Membership) int { return cmp.Compare(a.Balancer, b.Balancer) })
	return out
}

func (k *keeper) wordNow() engine.Membership {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.word
}

// note keeps what the owners are told: what the pool said, and what it confirmed since. A word is never changed: they
// read it while the next one is made.
func (k *keeper) note(members []balancer.Member, done map[fleet.MachineName]balancer.State, last fleet.MachineName,
	asked time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.word = engine.Membership{At: asked, PoolWord: fleet.PoolWord{Balancer: fleet.BalancerName(k.Name),
		Rev: k.word.Rev + 1, Members: roster.Word(members, done, last)}}
}
