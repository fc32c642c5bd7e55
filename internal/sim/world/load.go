package world

import (
	"math"
	"slices"
	"time"
)

// Load is what the users of the installation ask of it, and what a machine can give. The zero value: nothing.
type Load struct {
	// At is how much is asked for at a time, in units per second.
	At func(at time.Duration) float64
	// Capacity is how much of it a machine that serves takes.
	Capacity float64
}

// demand is the load as it truly is, with what is wrong with those who measure it.
type demand struct {
	Load
	levels []*level // that were set, the last one counts
	spells []*spell
	deaf   map[string]time.Duration // since when nothing good could be read of the metric
}

// level is a load that holds instead of what was foreseen.
type level struct{ units float64 }

// spell is a time in which a metric is not read as it is.
type spell struct {
	metric string
	lie    Lie
}

// Lie is what a metric's source says instead of the truth.
type Lie string

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

// PutOn puts a load on the installation.
func (w *World) PutOn(l Load) { w.demand.Load = l }

// Loaded reports whether there is a load.
func (w *World) Loaded() bool { return w.demand.Capacity > 0 }

// Capacity is how much a machine takes.
func (w *World) Capacity() float64 { return w.demand.Capacity }

// Asked is the load at a time, as it was foreseen or as it was set by now.
func (w *World) Asked(at time.Duration) float64 {
	if n := len(w.demand.levels); n > 0 {
		return w.demand.levels[n-1].units
	}
	if w.demand.At == nil {
		return 0
	}
	return w.demand.At(at)
}

// Ask sets the load, until what is returned is called.
func (w *World) Ask(units float64) (lift func()) {
	l := &level{units}
	w.Watch.Load()
	w.demand.levels = append(w.demand.levels, l)
	return func() {
		w.Watch.Load()
		w.demand.levels = slices.DeleteFunc(w.demand.levels, func(o *level) bool { return o == l })
	}
}

// Needed is how many machines the load needs at a time.
func (w *World) Needed(at time.Duration) int { return int(math.Ceil(w.Asked(at) / w.demand.Capacity)) }

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

// Value is the quantity by truth, where so many machines serve. Without any there is nothing to measure at them.
func (w *World) Value(q Quantity, serving int) (value float64, there bool) {
	asked := w.Asked(w.Now())
	switch q {
	case TotalLoad:
		return asked, true
	case NeedsSo:
		return float64(w.Needed(w.Now())), true
	case LoadOfEach:
		return asked / float64(serving), serving > 0
	case Busy:
		return min(100*asked/float64(serving)/w.demand.Capacity, 100), serving > 0
	}
	return 0, false
}

// Read is what the metric's source says, if its value is that by truth.
func (w *World) Read(metric string, truth float64) (value float64, lie Lie) {
	for _, s := range w.demand.spells {
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
		return 0, lie
	}
	return truth, ""
}

// Deceive has the metric's source say that instead of the truth, until what is returned is called.
func (w *World) Deceive(metric string, lie Lie) (lift func()) {
	s := &spell{metric, lie}
	if _, already := w.Silent(metric); !already {
		if w.demand.deaf == nil {
			w.demand.deaf = map[string]time.Duration{}
		}
		w.demand.deaf[metric] = w.Now()
	}
	w.demand.spells = append(w.demand.spells, s)
	return func() {
		w.demand.spells = slices.DeleteFunc(w.demand.spells, func(o *spell) bool { return o == s })
		if !slices.ContainsFunc(w.demand.spells, func(o *spell) bool { return o.metric == metric }) {
			delete(w.demand.deaf, metric)
		}
	}
}

// Silent returns since when nothing good can be read of the metric; false: it can.
func (w *World) Silent(metric string) (since time.Duration, is bool) {
	since, is = w.demand.deaf[metric]
	return since, is
}
