package fleets

import (
	"time"

	"hale/internal/config/sizes"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

func limitsShape() keys.Object[limitsDraft] {
	return keys.Object[limitsDraft]{Fields: []keys.Field[limitsDraft]{
		keys.Or("in_repair", policy.Portion{Number: defaultInRepair},
			"Machines in repair at once: a number, at most the size, or a part of the "+
				"size as `5%`, which is one machine at least.", sizes.PortionShape(),
			func(l *limitsDraft) *keys.At[policy.Portion] { return &l.inRepair }),
		keys.May("repairs", "So many repairs may begin within the time, beyond starts of what is off. A person is "+
			"told of a machine that waits for that for blind_after.", keys.Attempts(),
			func(l *limitsDraft) *keys.At[keys.Rate] { return &l.repairs }).Said("no limit"),
		keys.Or("in_build", defaultInBuild, "First builds at once.", keys.Integer(1, maxSize),
			func(l *limitsDraft) *keys.At[int] { return &l.inBuild }),
		keys.Part("brake", "While more machines fail than the larger of percent and at_least, or all of three or "+
			"more, no new repair starts.",
			BrakeShape(defaultBrakePercent, defaultBrakeAtLeast),
			func(l *limitsDraft) *keys.At[Brake] { return &l.brake }),
	}}
}

// BrakeShape is a brake with those defaults.
func BrakeShape(share, atLeast int) keys.Object[Brake] {
	return keys.Object[Brake]{Fields: []keys.Field[Brake]{
		keys.Or("percent", share, "Of the size, rounded down.", keys.Percent(),
			func(b *Brake) *keys.At[int] { return &b.percent }),
		keys.Or("at_least", atLeast, "In machines.", keys.Integer(0, maxSize),
			func(b *Brake) *keys.At[int] { return &b.atLeast }),
		keys.Or("release_after", defaultBrakeReleaseAfter,
			"How long it must be calm before the brake releases by itself. While as many fail as may, no further one "+
				"may for ten times as long.",
			keys.Duration(0, 24*time.Hour), func(b *Brake) *keys.At[time.Duration] { return &b.releaseAfter }),
	}}
}

// Policy is the brake that the keys come to.
func (b Brake) Policy() policy.Brake {
	return policy.Brake{AtLeast: b.atLeast.Value, Percent: b.percent.Value, ReleaseAfter: b.releaseAfter.Value}
}
