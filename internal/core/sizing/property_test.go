package sizing_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/resized"
	"hale/internal/core/sizing"

	"pgregory.net/rapid"
)

// anyPolicy draws a policy with target and size opinions, for which more load is never fewer machines.
func anyPolicy(t *rapid.T) *policy.Sizing {
	least := rapid.IntRange(1, 5).Draw(t, "min")
	spans := rapid.SampledFrom([]time.Duration{0, time.Minute, 5 * time.Minute})
	p := &policy.Sizing{
		Min: least, Max: least + rapid.IntRange(0, 20).Draw(t, "room"),
		Up: policy.Pace{Stabilise: spans.Draw(t, "up"), Most: rapid.IntRange(0, 5).Draw(t, "most up"),
			Cooldown: spans.Draw(t, "cooldown up")},
		Down: policy.Pace{Stabilise: spans.Draw(t, "down"), Most: rapid.IntRange(0, 5).Draw(t, "most down"),
			MostPercent: rapid.IntRange(0, 50).Draw(t, "percent"), Cooldown: spans.Draw(t, "cooldown down")},
	}
	for _, m := range []fleet.MetricName{"a", "b", "c"} {
		p.Metrics = append(p.Metrics, policy.Metric{Name: m, Every: 15 * time.Second, Late: time.Minute, Most: 1e6,
			Smooth: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "smooth")})
	}
	for _, m := range []fleet.MetricName{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "opinions")] {
		p.Opinions = append(p.Opinions, policy.Opinion{Name: fleet.OpinionName(m), Metric: m,
			Kind:   rapid.SampledFrom([]policy.OpinionKind{policy.OpinionTarget, policy.OpinionSize}).Draw(t, "kind"),
			Target: 50, Tolerance: 0.1, PerMachine: rapid.Bool().Draw(t, "per machine")})
	}
	return p
}

// anyCase draws readings of the metrics, with gaps and nonsense among them.
func anyCase(t *rapid.T, p *policy.Sizing) *sizing.Case {
	c := &sizing.Case{Policy: p, Size: rapid.IntRange(p.Min, p.Max).Draw(t, "size"), Now: fleet.Now{Mono: began}}
	for _, m := range p.Metrics {
		g := fleet.Gauge{Metric: m.Name}
		at := began.Add(-time.Duration(rapid.IntRange(0, 40).Draw(t, "readings")) * 15 * time.Second)
		for ; at <= began; at = at.Add(time.Duration(rapid.IntRange(5, 70).Draw(t, "after")) * time.Second) {
			v := rapid.Float64Range(0, 2000).Draw(t, "value")
			if rapid.IntRange(0, 9).Draw(t, "nonsense") == 0 {
				v = rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), -1, 1e9}).Draw(t, "which")
			}
			serving := rapid.IntRange(0, c.Size).Draw(t, "serving")
			g.Points = append(g.Points, fleet.Point{At: at, Value: v, Serving: serving,
				Missing: max(0, rapid.IntRange(-c.Size, serving).Draw(t, "missing"))})
		}
		if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
			g.Trouble = fleet.ReasonMetricSilent
		}
		if rapid.IntRange(0, 9).Draw(t, "unknown") > 0 {
			c.Gauges = append(c.Gauges, g)
		}
	}
	if rapid.Bool().Draw(t, "moved") {
		ago := func(what string) fleet.Instant {
			return began.Add(-time.Duration(rapid.IntRange(0, 600).Draw(t, what)) * time.Second)
		}
		c.Moved = &resized.State{Up: ago("up"), Down: ago("down")}
	}
	return c
}

func judge(c *sizing.Case) sizing.Verdict {
	var h sizing.Hours
	return h.Judge(c)
}

// The laws of the rule: it stays within bounds and within what one move may change; while any opinion is missing or
// young it asks for no fewer machines; no opinion that is heard wants more than it gives, unless it says why; and equal
// cases are judged equally.
func TestTheLawsOfTheRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy(t)
		c := anyCase(t, p)
		v := judge(c)
		if v.Size < p.Min || v.Size > p.Max {
			t.Errorf("%d is beyond %d to %d", v.Size, p.Min, p.Max)
		}
		if again := judge(c); !reflect.DeepEqual(v, again) {
			t.Errorf("equal cases are judged as %+v and %+v", v, again)
		}
		for i := range v.Said {
			s := &v.Said[i]
			if (s.Missing() || s.Young) && v.Size < c.Size {
				t.Errorf("fewer machines, and %s says %+v", s.Opinion, s)
			}
			if s.Why == "" && s.Low > s.High {
				t.Errorf("%s wants at least %d and at most %d", s.Opinion, s.Low, s.High)
			}
			if s.Why == "" && s.High > v.Size && v.Size < c.Size {
				t.Errorf("fewer machines than %s wanted within its window: %+v", s.Opinion, s)
			}
		}
		if most := p.Up.Most; most > 0 && v.Size > c.Size+most {
			t.Errorf("%d more in one move", v.Size-c.Size)
		}
		if at := sizing.Rests(p, c.Moved, c.Size, v.Size); v.Size != c.Size && at > c.Now.Mono {
			t.Errorf("it moved while it rests until %v", at)
		}
	})
}

// More load is never fewer machines.
func TestTheRuleIsMonotoneInLoad(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyCase(t, anyPolicy(t))
		was := judge(c).Size
		for i := range c.Gauges {
			for k := range c.Gauges[i].Points {
				p := &c.Gauges[i].Points[k]
				if more := p.Value + rapid.Float64Range(0, 100).Draw(t, "more"); p.Value < 2000 && p.Value >= 0 {
					p.Value = more
				}
			}
		}
		if is := judge(c).Size; is < was {
			t.Errorf("%d machines, and fewer for more load: %d", was, is)
		}
	})
}

// A further opinion never makes for fewer machines than there were without it, but by being the only one.
func TestAFurtherOpinionNeverTakesMachines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy(t)
		c := anyCase(t, p)
		all := judge(c)
		fewer := *p
		fewer.Opinions = p.Opinions[:len(p.Opinions)-1]
		some := *c
		some.Policy = &fewer
		if v := judge(&some); v.By >= 0 && v.Size > all.Size {
			t.Errorf("%d machines with one opinion less, and %d with it", v.Size, all.Size)
		}
	})
}
