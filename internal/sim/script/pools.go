package script

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim/verbs"
)

// edge is the load balancer of drawn fleets, and the check that goes by its word.
const edge = "edge"

// Pooled returns the spec with its machines behind a load balancer, drawn by the seed: how long connections may take to
// end, how many machines serve at least during an update, and whether what the balancer finds is a check.
func Pooled(spec policy.Spec, seed uint64) policy.Spec {
	random := rand.New(rand.NewPCG(seed, 0x706f6f6c6564))
	spec.Pools = []policy.Pool{{Balancer: edge, Wait: pick(random, 0, 10*time.Second, 30*time.Second, 2*time.Minute)}}
	if least := spec.Size - 1 - random.IntN(2); least > 0 {
		spec.Update.InService = policy.Portion{Number: least}
	}
	if random.IntN(3) == 0 && spec.UnhealthyWhen.Op == policy.OpAny {
		c := policy.Check{Name: edge, Kind: policy.CheckPool, Every: 10 * time.Second, Timeout: 2 * time.Second,
			DownAfter: 13, UpAfter: 2, Pool: policy.PoolCheck{Balancer: edge}}
		spec.Checks = append(slices.Clone(spec.Checks), c)
		spec.UnhealthyWhen.Of = append(slices.Clone(spec.UnhealthyWhen.Of),
			policy.Condition{Op: policy.OpTerm, Term: edge})
	}
	return spec
}

// PoolTroubles draws what happens to the load balancer, and for what reasons healthy machines leave it, by a stream of
// its own.
func PoolTroubles(spec policy.Spec, seed uint64, horizon time.Duration) []Event {
	d := drawing{spec: spec, random: rand.New(rand.NewPCG(seed, 0x706f6f6c73))}
	heeded := slices.ContainsFunc(spec.Checks, func(c policy.Check) bool { return c.Kind == policy.CheckPool })
	images := 1
	for at := d.lasting(time.Minute, 12*time.Hour); at < horizon; at += d.lasting(time.Minute, 12*time.Hour) {
		switch n := d.random.IntN(8); {
		case n < 2:
			d.add(at, "balancer", FallsSilent, "", d.lasting(time.Second, 30*time.Minute))
		case n < 3:
			d.add(at, "balancer", ForgetsPool, "", 0)
		case n < 5:
			d.add(at, "balancer", KeepsUsers, "", d.lasting(time.Second, 3*time.Hour))
		case n < 6 && heeded:
			d.add(at, d.machine(), verbs.FailsCheck, edge, d.lasting(time.Second, time.Hour))
		default:
			images++
			d.add(at, Operator, Retemplates, fmt.Sprintf("%s-%d.qcow2", spec.Name, images), 0)
			d.add(at+d.lasting(time.Second, 10*time.Minute), Operator, Confirms, "", 0)
		}
	}
	stuck := drawing{spec: spec, random: rand.New(rand.NewPCG(seed, 0x706f6f6c66))}
	for at := stuck.lasting(time.Hour, 48*time.Hour); at < horizon; at += stuck.lasting(time.Hour, 48*time.Hour) {
		stuck.add(at, "balancer", CannotSet, "", stuck.lasting(time.Second, 30*time.Minute))
	}
	return Merge(d.plan, stuck.plan)
}
