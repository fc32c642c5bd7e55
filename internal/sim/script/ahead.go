package script

import (
	"math/rand/v2"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// database is the fleet that comes before drawn fleets.
const database fleet.Name = "db"

// Preceded returns the spec with a fleet that comes first.
func Preceded(spec policy.Spec) policy.Spec {
	spec.After = []fleet.Name{database}
	return spec
}

// PrecedingTroubles draws when the fleet that comes first does not serve, or is not heard of, by a stream of its own:
// for some seconds, as at a start of hale, or for hours.
func PrecedingTroubles(spec policy.Spec, seed uint64, horizon time.Duration) []Event {
	d := drawing{spec: spec, random: rand.New(rand.NewPCG(seed, 0x6166746572))}
	for at := d.lasting(0, 24*time.Hour); at < horizon; at += d.lasting(time.Minute, 48*time.Hour) {
		d.add(at, OtherFleet+string(database), pick(d.random, ServesNot, ServesNot, IsUnheard), "",
			pick(d.random, d.lasting(time.Second, time.Minute), d.lasting(time.Minute, 4*time.Hour)))
	}
	return d.plan
}
