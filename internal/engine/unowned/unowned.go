// Package unowned keeps what hale's marks show that no fleet owns, and since when.
package unowned

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/engine/poller"
	"hale/internal/owner/published"
)

// Instances are those of one engine. It is safe for concurrent use.
type Instances struct {
	mu       sync.Mutex
	released map[fleet.Name]time.Time       // since when fleets that are in the store are not in the configuration
	since    map[fleet.InstanceID]time.Time // since when it was seen that no fleet owns them
}

// Released remembers since when a fleet that left the configuration is looked after by none.
func (u *Instances) Released(name fleet.Name, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.released == nil {
		u.released = map[fleet.Name]time.Time{}
	}
	u.released[name] = at
}

// Watched forgets it again.
func (u *Instances) Watched(name fleet.Name) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.released, name)
}

// In returns what of the listings bears hale's mark and belongs to none of the fleets, by provider, fleet and name. An
// instance on a host that does not answer is not among them.
func (u *Instances) In(listings map[fleet.ProviderName]poller.Listing, fleets []published.Fleet,
	ours fleet.Installation) []published.Unowned {
	beliefs := make(map[fleet.Name]map[fleet.MachineName]bool)
	for _, s := range fleets {
		known := make(map[fleet.MachineName]bool, len(s.Machines))
		for i := range s.Machines {
			known[s.Machines[i].Machine.Name] = true
		}
		beliefs[s.Spec.Name] = known
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []published.Unowned
	seen := make(map[fleet.InstanceID]time.Time)
	for name, listed := range listings {
		for _, i := range listed.Instances {
			known, configured := beliefs[i.Mark.Fleet]
			if configured && (len(known) == 0 || known[i.Mark.Machine]) {
				continue // it is not loaded yet, or the machine is there
			}
			since := cmp.Or(u.released[i.Mark.Fleet], u.since[i.ID], listed.At)
			seen[i.ID] = cmp.Or(u.since[i.ID], listed.At)
			foreign := i.Mark.Installation != ours
			out = append(out, published.Unowned{Provider: name, Instance: i, Since: since, Foreign: foreign})
		}
	}
	u.since = seen
	slices.SortFunc(out, func(a, b published.Unowned) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Instance.Mark.Fleet, b.Instance.Mark.Fleet),
			cmp.Compare(a.Instance.Name, b.Instance.Name), cmp.Compare(a.Instance.ID, b.Instance.ID))
	})
	return out
}
