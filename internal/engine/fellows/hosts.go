package fellows

import (
	"iter"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// on are the fleets on the provider.
func (f *Fleets) on(provider fleet.ProviderName) iter.Seq[Shown] {
	return func(yield func(Shown) bool) {
		for s := range f.all() {
			if s.Spec.Provider == provider && !yield(s) {
				return
			}
		}
	}
}

// Serve reports whether a machine of any fleet on the provider is not known to fail on the host. Of a fleet that
// another server looks after nothing is known here: then there may be one.
func (f *Fleets) Serve(provider fleet.ProviderName, host fleet.HostName) bool {
	for s := range f.on(provider) {
		if s.Acting == fleet.ReasonNotOwner {
			return true
		}
		for i := range s.Machines {
			m := &s.Machines[i].Machine
			if m.Current.Host == host && !m.Current.None() && m.Health.Verdict != belief.VerdictUnhealthy {
				return true
			}
		}
	}
	return false
}

// Rest returns on which hosts' being cut a machine of any fleet on the provider rests, as far as this server looks
// after it.
func (f *Fleets) Rest(provider fleet.ProviderName) []fleet.HostName {
	var out []fleet.HostName
	for s := range f.on(provider) {
		for i := range s.Machines {
			out = s.Machines[i].Machine.RestsOn(out)
		}
	}
	return out
}

// Care returns what the fleets on the provider adopted, of those that may act, and whether any selects.
func (f *Fleets) Care(provider fleet.ProviderName) (c fleet.Cared, selects bool) {
	c.Whole = true
	for s := range f.on(provider) {
		if !s.Spec.Adopt.Selects() {
			continue
		}
		selects = true
		if s.Acting != "" {
			c.Whole = false
			continue
		}
		for i := range s.Machines {
			m := &s.Machines[i].Machine
			if s.Spec.Mode == policy.ModeAct && m.Current.Adopted && m.Current.Certified {
				c.IDs = append(c.IDs, m.Current.ID)
			}
		}
	}
	slices.Sort(c.IDs)
	return c, selects
}
