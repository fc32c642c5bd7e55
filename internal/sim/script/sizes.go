package script

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/load"
	"hale/internal/sim/verbs"
)

// Capacity is how much load a machine of a drawn fleet takes.
const Capacity = 100.0

// Sized returns the spec with a size that moves, drawn by the seed: one to five opinions on what is read every 15
// seconds to two minutes, some of them by the hour, at a pace in each direction that is the default, or more hasty, or
// more careful. One in twenty is only watched.
func Sized(spec policy.Spec, seed uint64) policy.Spec {
	d := sizing{random: rand.New(rand.NewPCG(seed, 0x73697a65)), most: spec.Size}
	d.is.Mode = policy.ModeAct
	if d.random.IntN(20) == 0 {
		d.is.Mode = policy.ModeObserve
	}
	d.bounds()
	d.opinions()
	d.paces()
	d.leave()
	spec.Sizing, spec.Size = &d.is, d.is.Bound(cmp.Or(d.is.Desired, d.is.Min))
	return spec
}

// sizing is a policy of sizes in the making.
type sizing struct {
	random *rand.Rand
	most   int
	is     policy.Sizing
}

// one reports whether the one case of so many is drawn.
func (d *sizing) one(of int) bool { return d.random.IntN(of) == 0 }

func (d *sizing) bounds() {
	least := min(fewest, d.most)
	d.is.Min, d.is.Max = least+d.random.IntN(d.most/3+1), d.most
	d.is.Min = min(d.is.Min, d.is.Max)
	if d.is.Strict = d.one(4); d.one(4) {
		d.is.Desired = d.is.Min + d.random.IntN(d.is.Max-d.is.Min+1)
	}
}

// measured adds the metric, unless it is there, and returns its name.
func (d *sizing) measured(name fleet.MetricName, most float64, kinds ...policy.MetricKind) fleet.MetricName {
	if d.is.Metric(name) != nil {
		return name
	}
	m := policy.Metric{Name: name, Kind: pick(d.random, kinds...), Most: most,
		Every: pick(d.random, 15*time.Second, 15*time.Second, 30*time.Second, time.Minute, 2*time.Minute)}
	m.Late = pick(d.random, 2*m.Every, 3*m.Every, 5*m.Every)
	m.Smooth = pick(d.random, 0, 0, 0, 2*m.Every)
	switch m.Kind {
	case policy.MetricProvider:
		m.Usage, m.Of = policy.UsageCPU, policy.CombineMean
	case policy.MetricPrometheus:
		m.Prometheus = policy.PrometheusQuery{URL: "http://prometheus:9090", Query: string(name),
			Timeout: 5 * time.Second}
		if name == each {
			m.Prometheus.Label, m.Of = "instance", pick(d.random, policy.CombineMean, policy.CombineMax)
		}
	case policy.MetricCheck, policy.MetricCommand:
	}
	d.is.Metrics = append(d.is.Metrics, m)
	slices.SortFunc(d.is.Metrics, func(a, b policy.Metric) int { return cmp.Compare(a.Name, b.Name) })
	return name
}

// The metrics of drawn fleets: percent of what the machines take, what each of them gets of the load, how many machines
// it needs, and all of it.
const (
	busy     = fleet.MetricName("busy")
	each     = fleet.MetricName("each")
	needed   = fleet.MetricName("needed")
	requests = fleet.MetricName("requests")
)

// Measures says what the metrics of drawn fleets are.
func Measures() map[fleet.MetricName]load.Quantity {
	return map[fleet.MetricName]load.Quantity{busy: load.Busy, each: load.LoadOfEach, needed: load.NeedsSo,
		requests: load.TotalLoad}
}

// beyondBelief is more than any of the loads that are drawn.
const beyondBelief = 1e9

func (d *sizing) opinions() {
	target := func() float64 { return 50 + float64(d.random.IntN(31)) } // percent
	use := func() fleet.MetricName {
		return d.measured(busy, 100, policy.MetricPrometheus, policy.MetricProvider, policy.MetricCommand)
	}
	draws := []func() policy.Opinion{
		func() policy.Opinion {
			return policy.Opinion{Name: "each", Kind: policy.OpinionTarget, PerMachine: true,
				Metric: d.measured(each, beyondBelief, policy.MetricPrometheus), Target: Capacity * target() / 100}
		},
		func() policy.Opinion {
			return policy.Opinion{Name: "load", Kind: policy.OpinionTarget,
				Metric: d.measured(requests, beyondBelief, policy.MetricPrometheus, policy.MetricCommand),
				Target: Capacity * target() / 100}
		},
		func() policy.Opinion {
			return policy.Opinion{Name: "need", Kind: policy.OpinionSize,
				Metric: d.measured(needed, beyondBelief, policy.MetricPrometheus, policy.MetricCommand)}
		},
		func() policy.Opinion {
			return policy.Opinion{Name: "steps", Kind: policy.OpinionSteps, Metric: use(), Steps: d.steps()}
		},
		func() policy.Opinion {
			return policy.Opinion{Name: "use", Kind: policy.OpinionTarget, Metric: use(), PerMachine: true,
				Target: target()}
		},
	}
	for _, i := range d.random.Perm(len(draws))[:1+d.random.IntN(3)] {
		o := draws[i]()
		if o.Kind == policy.OpinionTarget {
			o.Tolerance = pick(d.random, 0.05, 0.1, 0.1, 0.2)
		}
		if d.one(8) {
			o.Not = []policy.Window{d.window()}
		}
		d.is.Opinions = append(d.is.Opinions, o)
	}
	for _, name := range []fleet.OpinionName{"hours", "night"}[:max(d.random.IntN(5)-2, 0)] {
		d.is.Opinions = append(d.is.Opinions, policy.Opinion{Name: name, Kind: policy.OpinionSchedule,
			Windows: []policy.Window{d.window()}, Size: d.is.Min + d.random.IntN(d.is.Max-d.is.Min+1)})
	}
	slices.SortFunc(d.is.Opinions, func(a, b policy.Opinion) int { return cmp.Compare(a.Name, b.Name) })
}

// steps are one or two upwards, and mostly one downwards.
func (d *sizing) steps() []policy.SizeStep {
	high, higher, low := 80.0, 95.0, 20+float64(d.random.IntN(20))
	all := []policy.SizeStep{{Above: &high, For: time.Minute, Readings: 2,
		Change: fleet.SizeChange{Percent: 50, AtLeast: 1}}}
	if d.one(2) {
		all = append(all, policy.SizeStep{Above: &higher, Readings: 1, Change: fleet.SizeChange{By: 2}})
	}
	if !d.one(4) {
		all = append(all, policy.SizeStep{Below: &low, For: 5 * time.Minute, Readings: 3 + d.random.IntN(5),
			Change: pick(d.random, fleet.SizeChange{By: -1}, fleet.SizeChange{Percent: -20, AtLeast: 1})})
	}
	return all
}

// window opens at an hour of each day, or of each day of the week from Monday to Friday.
func (d *sizing) window() policy.Window {
	const all = ^uint64(0)
	w := policy.Window{Minutes: 1, Hours: 1 << d.random.IntN(24), Days: all, Months: all, Weekdays: all,
		For: time.Hour * time.Duration(1+d.random.IntN(12)), Zone: time.UTC}
	if d.one(2) {
		w.Weekdays = 0b0111110
	}
	return w
}

func (d *sizing) paces() {
	r, z := d.random, &d.is
	z.Up = policy.Pace{Most: 4, MostPercent: 100}
	z.Down = policy.Pace{Stabilise: 5 * time.Minute, Most: 1, MostPercent: 10}
	z.TellAfter, z.Forecast = pick(r, 10*time.Minute, 30*time.Minute), d.one(3)
	switch r.IntN(6) {
	case 0:
		z.Up.Cooldown, z.Down.Cooldown = 2*time.Minute, 10*time.Minute
	case 1:
		z.Up, z.Down = policy.Pace{}, policy.Pace{Stabilise: time.Minute}
	case 2:
		z.Grace, z.Up.Stabilise = time.Minute, 30*time.Second
	case 3:
		z.Up, z.Down = policy.Pace{Most: 1}, policy.Pace{Stabilise: 20 * time.Minute, Most: 2, MostPercent: 50}
		z.Grace = 5 * time.Minute
	}
}

func (d *sizing) leave() {
	z := &d.is
	z.Leave = pick(d.random,
		[]policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveOldestTemplate, policy.LeaveOldest},
		[]policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveOldestTemplate, policy.LeaveOldest},
		[]policy.LeaveRule{policy.LeaveNewest}, []policy.LeaveRule{policy.LeaveRandom},
		[]policy.LeaveRule{policy.LeaveHighestNumber}, []policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveLeastBusy})
	if slices.Contains(z.Leave, policy.LeaveLeastBusy) {
		z.Busy = d.measured(each, beyondBelief, policy.MetricPrometheus)
	}
	z.Even = pick(d.random, "", "", fleet.DomainZone, fleet.DomainRack)
	z.Stay = pick(d.random, nil, nil, nil, []int{1}, []int{1, 2})
}

// Borne is a load for such a fleet, drawn by the seed: sometimes more than it can bear.
func Borne(spec policy.Spec, seed uint64, span time.Duration) load.Trace {
	r := rand.New(rand.NewPCG(seed, 0x626f726e))
	shapes := load.Shapes()
	peak := Capacity * float64(spec.Sizing.Max) * (0.3 + 0.7*r.Float64())
	return load.Draw(shapes[r.IntN(len(shapes))], seed, span, peak)
}

// sizes draws what befalls a size that moves: metrics that say nothing, or lie, loads that jump, signals, pins, and
// other bounds.
func (d *drawing) sizes(at time.Duration) {
	s := d.spec.Sizing
	if s == nil || len(s.Metrics) == 0 {
		return
	}
	switch d.random.IntN(11) {
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
	case 8: // what a lower bound makes too many waits for a word, which comes or does not
		most := s.Min + d.random.IntN(s.Max-s.Min+3)
		d.add(at, Operator, Resizes, fmt.Sprintf("%d..%d", s.Min, most), 0)
		d.add(at+d.lasting(time.Second, 2*time.Hour), Operator, Confirms, "", 0)
		d.add(at+d.lasting(10*time.Minute, 12*time.Hour), Operator, Resizes, fmt.Sprintf("%d..%d", s.Min, s.Max), 0)
	case 9:
		d.add(at, Operator, Resizes, strconv.Itoa(s.Min+d.random.IntN(s.Max-s.Min+1)), 0)
		d.add(at+d.lasting(time.Second, 2*time.Hour), Operator, Confirms, "", 0)
	case 10:
		d.add(at, Operator, ScalesBy, pick(d.random, "+2", "-2", "+50%", "-30%"), 0)
	}
}
