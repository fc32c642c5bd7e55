package sizes

import (
	"fmt"

	"hale/internal/config/times"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// opinion judges one view of how many machines there should be.
func (c *compiler) opinion(n keys.Named[opinionDraft], s *Draft, so *policy.Sizing) policy.Opinion {
	d := n.Value
	out := policy.Opinion{Name: fleet.OpinionName(n.Name), Kind: c.opinionKind(n),
		Metric:  fleet.MetricName(d.metric.Value),
		Windows: times.Windows(c.Finder, d.schedule), Size: d.size.Value, Only: times.Windows(c.Finder, d.onlyAt),
		Not: times.Windows(c.Finder, d.notAt)}
	if out.Metric != "" {
		c.hasMetric(d.metric, s)
	}
	metric := so.Metric(out.Metric)
	switch out.Kind {
	case policy.OpinionTarget:
		out.Target, out.Tolerance = d.target.Value, d.tolerance.Value
		if d.target.Given() && out.Target == 0 {
			c.Add(d.target.Spot, "is 0, which no number of machines keeps", "write what one machine can take")
		}
		out.PerMachine = d.per.Value == perMachine ||
			d.per.How == keys.Absent && metric != nil && metric.TellsApart() && metric.Of == policy.CombineMean
	case policy.OpinionSteps:
		for _, step := range d.steps.Value {
			if step.How == keys.Given {
				out.Steps = append(out.Steps, c.step(step, metric))
			}
		}
		c.apart(d.steps.Value)
	case policy.OpinionSchedule:
		if !d.size.Written() {
			c.Add(n.Under("size"), "is missing", "add size: 4, as many as there are to be at these times")
		}
		c.within(d.size, s)
	case policy.OpinionSize: // the metric says it
	}
	return out
}

// opinionKind returns how the opinion comes to a size.
func (c *compiler) opinionKind(n keys.Named[opinionDraft]) policy.OpinionKind {
	d := n.Value
	c.belongs(&d)
	switch {
	case d.schedule.Written() && (d.metric.Written() || d.target.Written() || d.steps.Written()):
		c.Add(n.Spot, "has a schedule, and goes by a metric, too", "make it two opinions")
	case d.schedule.Written():
		return policy.OpinionSchedule
	case !d.metric.Written():
		if n.OK {
			c.Add(n.Spot, "does not say what it goes by", "add metric: NAME, or schedule with size")
		}
	case d.target.Written() && d.steps.Written():
		c.Add(n.Spot, "has both target and steps", "make it two opinions: the greatest wanted size counts")
	case d.target.Written():
		return policy.OpinionTarget
	case d.steps.Written():
		return policy.OpinionSteps
	default:
		return policy.OpinionSize
	}
	return ""
}

// belongs reports keys that mean nothing without others.
func (c *compiler) belongs(d *opinionDraft) {
	for _, k := range []struct {
		written, needed bool
		spot            keys.Spot
		to              string
	}{
		{d.per.Written(), d.target.Written(), d.per.Spot, "target"},
		{d.tolerance.Written(), d.target.Written(), d.tolerance.Spot, "target"},
		{d.size.Written(), d.schedule.Written(), d.size.Spot, "schedule"},
	} {
		if k.written && !k.needed {
			c.Add(k.spot, "comes without "+k.to, "add "+k.to+", or take it out")
		}
	}
}

// step judges what follows beyond a threshold. The metric may be unknown.
func (c *compiler) step(at keys.At[stepDraft], metric *policy.Metric) policy.SizeStep {
	d := at.Value
	out := policy.SizeStep{For: d.lasts.Value, Readings: d.readings.Value, Change: d.change.Value}
	out.Change.AtLeast = d.atLeast.Value
	switch {
	case d.above.Written() && d.below.Written():
		c.Add(d.below.Spot, "comes beside above", "make it two steps")
	case d.above.Given():
		out.Above = &d.above.Value
	case d.below.Given():
		out.Below = &d.below.Value
	case !d.above.Written() && !d.below.Written():
		c.Add(at.Spot, "does not say beyond which value", "add above: 80, or below: 20")
	}
	if d.atLeast.Written() && d.change.Known() && d.change.Value.Percent == 0 {
		c.Add(d.atLeast.Spot, "is for a change in percent", "take it out")
	}
	if metric == nil || metric.Every == 0 {
		return out
	}
	fit := int(out.For / metric.Every)
	switch {
	case d.readings.How == keys.Absent:
		out.Readings = max(1, fit/2)
	case d.readings.Known() && d.readings.Value > fit+1:
		c.Add(d.readings.Spot, fmt.Sprintf("%d readings never fit into %s: metric %s is read every %s",
			d.readings.Value,
			keys.FormatDuration(out.For), metric.Name, keys.FormatDuration(metric.Every)),
			"raise for or lower readings")
	}
	return out
}

// apart reports steps of which one would undo what the other does, and such that stand there twice.
func (c *compiler) apart(steps []keys.At[stepDraft]) {
	for i := range steps {
		for k := range i {
			if c.collide(&steps[k], &steps[i]) {
				break
			}
		}
	}
}

// collide reports a step that has no place beside an earlier one.
func (c *compiler) collide(e, s *keys.At[stepDraft]) bool {
	if s.How != keys.Given || e.How != keys.Given {
		return false
	}
	was, is := &e.Value, &s.Value
	switch {
	case same(was.above, is.above) && same(was.below, is.below) && was.lasts.Value == is.lasts.Value:
		c.Add(s.Spot, fmt.Sprintf("begins where the step at line %d does", e.Line), "keep one of the two")
	case was.change.Value.Goes()*is.change.Value.Goes() < 0 && overlap(was, is):
		c.Add(s.Spot, fmt.Sprintf("applies together with the step at line %d, and wants the opposite", e.Line),
			"leave values between the two at which neither applies")
	default:
		return false
	}
	return true
}

func same(a, b keys.At[float64]) bool { return a.Given() == b.Given() && a.Value == b.Value }

// overlap reports whether there are values at which both steps apply.
func overlap(a, b *stepDraft) bool {
	switch {
	case a.above.Given() && b.below.Given():
		return a.above.Value < b.below.Value
	case a.below.Given() && b.above.Given():
		return b.above.Value < a.below.Value
	}
	return a.above.Given() && b.above.Given() || a.below.Given() && b.below.Given()
}
