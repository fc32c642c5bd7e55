package config

import "hale/internal/fleet"

// shareLimits sets the budgets and the brakes that a fleet on the provider shares with others, the widest first.
func shareLimits(l *fleet.Limits, doc document, provider string) {
	add := func(scope fleet.ScopeKind, n at[int]) {
		if n.known() {
			l.Shared = append(l.Shared, fleet.SharedLimit{Scope: scope, InRepair: n.value})
		}
	}
	all := doc.limits.value
	add(fleet.ScopeInstallation, all.inRepair)
	l.Brakes = append(l.Brakes, fleet.SharedBrake{Scope: fleet.ScopeInstallation, BrakePolicy: sharedPolicy(all.brake)})
	for _, p := range doc.providers.value {
		if of := p.value.limits.value; p.name == provider {
			add(fleet.ScopeProvider, of.inRepair)
			add(fleet.ScopeZone, of.perZone)
			add(fleet.ScopeRoom, of.perRoom)
			add(fleet.ScopeRack, of.perRack)
			add(fleet.ScopeHost, of.perHost)
			l.Brakes = append(l.Brakes, fleet.SharedBrake{Scope: fleet.ScopeProvider,
				BrakePolicy: sharedPolicy(of.brake)})
		}
	}
}

// sharedPolicy lets all of a few machines fail: whether they do is each fleet's own question.
func sharedPolicy(d at[brakeDraft]) fleet.BrakePolicy {
	p := brakePolicy(d)
	p.All = true
	return p
}

func brakePolicy(d at[brakeDraft]) fleet.BrakePolicy {
	return fleet.BrakePolicy{
		AtLeast:      d.value.atLeast.value,
		Percent:      d.value.percent.value,
		ReleaseAfter: d.value.releaseAfter.value,
	}
}
