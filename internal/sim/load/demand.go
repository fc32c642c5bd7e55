package load

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Demand is the load on an installation as it truly is, and what is wrong with those who measure it. The zero value is
// none.
type Demand struct {
	// Course is how much is asked for at a time, in units per second, unless it is set to something else.
	Course func(at time.Duration) float64
	// Capacity is how much of it a machine that serves takes.
	Capacity float64
	// Before is called before the load is set; nil: nothing is.
	Before func()

	levels []*level // that were set, the last one counts
	spells []*spell
	silent map[string][]silence // times in which nothing good could be read of a metric
}

// level is a load that holds instead of the course.
type level struct{ units float64 }

// spell is a time in which a metric is not read as it is.
type spell struct {
	metric string
	lie    Lie
}

// silence is such a time; to is 0 while it lasts.
type silence struct{ from, to time.Duration }

// Lie is what a metric's source says instead of the truth. A number that is none of the lies below is believed.
type Lie string

// number returns the number that is said and believed, and whether it is one.
func (l Lie) number() (float64, bool) {
	value, err := strconv.ParseFloat(string(l), 64)
	return value, err == nil && !slices.Contains(Lies(), l) && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// LieOf reads what a metric says instead of the truth.
func LieOf(text string) (Lie, bool) {
	l := Lie(text)
	_, number := l.number()
	return l, number || l == SaysNothing || slices.Contains(Lies(), l)
}

// The lies. What it says is the same at each reading.
const (
	SaysNothing Lie = "nothing" // it does not answer
	SaysNaN     Lie = "NaN"
	SaysInf     Lie = "Inf"
	SaysHuge    Lie = "1e12"
	SaysMany    Lie = "many" // a thousand series, and none says whose it is
)

// Lies lists what a source can say but nothing.
func Lies() []Lie { return []Lie{SaysNaN, SaysInf, SaysHuge, SaysMany} }

// Loaded reports whether there is a load.
func (d *Demand) Loaded() bool { return d.Capacity > 0 }

// Asked is the load at a time.
func (d *Demand) Asked(at time.Duration) float64 {
	switch n := len(d.levels); {
	case n > 0:
		return d.levels[n-1].units
	case d.Course == nil:
		return 0
	}
	return d.Course(at)
}

// Set sets the load, until what is returned is called.
func (d *Demand) Set(units float64) (lift func()) {
	l := &level{units}
	d.before()
	d.levels = append(d.levels, l)
	return func() {
		d.before()
		d.levels = slices.DeleteFunc(d.levels, func(o *level) bool { return o == l })
	}
}

func (d *Demand) before() {
	if d.Before != nil {
		d.Before()
	}
}

// Needed is how many machines the load needs at a time.
func (d *Demand) Needed(at time.Duration) int { return int(math.Ceil(d.Asked(at) / d.Capacity)) }

// Quantity is something about the load that can be measured.
type Quantity string

// What can be measured.
const (
	TotalLoad  Quantity = "load"     // all of it
	LoadOfEach Quantity = "each"     // what one of the machines that serve gets
	Busy       Quantity = "busy"     // percent of what it takes: at most 100
	NeedsSo    Quantity = "machines" // how many machines it needs
)

// Quantities lists them.
func Quantities() []Quantity { return []Quantity{TotalLoad, LoadOfEach, Busy, NeedsSo} }

// Value is the quantity by truth at a time, where so many machines serve. Without any there is nothing to measure at
// them.
func (d *Demand) Value(q Quantity, at time.Duration, serving int) (value float64, there bool) {
	asked := d.Asked(at)
	switch q {
	case TotalLoad:
		return asked, true
	case NeedsSo:
		return float64(d.Needed(at)), true
	case LoadOfEach:
		return asked / float64(serving), serving > 0
	case Busy:
		return min(100*asked/float64(serving)/d.Capacity, 100), serving > 0
	}
	return 0, false
}

// Read is what the metric's source says, if its value is that by truth.
func (d *Demand) Read(metric string, truth float64) (value float64, lie Lie) {
	for _, s := range d.spells {
		if s.metric != metric {
			continue
		}
		switch lie = s.lie; lie {
		case SaysNaN:
			return math.NaN(), lie
		case SaysInf:
			return math.Inf(1), lie
		case SaysHuge:
			return 1e12, lie
		case SaysNothing, SaysMany:
		}
		value, _ = lie.number()
		return value, lie
	}
	return truth, ""
}

// Deceive has the metric's source say that instead of the truth from now on, until what is returned is called with the
// time that is now then.
func (d *Demand) Deceive(metric string, lie Lie, now time.Duration) (lift func(now time.Duration)) {
	s := &spell{metric, lie}
	if _, number := lie.number(); number {
		d.spells = append(d.spells, s)
		return func(time.Duration) { d.spells = slices.DeleteFunc(d.spells, func(o *spell) bool { return o == s }) }
	}
	if _, already := d.Silent(metric, now); !already {
		if d.silent == nil {
			d.silent = map[string][]silence{}
		}
		d.silent[metric] = append(d.silent[metric], silence{from: now})
	}
	d.spells = append(d.spells, s)
	return func(now time.Duration) {
		d.spells = slices.DeleteFunc(d.spells, func(o *spell) bool { return o == s })
		if all := d.silent[metric]; !slices.ContainsFunc(d.spells, func(o *spell) bool {
			_, number := o.lie.number()
			return o.metric == metric && !number
		}) {
			all[len(all)-1].to = now
		}
	}
}

// Silent returns for how long nothing good could be read of the metric at a time; false: it could.
func (d *Demand) Silent(metric string, at time.Duration) (lasts time.Duration, is bool) {
	for _, s := range d.silent[metric] {
		if s.from <= at && (s.to == 0 || at < s.to) {
			return at - s.from, true
		}
	}
	return 0, false
}
