package config

import (
	"hale/internal/config/fleets"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// shareLimits sets the budgets and the brakes that a fleet on the provider shares with others, the widest first.
func shareLimits(l *policy.Limits, doc document, provider string) {
	add := func(scope policy.ScopeKind, n keys.At[int]) {
		if n.Known() {
			l.Shared = append(l.Shared, policy.SharedLimit{Scope: scope, InRepair: n.Value})
		}
	}
	all := doc.limits.Value
	add(policy.ScopeInstallation, all.inRepair)
	l.Brakes = append(l.Brakes, policy.SharedBrake{Scope: policy.ScopeInstallation, Policy: sharedPolicy(all.brake)})
	for _, p := range doc.providers.Value {
		if of := p.Value.limits.Value; p.Name == provider {
			add(policy.ScopeProvider, of.inRepair)
			add(policy.ScopeZone, of.perZone)
			add(policy.ScopeRoom, of.perRoom)
			add(policy.ScopeRack, of.perRack)
			add(policy.ScopeHost, of.perHost)
			l.Brakes = append(l.Brakes, policy.SharedBrake{Scope: policy.ScopeProvider,
				Policy: sharedPolicy(of.brake)})
		}
	}
}

// sharedPolicy lets all of a few machines fail: whether they do is each fleet's own question.
func sharedPolicy(d keys.At[fleets.Brake]) policy.Brake {
	p := d.Value.Policy()
	p.All = true
	return p
}

// sharedBrake is a brake of several fleets.
func sharedBrake(of string) keys.Field[sharedDraft] {
	return keys.Part("brake", "While more machines of "+of+" fail than the larger of percent and at_least, "+
		"no new repair starts in any of them.",
		fleets.BrakeShape(defaultSharedBrakePercent, defaultSharedBrakeAtLeast),
		func(l *sharedDraft) *keys.At[fleets.Brake] { return &l.brake })
}

func providerLimitsShape() keys.Object[sharedDraft] {
	return keys.Object[sharedDraft]{Fields: []keys.Field[sharedDraft]{
		keys.Or("in_repair", defaultProviderInRepair, "On the whole provider.", keys.Integer(1, maxSize),
			func(l *sharedDraft) *keys.At[int] { return &l.inRepair }),
		sharedPart("per_host", "On each host.", func(l *sharedDraft) *keys.At[int] { return &l.perHost }),
		sharedPart("per_rack", "In each rack, as the hosts' labels say.",
			func(l *sharedDraft) *keys.At[int] { return &l.perRack }),
		sharedPart("per_room", "In each room.", func(l *sharedDraft) *keys.At[int] { return &l.perRoom }),
		sharedPart("per_zone", "In each zone.", func(l *sharedDraft) *keys.At[int] { return &l.perZone }),
		sharedBrake("all fleets on it together"),
	}}
}

// sharedPart bounds the machines in repair in each part of a provider, where the file has a limit.
func sharedPart(key, doc string, of func(*sharedDraft) *keys.At[int]) keys.Field[sharedDraft] {
	return keys.May(key, doc, keys.Integer(1, maxSize), of).Said("no limit")
}
