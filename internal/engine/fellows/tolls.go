package fellows

import (
	"sync"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
)

// tolls count the machines of all fleets, and those that fail, for the brakes that fleets share. What an owner reads of
// the others may be a moment old.
type tolls struct {
	mu        sync.Mutex
	fleets    map[fleet.Name]paid
	all       belief.Toll
	providers map[fleet.ProviderName]belief.Toll
}

// paid is what one fleet adds.
type paid struct {
	provider fleet.ProviderName
	belief.Toll
}

func newTolls() tolls {
	return tolls{fleets: map[fleet.Name]paid{}, providers: map[fleet.ProviderName]belief.Toll{}}
}

// Pay sets what the fleet adds.
func (t *tolls) Pay(name fleet.Name, provider fleet.ProviderName, is guard.Tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(t.fleets[name], -1)
	t.fleets[name] = paid{provider, belief.Toll{Size: is.Size, Failing: is.Failing}}
	t.add(t.fleets[name], 1)
}

// Leave takes the fleet out, which this engine looks after no longer.
func (t *tolls) Leave(name fleet.Name) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(t.fleets[name], -1)
	delete(t.fleets, name)
}

func (t *tolls) add(p paid, times int) {
	of := t.providers[p.provider]
	for _, sum := range []*belief.Toll{&of, &t.all} {
		sum.Size += times * p.Size
		sum.Failing += times * p.Failing
	}
	t.providers[p.provider] = of
}

// Tolls returns what the others add to the brakes that the fleet shares.
func (t *tolls) Tolls(spec *policy.Spec) []belief.Toll {
	if len(spec.Limits.Brakes) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.fleets[spec.Name]
	out := make([]belief.Toll, 0, len(spec.Limits.Brakes))
	for _, b := range spec.Limits.Brakes {
		sum := t.all
		if b.Scope == policy.ScopeProvider {
			sum = t.providers[spec.Provider]
		}
		out = append(out, belief.Toll{Scope: b.Scope, Size: sum.Size - own.Size, Failing: sum.Failing - own.Failing})
	}
	return out
}
