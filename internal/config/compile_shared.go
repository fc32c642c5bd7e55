package config

import (
	"hale/internal/core/fleet"
	"hale/internal/keys"
)

// shareLimits sets the budgets and the brakes that a fleet on the provider shares with others, the widest first.
func shareLimits(l *fleet.Limits, doc document, provider string) {
	add := func(scope fleet.ScopeKind, n keys.At[int]) {
		if n.Known() {
			l.Shared = append(l.Shared, fleet.SharedLimit{Scope: scope, InRepair: n.Value})
		}
	}
	all := doc.limits.Value
	add(fleet.ScopeInstallation, all.inRepair)
	l.Brakes = append(l.Brakes, fleet.SharedBrake{Scope: fleet.ScopeInstallation, BrakePolicy: sharedPolicy(all.brake)})
	for _, p := range doc.providers.Value {
		if of := p.Value.limits.Value; p.Name == provider {
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
func sharedPolicy(d keys.At[brakeDraft]) fleet.BrakePolicy {
	p := brakePolicy(d)
	p.All = true
	return p
}

func brakePolicy(d keys.At[brakeDraft]) fleet.BrakePolicy {
	return fleet.BrakePolicy{
		AtLeast:      d.Value.atLeast.Value,
		Percent:      d.Value.percent.Value,
		ReleaseAfter: d.Value.releaseAfter.Value,
	}
}
