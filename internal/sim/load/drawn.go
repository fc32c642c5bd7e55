package load

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Shape is a way in which load comes.
type Shape string

// The shapes.
const (
	Diurnal  Shape = "diurnal"  // by the hour of the day, less at weekends
	Spikes   Shape = "spikes"   // a level, and now and then three times as much at once, for minutes
	Ramps    Shape = "ramps"    // from one level to another within minutes to hours
	Noise    Shape = "noise"    // around a level that wanders
	Recorded Shape = "recorded" // a week that a real server had (see nasa.go)
)

// Shapes lists them.
func Shapes() []Shape { return []Shape{Diurnal, Spikes, Ramps, Noise, Recorded} }

// every is the time between two points of what is drawn.
const every = time.Minute

const day = 24 * time.Hour

// Draw returns a trace of the shape, as long as span, with loads up to peak or a little beyond.
func Draw(s Shape, seed uint64, span time.Duration, peak float64) Trace {
	d := drawing{random: rand.New(rand.NewPCG(seed, 0x6c6f6164)), span: span, peak: peak}
	switch s {
	case Diurnal:
		d.diurnal()
	case Spikes:
		d.spikes()
	case Ramps:
		d.ramps()
	case Noise:
		d.noise()
	case Recorded:
		d.recorded()
	}
	return Trace{Name: string(s), Points: d.points}
}

// drawing is a trace in the making.
type drawing struct {
	random *rand.Rand
	span   time.Duration
	peak   float64
	points []Point
}

// fill adds a point for each minute; share is of the peak, and rough how far a minute is off it, as a share.
func (d *drawing) fill(rough float64, share func(at time.Duration) float64) {
	for at := time.Duration(0); at <= d.span; at += every {
		units := d.peak * share(at) * (1 + rough*d.random.NormFloat64())
		d.points = append(d.points, Point{at, math.Round(100*max(units, 0)) / 100})
	}
}

// wave is the share of the peak at an hour of the day: least at four in the morning, most at four in the afternoon.
func wave(at time.Duration) float64 {
	hour := (at % day).Hours()
	return 0.55 - 0.4*math.Cos(2*math.Pi*(hour-4)/24)
}

func (d *drawing) diurnal() {
	d.fill(0.03, func(at time.Duration) float64 {
		if at/day%7 >= 5 {
			return 0.6 * wave(at)
		}
		return wave(at)
	})
}

// burst is an additional load for a while.
type burst struct{ from, to time.Duration }

func (d *drawing) spikes() {
	var all []burst
	for at := d.gap(3 * time.Hour); at < d.span; at += d.gap(3 * time.Hour) {
		all = append(all, burst{at, at + time.Minute + d.gap(9*time.Minute)})
	}
	d.fill(0.03, func(at time.Duration) float64 {
		if slices.ContainsFunc(all, func(b burst) bool { return b.from <= at && at < b.to }) {
			return 0.9
		}
		return 0.3
	})
}

// gap draws an exponentially distributed time with that mean.
func (d *drawing) gap(mean time.Duration) time.Duration {
	return time.Duration(float64(mean) * d.random.ExpFloat64())
}

func (d *drawing) ramps() {
	level := []Point{{0, 0.2 + 0.2*d.random.Float64()}}
	for at := time.Duration(0); at < d.span; {
		last := level[len(level)-1]
		at = last.At + 20*time.Minute + d.gap(2*time.Hour)
		level = append(level, Point{at, last.Units})
		at += 5*time.Minute + d.gap(40*time.Minute)
		level = append(level, Point{at, 0.1 + 0.85*d.random.Float64()})
	}
	d.fill(0.02, Trace{Points: level}.At)
}

func (d *drawing) noise() {
	level := 0.5
	d.fill(0.15, func(time.Duration) float64 {
		level = min(max(level+0.01*d.random.NormFloat64(), 0.15), 0.9)
		return level
	})
}

// recorded repeats the week, from a day of it that is drawn, with the noise of single minutes.
func (d *drawing) recorded() {
	week := NASA(1)
	from := time.Duration(d.random.IntN(7)) * day
	d.fill(0.06, func(at time.Duration) float64 { return week.At((from + at) % (7 * day)) })
}

// Sum adds traces up.
func Sum(name string, all ...Trace) Trace {
	out := Trace{Name: name}
	var times []time.Duration
	for _, t := range all {
		for _, p := range t.Points {
			times = append(times, p.At)
		}
	}
	slices.SortFunc(times, cmp.Compare)
	for _, at := range slices.Compact(times) {
		units := 0.0
		for _, t := range all {
			units += t.At(at)
		}
		out.Points = append(out.Points, Point{at, units})
	}
	return out
}
