package script

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/load"
	"hale/internal/sim/verbs"
)

// Capacity is how much load a machine of a drawn fleet takes.
const Capacity = 100.0

// Sized returns the spec with a size that moves, drawn by the seed: two opinions on two metrics, and a pace in each
// direction that is the default, or more hasty, or more careful.
func Sized(spec policy.Spec, seed uint64) policy.Spec {
	r := rand.New(rand.NewPCG(seed, 0x73697a65))
	most := spec.Size
	least := max(min(fewest, most), most/3)
	metric := func(name fleet.MetricName, most float64) policy.Metric {
		return policy.Metric{Name: name, Kind: policy.MetricPrometheus, Every: 15 * time.Second, Late: 45 * time.Second,
			Most: most, Prometheus: policy.PrometheusQuery{URL: "http://prometheus:9090", Query: string(name),
				Timeout: 5 * time.Second}}
	}
	high, low := 85.0, 20.0
	s := policy.Sizing{
		Min: least, Max: most, Mode: policy.ModeAct,
		Metrics: []policy.Metric{metric("busy", 100), metric("requests", 1e9)},
		Opinions: []policy.Opinion{
			{Name: "load", Kind: policy.OpinionTarget, Metric: "requests", Target: Capacity * 0.7, Tolerance: 0.1},
			{Name: "steps", Kind: policy.OpinionSteps, Metric: "busy", Steps: []policy.SizeStep{
				{Above: &high, For: time.Minute, Readings: 2, Change: fleet.SizeChange{Percent: 50, AtLeast: 1}},
				{Below: &low, For: 5 * time.Minute, Readings: 10, Change: fleet.SizeChange{By: -1}},
			}},
		},
		Up:        policy.Pace{Most: 4, MostPercent: 100},
		Down:      policy.Pace{Stabilise: 5 * time.Minute, Most: 1, MostPercent: 10},
		Leave:     []policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveOldestTemplate, policy.LeaveOldest},
		TellAfter: 10 * time.Minute,
	}
	switch r.IntN(4) {
	case 0:
		s.Up.Cooldown, s.Down.Cooldown = 2*time.Minute, 10*time.Minute
	case 1:
		s.Down = policy.Pace{Stabilise: time.Minute}
	case 2:
		s.Grace, s.Up.Stabilise = time.Minute, 30*time.Second
	}
	if r.IntN(3) == 0 {
		s.Even = fleet.DomainZone
	}
	if r.IntN(4) == 0 {
		s.Stay = []int{1}
	}
	if r.IntN(3) == 0 {
		s.Opinions = s.Opinions[:1]
	}
	spec.Sizing, spec.Size = &s, least
	return spec
}

// Borne is a load for such a fleet, drawn by the seed: sometimes more than it can bear.
func Borne(spec policy.Spec, seed uint64, span time.Duration) load.Trace {
	r := rand.New(rand.NewPCG(seed, 0x626f726e))
	shapes := load.Shapes()
	peak := Capacity * float64(spec.Sizing.Max) * (0.3 + 0.6*r.Float64())
	return load.Draw(shapes[r.IntN(len(shapes))], seed, span, peak)
}

// sizes draws what befalls a size that moves: metrics that say nothing, or lie, loads that jump, signals, pins, and
// other bounds.
func (d *drawing) sizes(at time.Duration) {
	s := d.spec.Sizing
	if s == nil || len(s.Metrics) == 0 {
		return
	}
	switch d.random.IntN(8) {
	case 0, 1, 2:
		d.add(at, "metric "+string(pick(d.random, s.Metrics...).Name), verbs.Says,
			string(pick(d.random, append(load.Lies(), load.SaysNothing, load.SaysNothing)...)),
			d.lasting(20*time.Second, 2*time.Hour))
	case 3:
		units := Capacity * float64(s.Max) * (0.1 + d.random.Float64())
		d.add(at, "load", verbs.RisesTo, strconv.FormatFloat(units, 'f', 0, 64), d.lasting(time.Minute, 2*time.Hour))
	case 4:
		d.add(at, "load", verbs.FallsTo, "0", d.lasting(time.Minute, time.Hour))
	case 5:
		d.add(at, "a "+program, Signals, pick(d.random, "+1", "-1", "+50%", "-20%"), 0)
	case 6:
		d.add(at, Operator, Scales, strconv.Itoa(s.Min+d.random.IntN(s.Max-s.Min+1)),
			d.lasting(10*time.Minute, 6*time.Hour))
	case 7:
		least := s.Min + d.random.IntN(s.Max-s.Min+1)
		d.add(at, Operator, Resizes, fmt.Sprintf("%d..%d", least, s.Max), 0)
		d.add(at+d.lasting(10*time.Minute, 12*time.Hour), Operator, Resizes, fmt.Sprintf("%d..%d", s.Min, s.Max), 0)
	}
}
