package belief

import (
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Candidate reports whether the instance is selected and was not seen healthy yet: it is watched, and never touched.
func (i *Incarnation) Candidate() bool { return i.Adopted && !i.Certified }

// Vacant reports whether a place of a fleet that selects has no instance, and nothing to do with one.
func (m *Machine) Vacant() bool { return m.Current.None() && m.Incident == nil && m.Repair == nil }

// Keep notes whether the policy lets an adopted instance be destroyed. A call under way was decided by the policy of
// its time.
func (m *Machine) Keep(a *policy.Adoption) {
	if r := m.Repair; r != nil {
		if r.Intent != nil && !r.Intent.Unknown {
			return
		}
		r.Target.keep(a)
	}
	m.Current.keep(a)
}

func (i *Incarnation) keep(a *policy.Adoption) { i.Irreplaceable = i.Adopted && !a.Replaceable }

// Vacate takes the machine's instance out of hale's care. What was learnt of it is forgotten; its numbers are not used
// again.
func (m *Machine) Vacate(now fleet.Now) {
	m.IncidentOver()
	m.Current, m.Alias, m.Attempts, m.Anchor, m.Elsewhere = Incarnation{}, "", nil, nil, nil
	m.Health = Health{Verdict: VerdictUnknown, Cause: CauseMissing, Since: now.Wall, SinceMono: now.Mono}
	m.Epoch++
}

// Consider makes the instance the machine's candidate.
func (m *Machine) Consider(i *fleet.Instance, a *policy.Adoption, now fleet.Now) {
	m.Generation++
	m.Current = Incarnation{
		ID: i.ID, Generation: m.Generation, Host: i.Host, Network: i.Network, Storage: i.Storage, Adopted: true,
	}
	m.Current.keep(a)
	m.Alias, m.Address = i.Name, i.Address
	m.Health = Health{Verdict: VerdictUnknown, Since: now.Wall, SinceMono: now.Mono}
	m.Epoch++
}
