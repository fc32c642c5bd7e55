package sizes

import (
	"math"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Write returns what follows the key size, in one line.
func Write(spec *policy.Spec) string {
	s := spec.Sizing
	if s == nil {
		return strconv.Itoa(spec.Size)
	}
	var p keys.Pairs
	p.Add("min", "%d", s.Min)
	p.Add("max", "%d", s.Max)
	p.May("desired", "%d", s.Desired)
	p.May("strict", "%t", s.Strict)
	p.May("mode", "%s", s.Mode)
	if len(s.Metrics) > 0 {
		var all keys.Pairs
		for i := range s.Metrics {
			all.Add(string(s.Metrics[i].Name), "%s", writeMetric(&s.Metrics[i]))
		}
		p.Add("metrics", "%s", all)
	}
	if len(s.Opinions) > 0 {
		var all keys.Pairs
		for i := range s.Opinions {
			all.Add(string(s.Opinions[i].Name), "%s", writeOpinion(&s.Opinions[i]))
		}
		p.Add("opinions", "%s", all)
	}
	p.Add("up", "%s", writePace(s.Up, 0))
	p.Add("down", "%s", writePace(s.Down, s.Grace))
	p.Add("leave", "[%s]", joined(s.Leave))
	p.May("busy", "%s", s.Busy)
	p.May("even", "%s", s.Even)
	if len(s.Stay) > 0 {
		p.Add("stay", "[%s]", joinedBy(s.Stay, strconv.Itoa))
	}
	p.Add("tell_after", "%s", s.TellAfter)
	p.May("forecast", "%t", s.Forecast)
	return p.String()
}

func writePace(p policy.Pace, grace time.Duration) keys.Pairs {
	var out keys.Pairs
	out.Add("cooldown", "%s", p.Cooldown)
	out.Add("stabilise", "%s", p.Stabilise)
	out.Add("most", "%v", strideShape().Format(stride{p.Most, p.MostPercent}))
	out.May("grace", "%s", grace)
	return out
}

// writeMetric leaves the authorities out, which are a file of their own: simulated metrics are asked of no server.
func writeMetric(m *policy.Metric) keys.Pairs {
	var p keys.Pairs
	switch m.Kind {
	case policy.MetricPrometheus:
		q := m.Prometheus
		var ask, headers keys.Pairs
		ask.Add("url", "%s", keys.Quoted(q.URL))
		ask.Add("query", "%s", keys.Quoted(q.Query))
		ask.MayText("label", q.Label)
		for _, h := range q.Headers {
			headers.Add(h.Name, "%s", keys.PlainOrSecret(h.Value, h.Secret))
		}
		ask.May("headers", "%s", headers)
		ask.Add("timeout", "%s", q.Timeout)
		p.Add("prometheus", "%s", ask)
	case policy.MetricCheck:
		var number keys.Pairs
		number.Add("name", "%s", m.Check.Check)
		number.MayText("body", m.Check.Body)
		p.Add("check", "%s", number)
	case policy.MetricProvider:
		p.Add("provider", "%s", m.Usage)
	case policy.MetricCommand:
		var env keys.Pairs
		for _, v := range m.Command.Env {
			env.Add(v.Name, "%s", keys.PlainOrSecret(v.Value, v.Secret))
		}
		p.Add("command", "[%s]", joinedBy(m.Command.Args, keys.Quoted))
		p.May("env", "%s", env)
	}
	p.Add("every", "%s", m.Every)
	p.Add("late", "%s", m.Late)
	if m.Least != 0 || m.Most != math.MaxFloat64 {
		p.Add("between", "[%s, %s]", keys.FormatNumber(m.Least), keys.FormatNumber(m.Most))
	}
	p.May("smooth", "%s", m.Smooth)
	p.May("of", "%s", m.Of)
	return p
}

func writeOpinion(o *policy.Opinion) keys.Pairs {
	var p keys.Pairs
	p.May("metric", "%s", o.Metric)
	switch o.Kind {
	case policy.OpinionTarget:
		per := perFleet
		if o.PerMachine {
			per = perMachine
		}
		p.Add("target", "%s", keys.FormatNumber(o.Target))
		p.Add("per", "%s", per)
		p.Add("tolerance", "%s", keys.FormatNumber(o.Tolerance))
	case policy.OpinionSteps:
		p.Add("steps", "[%s]", joinedBy(o.Steps, writeStep))
	case policy.OpinionSchedule:
		p.Add("schedule", "[%s]", joinedBy(o.Windows, writeWindow))
		p.Add("size", "%d", o.Size)
	case policy.OpinionSize:
	}
	if len(o.Only) > 0 {
		p.Add("only_at", "[%s]", joinedBy(o.Only, writeWindow))
	}
	if len(o.Not) > 0 {
		p.Add("not_at", "[%s]", joinedBy(o.Not, writeWindow))
	}
	return p
}

func writeStep(s policy.SizeStep) string {
	var p keys.Pairs
	if s.Above != nil {
		p.Add("above", "%s", keys.FormatNumber(*s.Above))
	}
	if s.Below != nil {
		p.Add("below", "%s", keys.FormatNumber(*s.Below))
	}
	p.May("for", "%s", s.For)
	p.Add("readings", "%d", s.Readings)
	p.Add("change", "%s", keys.Quoted(s.Change.String()))
	p.May("at_least", "%d", s.Change.AtLeast)
	return p.String()
}

func writeWindow(w policy.Window) string {
	var p keys.Pairs
	p.Add("at", "%s", keys.Quoted(w.At))
	p.Add("for", "%s", w.For)
	p.Add("zone", "%s", w.Zone)
	return p.String()
}

func joined[T ~string](all []T) string { return joinedBy(all, func(v T) string { return string(v) }) }

func joinedBy[T any](all []T, write func(T) string) string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = write(v)
	}
	return strings.Join(out, ", ")
}

// WriteMetric returns what follows a key that names a metric, or has one of its own, in one line.
func WriteMetric(name fleet.MetricName, own *policy.Metric) string {
	if own == nil {
		return string(name)
	}
	return writeMetric(own).String()
}
