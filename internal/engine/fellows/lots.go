package fellows

import (
	"slices"
	"sync"

	"hale/internal/core/fleet"
)

// lots are how the machines of all fleets fare, provider by provider, as their owners showed them last. They are put
// together for all that ask within a moment. Fleets that another server looks after are not in it.
type lots struct {
	mu   sync.Mutex
	last map[fleet.ProviderName]*gathering
}

// gathering is what all fleets on a provider showed at one time. It is never changed.
type gathering struct {
	at  fleet.Instant
	by  map[fleet.Name][]fleet.Lot
	sum []fleet.Lot // of all, sorted by place
}

// beside returns what the others than the fleet show; nil: there is no other one.
func (g *gathering) beside(name fleet.Name) []fleet.Lot {
	own, some := g.by[name]
	if len(g.by) == 0 || some && len(g.by) == 1 {
		return nil
	}
	out := make([]fleet.Lot, 0, len(g.sum))
	for _, l := range g.sum {
		if len(own) > 0 && own[0].Compare(l) == 0 {
			l.Members, l.Failing, l.Suspect = l.Members-own[0].Members, l.Failing-own[0].Failing,
				l.Suspect-own[0].Suspect
			own = own[1:]
		}
		if l.Members > 0 {
			out = append(out, l)
		}
	}
	return out
}

// Lots returns how the machines fare of the fleets on the provider, but the one that asks. Of what an owner shows
// that has not looked at its probes of late, only what failed counts for sure.
func (f *Fleets) Lots(on fleet.ProviderName, asks fleet.Name) []fleet.Lot {
	f.lots.mu.Lock()
	g := f.lots.last[on]
	if now := f.now().Mono; g == nil || now.Sub(g.at) >= Every {
		g = f.gatherLots(on, now)
		f.lots.last[on] = g
	}
	f.lots.mu.Unlock()
	return g.beside(asks)
}

func (f *Fleets) gatherLots(on fleet.ProviderName, now fleet.Instant) *gathering {
	g := &gathering{at: now, by: map[fleet.Name][]fleet.Lot{}}
	for s := range f.owned(on) {
		shown := s.Lots
		if now.Sub(s.Lived) > Late {
			shown = slices.Clone(shown)
			for i := range shown {
				shown[i] = shown[i].Outdated()
			}
		}
		g.by[s.Spec.Name] = shown
		g.sum = append(g.sum, shown...)
	}
	slices.SortFunc(g.sum, fleet.Lot.Compare)
	at := 0
	for i := range g.sum {
		switch {
		case i == 0:
		case g.sum[at].Compare(g.sum[i]) != 0:
			at++
			g.sum[at] = g.sum[i]
		default:
			l := &g.sum[at]
			l.Members, l.Failing, l.Suspect = l.Members+g.sum[i].Members, l.Failing+g.sum[i].Failing,
				l.Suspect+g.sum[i].Suspect
		}
	}
	g.sum = g.sum[:min(len(g.sum), at+1)]
	return g
}
