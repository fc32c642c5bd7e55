package picture

import (
	"slices"

	"hale/internal/core/fleet"
)

// mostWitnesses is how many other machines vouch for a listing.
const mostWitnesses = 8

// Witnesses returns instances of other machines, spread over the fleet, that were last seen in existence: a listing
// that does not show them either is not to be believed about what it does not show.
func (p *Picture) Witnesses(index int) []fleet.InstanceID {
	var out []fleet.InstanceID
	n := len(p.views)
	step := max(1, n/mostWitnesses)
	for k := 1; k < n && len(out) < mostWitnesses; k++ {
		// First one of each stretch, so that they do not all lie on one host; then the others.
		i := (index + k*step + k*step/n) % n
		id := p.views[i].Machine.Current.ID
		s := p.views[i].Sighting(id)
		if i != index && s.Known() && s.Instance.Power != fleet.PowerGone && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Credible reports whether a complete listing in which shows finds so few or many of the witnesses can be believed
// about what it does not show: an empty answer from a proxy, or from another project, is complete and without error,
// too.
func Credible(witnesses []fleet.InstanceID, shows func(fleet.InstanceID) bool) bool {
	n := 0
	for _, id := range witnesses {
		if shows(id) {
			n++
		}
	}
	return 2*n >= len(witnesses)
}
