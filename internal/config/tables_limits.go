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
		may("per_host", "On each host.", integer(1, maxSize), func(l *sharedDraft) *at[int] { return &l.perHost }).said("no limit"),
		may("per_rack", "In each rack, as the hosts' labels say.", integer(1, maxSize), func(l *sharedDraft) *at[int] { return &l.perRack }).said("no limit"),
		may("per_room", "In each room.", integer(1, maxSize), func(l *sharedDraft) *at[int] { return &l.perRoom }).said("no limit"),
		may("per_zone", "In each zone.", integer(1, maxSize), func(l *sharedDraft) *at[int] { return &l.perZone }).said("no limit"),
		sharedBrake("all fleets on it together"),
	}}
}
