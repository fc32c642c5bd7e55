package config

import "time"

func limitsShape() object[limitsDraft] {
	return object[limitsDraft]{fields: []field[limitsDraft]{
		or("in_repair", portion{number: defaultInRepair},
			"Machines in repair at once: a number, at most the size, or a part of the "+
				"size as `5%`, which is one machine at least.", portionShape(),
			func(l *limitsDraft) *at[portion] { return &l.inRepair }),
		may("repairs", "So many repairs may begin within the time, beyond starts of what is off. A person is told of "+
			"a machine that waits for that for blind_after.", attempts(),
			func(l *limitsDraft) *at[rate] { return &l.repairs }).said("no limit"),
		or("in_build", defaultInBuild, "First builds at once.", integer(1, maxSize),
			func(l *limitsDraft) *at[int] { return &l.inBuild }),
		part("brake", "While more machines fail than the larger of percent and at_least, or all of three or "+
			"more, no new repair starts.",
			brakeShape(defaultBrakePercent, defaultBrakeAtLeast),
			func(l *limitsDraft) *at[brakeDraft] { return &l.brake }),
	}}
}

func brakeShape(share, atLeast int) object[brakeDraft] {
	return object[brakeDraft]{fields: []field[brakeDraft]{
		or("percent", share, "Of the size, rounded down.", percent(),
			func(b *brakeDraft) *at[int] { return &b.percent }),
		or("at_least", atLeast, "In machines.", integer(0, maxSize),
			func(b *brakeDraft) *at[int] { return &b.atLeast }),
		or("release_after", defaultBrakeReleaseAfter,
			"How long it must be calm before the brake releases by itself. While as many fail as may, no further one "+
				"may for ten times as long.",
			duration(0, 24*time.Hour), func(b *brakeDraft) *at[time.Duration] { return &b.releaseAfter }),
	}}
}

// sharedBrake is a brake of several fleets.
func sharedBrake(of string) field[sharedDraft] {
	return part("brake", "While more machines of "+of+" fail than the larger of percent and at_least, "+
		"no new repair starts in any of them.",
		brakeShape(defaultSharedBrakePercent, defaultSharedBrakeAtLeast),
		func(l *sharedDraft) *at[brakeDraft] { return &l.brake })
}

func providerLimitsShape() object[sharedDraft] {
	return object[sharedDraft]{fields: []field[sharedDraft]{
		or("in_repair", defaultProviderInRepair, "On the whole provider.", integer(1, maxSize),
			func(l *sharedDraft) *at[int] { return &l.inRepair }),
		sharedPart("per_host", "On each host.", func(l *sharedDraft) *at[int] { return &l.perHost }),
		sharedPart("per_rack", "In each rack, as the hosts' labels say.",
			func(l *sharedDraft) *at[int] { return &l.perRack }),
		sharedPart("per_room", "In each room.", func(l *sharedDraft) *at[int] { return &l.perRoom }),
		sharedPart("per_zone", "In each zone.", func(l *sharedDraft) *at[int] { return &l.perZone }),
		sharedBrake("all fleets on it together"),
	}}
}

// sharedPart bounds the machines in repair in each part of a provider, where somebody says so.
func sharedPart(key, doc string, of func(*sharedDraft) *at[int]) field[sharedDraft] {
	return may(key, doc, integer(1, maxSize), of).said("no limit")
}
