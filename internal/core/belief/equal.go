package belief

import "slices"

// Equal reports whether the two say the same; an empty list and none are the same.
func (m *Machine) Equal(o *Machine) bool {
	return m.Name == o.Name && m.Epoch == o.Epoch && m.Waiting == o.Waiting && m.Health == o.Health &&
		m.Current == o.Current &&
		m.Generation == o.Generation && m.Moved == o.Moved && m.Acted == o.Acted && m.Cleared == o.Cleared &&
		m.Address == o.Address && m.Alias == o.Alias &&
		m.RetryAt == o.RetryAt &&
		m.Incidents == o.Incidents && m.Repairs == o.Repairs && m.sameBusiness(o)
}

// sameBusiness compares what there is to do with the two.
func (m *Machine) sameBusiness(o *Machine) bool {
	return slices.Equal(m.Swings, o.Swings) && slices.EqualFunc(m.Warned, o.Warned, Warned.equal) &&
		slices.Equal(m.Strays, o.Strays) &&
		slices.Equal(m.Attempts, o.Attempts) && slices.Equal(m.Spurned, o.Spurned) &&
		same(m.Incident, o.Incident) && same(m.Quarantine, o.Quarantine) && same(m.Wanted, o.Wanted) &&
		same(m.Marked, o.Marked) && same(m.Anchor, o.Anchor) &&
		same(m.Change, o.Change) && m.Repair.equal(o.Repair) && m.Volumes.equal(o.Volumes) &&
		m.Provisioned.equal(o.Provisioned) &&
		slices.Equal(m.Kept, o.Kept) &&
		slices.Equal(m.Snapshots, o.Snapshots) && slices.Equal(m.Left, o.Left) &&
		same(m.Contest, o.Contest) && same(m.Elsewhere, o.Elsewhere)
}

func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func (r *Repair) equal(o *Repair) bool {
	if r == nil || o == nil {
		return r == o
	}
	a, b := *r, *o
	if !same(a.Intent, b.Intent) || !a.Hooks.equal(b.Hooks) {
		return false
	}
	a.Intent, b.Intent, a.Hooks, b.Hooks = nil, nil, nil, nil
	return a == b
}
