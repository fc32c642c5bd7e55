package sizes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Around is what else the configuration says of the fleet, as far as it matters to its size.
type Around struct {
	*keys.Finder
	// Selects says that it takes machines that exist already.
	Selects bool
	// Checks are the fleet's, whatever they are for; Broken says that not all of them could be read.
	Checks []policy.Check
	Broken bool
	// Kind is the type of its provider; nil: that is not known.
	Kind *kinds.Provider
	// Used is the metric that something beside the size goes by; empty: none.
	Used string
}

// compiler judges one fleet's size.
type compiler struct{ Around }

// Compile judges what moves a fleet's size; nil: nothing does. What it returns counts only when nothing was found.
func Compile(d keys.At[Draft], around Around) *policy.Sizing {
	c := compiler{around}
	if d.How != keys.Given || !d.Value.moves() {
		return nil
	}
	if c.Selects {
		c.Add(d.Spot, "moves, but select takes the machines that exist: hale builds and removes none of them",
			"write a number of machines that should be there, or take it out")
		return nil
	}
	s := d.Value
	c.bounds(&s)
	c.usedMetrics(&s)
	out := &policy.Sizing{Min: s.min.Value, Max: s.max.Value, Desired: s.desired.Value, Strict: s.strict.Value,
		Mode: s.mode.Value, Up: paceOf(s.up.Value), Down: paceOf(s.down.Value), Leave: defaultLeave,
		Even: s.even.Value, Grace: s.down.Value.grace.Value, TellAfter: s.tellAfter.Value, Forecast: s.forecast.Value}
	for _, n := range s.metrics.Value {
		out.Metrics = append(out.Metrics, c.metric(n))
	}
	for _, n := range s.opinions.Value {
		out.Opinions = append(out.Opinions, c.opinion(n, &s, out))
	}
	slices.SortFunc(out.Metrics, func(a, b policy.Metric) int {
		return strings.Compare(string(a.Name),
			string(b.Name))
	})
	slices.SortFunc(out.Opinions, func(a, b policy.Opinion) int {
		return strings.Compare(string(a.Name),
			string(b.Name))
	})
	c.leave(&s, out)
	c.stay(&s, out)
	return out
}

// bounds reports sizes that contradict each other.
func (c *compiler) bounds(s *Draft) {
	switch {
	case !s.min.Known() || !s.max.Known():
		return
	case s.min.Value > s.max.Value:
		c.Add(s.min.Spot, fmt.Sprintf("%d is more than max, %d", s.min.Value, s.max.Value), "lower min or raise max")
		return
	}
	c.within(s.desired, s)
}

// within reports a size beyond the bounds.
func (c *compiler) within(size keys.At[int], s *Draft) {
	if !size.Given() || !s.min.Known() || !s.max.Known() || s.min.Value > s.max.Value {
		return
	}
	if bad := keys.InRange(size.Value, s.min.Value, s.max.Value, strconv.Itoa); bad != nil {
		c.Add(size.Spot, fmt.Sprintf("%d is beyond the bounds of the size", size.Value),
			bad.Hint+", or move min or max")
	}
}

func paceOf(d paceDraft) policy.Pace {
	return policy.Pace{Cooldown: d.cooldown.Value, Stabilise: d.stabilise.Value, Most: d.most.Value.machines,
		MostPercent: d.most.Value.percent}
}

// leave judges who goes first.
func (c *compiler) leave(s *Draft, out *policy.Sizing) {
	if s.leave.Known() {
		out.Leave = nil
	}
	for _, r := range s.leave.Value {
		if slices.Contains(out.Leave, r.Value) && r.Known() {
			c.Add(r.Spot, fmt.Sprintf("%s is in the list already", r.Value), "name each rule once")
		}
		out.Leave = append(out.Leave, r.Value)
	}
	byBusy := slices.Contains(out.Leave, policy.LeaveLeastBusy)
	switch {
	case byBusy && !s.busy.Written():
		c.Add(s.leave.Spot, "has least-busy, and no metric says how busy machines are", "add busy: METRIC")
	case !byBusy && s.busy.Written() && s.leave.How != keys.Broken:
		c.Add(s.busy.Spot, "is for least-busy, which leave does not have", "add least-busy to leave, or take it out")
	case s.busy.Given() && c.hasMetric(s.busy, s):
		out.Busy = fleet.MetricName(s.busy.Value)
		if m := out.Metric(out.Busy); m != nil && !m.TellsApart() {
			c.Add(s.busy.Spot, fmt.Sprintf("metric %s does not tell machines apart", out.Busy),
				"name one that is read by check, by provider, or by prometheus with a label")
		}
	}
}

// stay judges the machines that no opinion removes.
func (c *compiler) stay(s *Draft, out *policy.Sizing) {
	for _, n := range s.stay.Value {
		switch {
		case !n.Known():
			continue
		case slices.Contains(out.Stay, n.Value):
			c.Add(n.Spot, fmt.Sprintf("%d is in the list already", n.Value), "name each number once")
		case s.max.Known() && n.Value > s.max.Value:
			c.Add(n.Spot, fmt.Sprintf("%d is more than max, %d: no machine is meant by it", n.Value, s.max.Value),
				"name numbers up to max")
		}
		out.Stay = append(out.Stay, n.Value)
	}
	slices.Sort(out.Stay)
}

// hasMetric reports whether there is a metric of the name, and says so if there is none.
func (c *compiler) hasMetric(name keys.At[string], s *Draft) bool {
	if !name.Known() {
		return false
	}
	var known []string
	for _, n := range s.metrics.Value {
		if n.Name == name.Value {
			return true
		}
		known = append(known, n.Name)
	}
	hint := keys.DidYouMean(name.Value, known)
	if len(known) == 0 {
		hint = "add it under metrics"
	}
	if s.metrics.How != keys.Broken {
		c.Add(name.Spot, fmt.Sprintf("there is no metric %s", name.Value), hint)
	}
	return false
}

// Name returns which of the size's metrics is meant; empty: none is.
func (d *MetricDraft) Name() string { return d.name.Value }

// CompileMetric judges a metric for something else than the size: it returns the name of one of the size's metrics, or
// of that which is read for this alone, with it.
func CompileMetric(d keys.At[MetricDraft], size keys.At[Draft], around Around) (fleet.MetricName, *policy.Metric) {
	c := compiler{around}
	switch {
	case d.How != keys.Given:
		return "", nil
	case d.Value.name.Known() && size.Known() && !size.Value.moves():
		c.Add(d.Spot, fmt.Sprintf("there is no metric %s: the size is a number, and goes by none", d.Value.name.Value),
			"write here how it is read, as {prometheus: {url: …, query: …}}")
		return "", nil
	case d.Value.name.How != keys.Absent:
		if c.hasMetric(d.Value.name, &size.Value) {
			return fleet.MetricName(d.Value.name.Value), nil
		}
		return "", nil
	}
	own := c.metric(keys.Named[metricDraft]{Name: string(policy.OwnMetric), Spot: d.Spot, Value: d.Value.own, OK: true})
	return own.Name, &own
}

// usedMetrics reports metrics that are read for nothing.
func (c *compiler) usedMetrics(s *Draft) {
	used := map[string]bool{s.busy.Value: true, c.Used: true}
	for _, o := range s.opinions.Value {
		used[o.Value.metric.Value] = true
	}
	for _, m := range s.metrics.Value {
		if !used[m.Name] {
			c.Add(m.Spot, "is read for nothing: no opinion goes by it",
				"add an opinion, with mode: observe to look at it first, or take it out")
		}
	}
}
