package config

import (
	"time"

	"hale/internal/keys"
)

func limitsShape() keys.Object[limitsDraft] {
	return keys.Object[limitsDraft]{Fields: []keys.Field[limitsDraft]{
		keys.Or("in_repair", portion{number: defaultInRepair},
			"Machines in repair at once: a number, at most the size, or a part of the "+
				"size as `5%`, which is one machine at least.", portionShape(),
			func(l *limitsDraft) *keys.At[portion] { return &l.inRepair }),
		keys.May("repairs", "So many repairs may begin within the time, beyond starts of what is off. A person is "+
			"told of a machine that waits for that for blind_after.", keys.Attempts(),
			func(l *limitsDraft) *keys.At[keys.Rate] { return &l.repairs }).Said("no limit"),
		keys.Or("in_build", defaultInBuild, "First builds at once.", keys.Integer(1, maxSize),
			func(l *limitsDraft) *keys.At[int] { return &l.inBuild }),
		keys.Part("brake", "While more machines fail than the larger of percent and at_least, or all of three or "+
			"more, no new repair starts.",
			brakeShape(defaultBrakePercent, defaultBrakeAtLeast),
			func(l *limitsDraft) *keys.At[brakeDraft] { return &l.brake }),
	}}
}

func brakeShape(share, atLeast int) keys.Object[brakeDraft] {
	return keys.Object[brakeDraft]{Fields: []keys.Field[brakeDraft]{
		keys.Or("percent", share, "Of the size, rounded down.", keys.Percent(),
			func(b *brakeDraft) *keys.At[int] { return &b.percent }),
		keys.Or("at_least", atLeast, "In machines.", keys.Integer(0, maxSize),
			func(b *brakeDraft) *keys.At[int] { return &b.atLeast }),
		keys.Or("release_after", defaultBrakeReleaseAfter,
			"How long it must be calm before the brake releases by itself. While as many fail as may, no further one "+
				"may for ten times as long.",
			keys.Duration(0, 24*time.Hour), func(b *brakeDraft) *keys.At[time.Duration] { return &b.releaseAfter }),
	}}
}

// sharedBrake is a brake of several fleets.
func sharedBrake(of string) keys.Field[sharedDraft] {
	return keys.Part("brake", "While more machines of "+of+" fail than the larger of percent and at_least, "+
		"no new repair starts in any of them.",
		brakeShape(defaultSharedBrakePercent, defaultSharedBrakeAtLeast),
		func(l *sharedDraft) *keys.At[brakeDraft] { return &l.brake })
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
