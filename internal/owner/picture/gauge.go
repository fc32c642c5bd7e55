package picture

import (
	"hash/fnv"
	"reflect"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
)

const (
	// mostPoints bounds what is kept of one metric.
	mostPoints = 10_000
	// readTogether is how long what was read waits for what is asked at the same time, so that one decision does for
	// all of it.
	readTogether = time.Second
)

// gauges are the fleet's metrics as they were read in this term, in the order of the spec.
type gauges struct {
	all   []fleet.Gauge
	beats []beat        // of the same
	told  fleet.Instant // since when something that was read waits for a decision; 0: nothing does
}

// beat is when one metric is read.
type beat struct {
	metric policy.Metric
	asked  fleet.Instant // when the reading under way was asked for; 0: none is
	next   fleet.Instant // when to read again
}

// measure takes in the metrics that the spec has now: those that are as they were go on.
func (p *Picture) measure(now fleet.Now) {
	was := p.gauges
	p.gauges = gauges{told: was.told}
	for _, m := range p.is.Spec.Metrics() {
		i := slices.IndexFunc(was.beats, func(b beat) bool { return reflect.DeepEqual(b.metric, m) })
		g, b := fleet.Gauge{Metric: m.Name, Since: now.Mono}, beat{metric: m, next: p.firstBeat(&m, now)}
		if i >= 0 {
			g, b = was.all[i], was.beats[i]
		}
		p.gauges.all, p.gauges.beats = append(p.gauges.all, g), append(p.gauges.beats, b)
	}
}

// firstBeat spreads the fleets over the beat. The metrics of one fleet are read together.
func (p *Picture) firstBeat(m *policy.Metric, now fleet.Now) fleet.Instant {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.is.Spec.Name))  // it never fails
	share := float64(h.Sum32()) / (1 << 32) // of the beat
	return now.Mono.Add(time.Duration(share * float64(m.Every)))
}

// Metrics returns the metrics that are to be read now, and takes these to be asked for. Tell the answers to TellMetric.
func (p *Picture) Metrics(now fleet.Now) []policy.Metric {
	var due []policy.Metric
	waits := false
	for i := range p.gauges.beats {
		b := &p.gauges.beats[i]
		if b.asked == 0 && now.Due(b.next) {
			b.asked = now.Mono
			for now.Due(b.next) {
				b.next = b.next.Add(max(b.metric.Every, time.Second))
			}
			due = append(due, b.metric)
		}
		waits = waits || b.asked != 0
	}
	if p.gauges.told != 0 && (!waits || now.Due(p.gauges.told.Add(readTogether))) {
		p.gauges.told, p.dirty = 0, true
	}
	return due
}

// NextMetric returns when to call Metrics again at the latest; 0: not before there is news.
func (p *Picture) NextMetric() fleet.Instant {
	next := fleet.Instant(0)
	if p.gauges.told != 0 {
		next = p.gauges.told.Add(readTogether)
	}
	for i := range p.gauges.beats {
		if b := &p.gauges.beats[i]; b.asked == 0 && (next == 0 || b.next < next) {
			next = b.next
		}
	}
	return next
}

// TellMetric takes in what came of a reading that Metrics had asked for at the time.
func (p *Picture) TellMetric(name fleet.MetricName, asked fleet.Instant, r gauge.Reading, err error, now fleet.Now) {
	i := slices.IndexFunc(p.gauges.beats, func(b beat) bool { return b.metric.Name == name })
	if i < 0 || p.gauges.beats[i].asked != asked {
		return // it was forgotten meanwhile
	}
	b, g := &p.gauges.beats[i], &p.gauges.all[i]
	b.asked = 0
	if p.gauges.told == 0 {
		p.gauges.told = now.Mono
	}
	var v gauge.Value
	if err == nil {
		v, err = gauge.Weigh(&b.metric, r)
	}
	if err != nil {
		g.Trouble, g.Detail, g.Each = gauge.Trouble(err), fault.Plain(err), nil
		return
	}
	g.Trouble, g.Detail, g.Each, g.Since = "", "", v.Each, asked
	pt := fleet.Point{At: asked, Value: v.Value, Size: p.is.Spec.Size - p.is.Whole.Ledger.Idle()}
	pt.Serving, pt.Missing = p.serving(v.Each)
	g.Points = append(kept(g.Points, p.is.Spec.Lookback(&b.metric), asked), pt)
}

// kept are the points that still count. The array behind them is never written again: who reads it may go on.
func kept(points []fleet.Point, lookback time.Duration, now fleet.Instant) []fleet.Point {
	old := 0
	for old < len(points) && (now.Sub(points[old].At) > lookback || len(points)-old >= mostPoints) {
		old++
	}
	return points[old:]
}

// serving counts the machines that are healthy, and no spares, and those of them without a value, where single ones
// have any.
func (p *Picture) serving(each []fleet.MachineValue) (serving, missing int) {
	heard := make(map[fleet.MachineName]bool, len(each))
	for _, v := range each {
		heard[v.Machine] = true
	}
	for i := range p.views {
		m := &p.views[i].Machine
		if m.Health.Verdict != belief.VerdictHealthy || p.is.Whole.Ledger.IsSpare(m.Name) {
			continue
		}
		serving++
		if len(each) > 0 && !heard[m.Name] {
			missing++
		}
	}
	return serving, missing
}

// Gauges returns what was read, to be read only; it may be kept.
func (p *Picture) Gauges() []fleet.Gauge { return slices.Clone(p.gauges.all) }

// Measured returns the machines that have an instance, as sources of metrics may know them.
func (p *Picture) Measured() []gauge.Machine {
	var out []gauge.Machine
	for i := range p.views {
		m := &p.views[i].Machine
		if m.Current.None() {
			continue
		}
		g := gauge.Machine{Name: m.Name, Instance: m.Current.ID, Host: m.Current.Host}
		if s := p.views[i].Sighting(m.Current.ID); s.Known() && s.Instance.Power != fleet.PowerGone {
			g.Host = s.Instance.Host
		}
		if a := p.aims[i]; a.Instance == g.Instance && a.Rival == "" {
			g.Address = a.Address
		}
		out = append(out, g)
	}
	return out
}

// measureAnew forgets what was read: the windows begin again (L9).
func (p *Picture) measureAnew(now fleet.Now) {
	p.gauges = gauges{}
	p.measure(now)
}
