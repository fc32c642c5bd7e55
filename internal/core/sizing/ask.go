package sizing

import (
	"math"
	"strconv"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// ask returns what the opinion says.
func (h *Hours) ask(c *Case, o *policy.Opinion) Said {
	s := Said{Opinion: o.Name, Metric: o.Metric, Goal: o.Target}
	switch {
	case !h.counts(o, c.Now), o.Kind == policy.OpinionSchedule && !h.open(o.Windows, c.Now):
		s.Why = fleet.ReasonNoSay
		return s
	case o.Kind == policy.OpinionSchedule:
		s.Low, s.High, s.Wants = o.Size, o.Size, o.Size
		return s
	}
	m := c.Policy.Metric(o.Metric)
	if m == nil { // no configuration that was checked has such an opinion
		s.Why = fleet.ReasonMetricSilent
		return s
	}
	g := fleet.Gauged(c.Gauges, o.Metric)
	if s.Why, s.Detail = Mute(m, g, c.Now); s.Why != "" {
		return s
	}
	w := window{c: c, o: o, m: m, points: g.Points, troubled: g.Trouble != ""}
	w.read(&s)
	return s
}

// Mute says why the metric says nothing, if it does not; Gauge may be nil: it was never asked.
func Mute(m *policy.Metric, g *fleet.Gauge, now fleet.Now) (fleet.Reason, string) {
	if g == nil || len(g.Points) == 0 && g.Trouble == "" {
		return fleet.ReasonUnread, ""
	}
	for i := len(g.Points) - 1; i >= 0; i-- {
		switch p := &g.Points[i]; {
		case !now.Within(m.Late, p.At):
			return trouble(m, g)
		case m.Believable(p.Value):
			return "", ""
		}
	}
	return trouble(m, g)
}

// trouble says why there is no reading of the metric that is new enough.
func trouble(m *policy.Metric, g *fleet.Gauge) (fleet.Reason, string) {
	if g.Trouble != "" {
		return g.Trouble, g.Detail
	}
	if n := len(g.Points); n > 0 && !m.Believable(g.Points[n-1].Value) {
		return fleet.ReasonMetricAbsurd, strconv.FormatFloat(g.Points[n-1].Value, 'g', 6, 64)
	}
	return fleet.ReasonMetricSilent, g.Detail
}

// window is the readings of a metric as one opinion looks at them.
type window struct {
	c      *Case
	o      *policy.Opinion
	m      *policy.Metric
	points []fleet.Point
	// troubled says that the newest attempt to read brought nothing, and failed that the newest reading counts for
	// nothing.
	troubled, failed bool
	// since is from when on there is no gap in the readings, and last is when the newest one was; mean is the value by
	// then.
	since, last fleet.Instant
	mean        float64
}

// read goes through the readings, oldest first, and writes down what the opinion wants at each of them that is still
// of interest.
func (w *window) read(s *Said) {
	if w.o.Kind == policy.OpinionSteps {
		w.readSteps(s)
		return
	}
	up, down := w.c.Now.Mono.Add(-w.c.Policy.Up.Stabilise), w.c.Now.Mono.Add(-w.c.Policy.Down.Stabilise)
	for i := range w.points {
		p := &w.points[i]
		before := w.last
		value, ok := w.take(p)
		if !ok {
			continue
		}
		wants := w.wants(value)
		if p.At <= down { // the reading in force when the window began counts, and those before it do not
			s.High = 0
		}
		s.High = max(s.High, w.most(value, p))
		if s.Low == 0 || before < up || wants < s.Low { // what is before the window does not hold an increase back
			s.Low = wants
		}
		s.Wants, s.Total, s.Value = wants, value, value
		if w.isMean() {
			s.Value = value / float64(p.Serving-p.Missing)
		}
	}
	w.finish(s, down)
}

// isMean reports whether the metric is a mean over the machines that serve.
func (w *window) isMean() bool { return w.o.Kind == policy.OpinionTarget && w.o.PerMachine }

// take counts the reading, and returns what of the metric there is by it: of a mean for each machine, in all that
// serve and have a value.
func (w *window) take(p *fleet.Point) (float64, bool) {
	if !w.m.Believable(p.Value) || w.isMean() && p.Serving <= p.Missing {
		w.failed = true
		return 0, false
	}
	value := p.Value
	if w.isMean() {
		value *= float64(p.Serving - p.Missing)
	}
	switch {
	case w.since == 0 || p.At.Sub(w.last) > w.m.Late:
		w.since, w.mean = p.At, value
	case w.m.Smooth > 0:
		w.mean += (value - w.mean) * -math.Expm1(-float64(p.At.Sub(w.last))/float64(w.m.Smooth))
	default:
		w.mean = value
	}
	w.last, w.failed = p.At, false
	return w.mean, true
}

// most returns the greatest size that the value may ask for. Machines that serve and have no value may be busy: they
// are no reason for more, and one against fewer.
func (w *window) most(value float64, p *fleet.Point) int {
	switch {
	case p.Missing == 0:
		return w.wants(value)
	case w.isMean():
		return w.wants(value + float64(p.Missing)*max(p.Value, w.o.Target))
	}
	return max(w.wants(value), w.c.Size) // how much of the whole they have is not known
}

// finish lets the opinion want no fewer machines than there are where its readings do not reach back to the instant
// without a gap, or the newest one failed.
func (w *window) finish(s *Said, back fleet.Instant) {
	if s.Low == 0 {
		s.Why = fleet.ReasonMetricSilent // no machine served while it was read
		return
	}
	s.Young = w.since > back || w.failed || w.troubled
	if s.Young {
		s.High = max(s.High, w.c.Size)
	}
}

// wants returns the size that the value asks for.
func (w *window) wants(value float64) int {
	if w.o.Kind == policy.OpinionSize {
		return ceil(value)
	}
	share := value / (w.o.Target * float64(max(w.c.Size, 1)))
	if math.Abs(share-1) <= w.o.Tolerance {
		return max(w.c.Size, 1)
	}
	return ceil(value / w.o.Target)
}

// ceil rounds up to a size that a fleet can have.
func ceil(v float64) int {
	const fuzz = 1e-9
	return int(min(max(math.Ceil(v-fuzz), 1), fleet.LargestSize))
}
