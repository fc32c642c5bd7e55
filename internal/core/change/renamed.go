package change

import (
	"maps"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Renaming is a fleet that is gone, and one like it that is new: to a person the same fleet by another name, to hale
// machines that are let go beside others that are built.
type Renaming struct{ From, To policy.Spec }

// Renamings returns the fleets that look as if they were given another name. A fleet is taken for one other at most.
func Renamings(was, is []policy.Spec) []Renaming {
	var out []Renaming
	taken := map[fleet.Name]bool{}
	for _, d := range Fleets(was, is) {
		if d.Kind != FleetRemoved {
			continue
		}
		gone := named(was, d.Subject)
		for _, e := range Fleets(was, is) {
			fresh := named(is, e.Subject)
			if e.Kind == FleetAdded && !taken[fresh.Name] && alike(&gone, &fresh) {
				taken[fresh.Name] = true
				out = append(out, Renaming{From: gone, To: fresh})
				break
			}
		}
	}
	return out
}

// alike reports whether the second would build what the first has.
func alike(gone, fresh *policy.Spec) bool {
	return gone.Provider == fresh.Provider && gone.Said() == fresh.Said() && fresh.Template.Builds(gone.Template) &&
		!gone.Adopt.Selects() && !fresh.Adopt.Selects()
}

func named(all []policy.Spec, name string) policy.Spec {
	for _, s := range all {
		if string(s.Name) == name {
			return s
		}
	}
	return policy.Spec{}
}

// RenamedSince returns the fleets that seem renamed, where only the ledgers and the names of the former fleets are
// left. The old one is as the new one says, but for its name.
func RenamedSince(before map[fleet.Name]*belief.Ledger, is []policy.Spec) []Renaming {
	var was []policy.Spec
	for _, s := range is {
		if before[s.Name] != nil {
			was = append(was, s)
		}
	}
	taken := map[fleet.Name]bool{}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		l := before[name]
		if l == nil || named(is, string(name)).Name != "" {
			continue
		}
		for _, s := range is {
			if before[s.Name] == nil && !taken[s.Name] && s.Provider == l.Provider && likeSize(&s, l) &&
				s.Template.Builds(l.Template) {
				taken[s.Name] = true
				s.Name = name
				was = append(was, s)
				break
			}
		}
	}
	return Renamings(was, is)
}

// likeSize reports whether the configuration, when the ledger was written, may have said the size that the spec says.
func likeSize(s *policy.Spec, l *belief.Ledger) bool {
	switch {
	case l.Ordered != nil:
		return l.Ordered.File == s.Said()
	case s.Said() == 0:
		return s.Sizing.Bound(l.Size) == l.Size
	}
	return l.Size == s.Said()
}
