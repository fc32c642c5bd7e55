package engine

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/engine/poller"
	"hale/internal/owner/published"
)

// Unowned returns what each provider's last good listing shows of hale's mark and no fleet owns, by provider, fleet and
// name. An instance on a host that does not answer is not among them.
func (e *Engine) Unowned() []published.Unowned {
	beliefs := make(map[fleet.Name]map[fleet.MachineName]bool)
	for _, s := range e.Status() {
		known := make(map[fleet.MachineName]bool, len(s.Machines))
		for i := range s.Machines {
			known[s.Machines[i].Machine.Name] = true
		}
		beliefs[s.Spec.Name] = known
	}
	e.unownedMu.Lock()
	defer e.unownedMu.Unlock()
	var out []published.Unowned
	var ours fleet.Installation
	if id := e.ours.Load(); id != nil {
		ours = *id
	}
	seen := make(map[fleet.InstanceID]time.Time)
	for name, listed := range e.listings() {
		for _, i := range listed.Instances {
			known, configured := beliefs[i.Mark.Fleet]
			if configured &&
				(len(known) == 0 || known[i.Mark.Machine]) { // it is not loaded yet, or the machine is there
				continue
			}
			since := cmp.Or(e.released[i.Mark.Fleet], e.unownedSince[i.ID], listed.At)
			seen[i.ID] = cmp.Or(e.unownedSince[i.ID], listed.At)
			out = append(
				out,
				published.Unowned{Provider: name, Instance: i, Since: since, Foreign: i.Mark.Installation != ours},
			)
		}
	}
	e.unownedSince = seen
	slices.SortFunc(out, func(a, b published.Unowned) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Instance.Mark.Fleet, b.Instance.Mark.Fleet),
			cmp.Compare(a.Instance.Name, b.Instance.Name), cmp.Compare(a.Instance.ID, b.Instance.ID))
	})
	return out
}

// listings returns the last one of each provider.
func (e *Engine) listings() map[fleet.ProviderName]poller.Listing {
	out := make(map[fleet.ProviderName]poller.Listing)
	for _, s := range *e.watching.Load() {
		if l := s.Shows(); l != nil {
			out[s.Source.Name] = *l
		}
	}
	return out
}

// noteUnwatched remembers since when a fleet that left the configuration is looked after by none.
func (e *Engine) noteUnwatched(name fleet.Name, at time.Time) {
	e.unownedMu.Lock()
	defer e.unownedMu.Unlock()
	e.released[name] = at
}

// noteWatched forgets it again.
func (e *Engine) noteWatched(name fleet.Name) {
	e.unownedMu.Lock()
	defer e.unownedMu.Unlock()
	delete(e.released, name)
}
