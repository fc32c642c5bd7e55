package change

import "hale/internal/fleet"

// Renaming is a fleet that is gone, and one like it that is new: to a person the same fleet by another name, to hale
// machines that are let go beside others that are built.
type Renaming struct{ From, To fleet.Spec }

// Renamings returns the fleets that look as if they were given another name. A fleet is taken for one other at most.
func Renamings(was, is []fleet.Spec) []Renaming {
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
func alike(gone, fresh *fleet.Spec) bool {
	return gone.Provider == fresh.Provider && gone.Size == fresh.Size && fresh.Template.Builds(gone.Template) &&
		!gone.Adopt.Selects() && !fresh.Adopt.Selects()
}

func named(all []fleet.Spec, name string) fleet.Spec {
	for _, s := range all {
		if string(s.Name) == name {
			return s
		}
	}
	return fleet.Spec{}
}
