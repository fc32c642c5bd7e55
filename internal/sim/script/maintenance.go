package script

import (
	"math/rand/v2"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// Maintained returns the spec with hosts held that their provider's people want to be empty, for a time that is drawn.
func Maintained(spec policy.Spec, seed uint64) policy.Spec {
	r := maintenance(seed)
	spec.Repair.OnHostDisabled = policy.HostDisabledHold
	spec.Repair.DisabledHold = pick(r, time.Hour, 8*time.Hour, 24*time.Hour)
	return spec
}

func maintenance(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6d61696e7461696e)) }

// Maintenances draws when hosts are to be empty, by a stream of its own: for a moment, as of a provider that says now
// this and now that, for some minutes or hours, or for longer than they are held. Now and then a person releases one.
func Maintenances(hosts []world.Host, seed uint64, horizon time.Duration) []Event {
	d := drawing{hosts: hosts, random: maintenance(seed)}
	for at := d.lasting(0, 12*time.Hour); at < horizon; at += d.lasting(time.Minute, 24*time.Hour) {
		host := "host " + pick(d.random, d.hosts...).Name
		lasts := pick(d.random, d.lasting(time.Second, time.Minute), d.lasting(time.Minute, time.Hour),
			d.lasting(time.Hour, 30*time.Hour))
		if d.add(at, host, verbs.IsDisabled, "", lasts); d.random.IntN(4) == 0 {
			d.add(at+d.lasting(0, lasts+time.Minute), Operator, Releases, host, 0)
		}
	}
	return d.plan
}
