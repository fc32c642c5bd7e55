package config

import "hale/internal/fleet"

// sharedLimits returns the budgets that a fleet on the provider shares with others, the widest first.
func sharedLimits(doc document, provider string) []fleet.SharedLimit {
	var out []fleet.SharedLimit
	add := func(scope fleet.ScopeKind, n at[int]) {
		if n.given() {
			out = append(out, fleet.SharedLimit{Scope: scope, InRepair: n.value})
		}
	}
	add(fleet.ScopeInstallation, doc.limits.value.inRepair)
	for _, p := range doc.providers.value {
		if l := p.value.limits.value; p.name == provider {
			add(fleet.ScopeProvider, l.inRepair)
			add(fleet.ScopeZone, l.perZone)
			add(fleet.ScopeRoom, l.perRoom)
			add(fleet.ScopeRack, l.perRack)
			add(fleet.ScopeHost, l.perHost)
		}
	}
	return out
}
