package fellows

import (
	"iter"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/situation"
)

// aheadWithin is for how long it counts how a fleet stood at another server. The store is asked three times in it.
const aheadWithin = 30 * time.Second

// Unready returns how those of the fleets stand that do not serve, or may not.
func (f *Fleets) Unready(names []fleet.Name) (out []situation.Ahead) {
	if len(names) == 0 {
		return nil
	}
	stand := make(map[fleet.Name]situation.Ahead, len(names))
	for s := range f.all() {
		if slices.Contains(names, s.Told.Name) {
			stand[s.Told.Name] = f.ahead(&s)
		}
	}
	for _, name := range names {
		a := stand[name]
		if a.Fleet = name; !guard.Ready(a) {
			out = append(out, a)
		}
	}
	return out
}

// ahead is how the fleet stands for those that come after it: as its owner here shows it, or as another server stored
// it last. Of what is neither, or is old, nothing is known.
func (f *Fleets) ahead(s *Shown) situation.Ahead {
	switch {
	case s.Acting == fleet.ReasonNotOwner && s.Afar != nil && f.now().Within(aheadWithin, s.Afar.At):
		return s.Afar.Ahead
	case s.Acting == fleet.ReasonNotOwner, !s.AsOf.IsZero(), f.now().Mono.Sub(s.Lived) > Late:
		return situation.Ahead{}
	}
	return guard.Ahead(&s.Spec, s.Whole.Ledger, s.machines())
}

func (s *Shown) machines() iter.Seq[*belief.Machine] {
	return func(yield func(*belief.Machine) bool) {
		for i := range s.Machines {
			if !yield(&s.Machines[i].Machine) {
				return
			}
		}
	}
}

// Precedes reports whether another fleet comes after the fleet.
func (f *Fleets) Precedes(name fleet.Name) bool {
	for s := range f.all() {
		if slices.Contains(s.Told.After, name) {
			return true
		}
	}
	return false
}
