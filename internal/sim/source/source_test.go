package source_test

import (
	"fmt"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/sim/load"
	"hale/internal/sim/source"
	"hale/internal/sim/world"
)

// place is a world with two machines of fleet web that serve, and a load of 300, of which each takes 200.
func place(t *testing.T) source.Source {
	t.Helper()
	w := world.New(world.Options{Seed: 1})
	w.Demand = load.Demand{Capacity: 200, Course: func(time.Duration) float64 { return 300 }}
	for n := 1; n <= 2; n++ {
		name := string(fleet.Name("web").Machine(n))
		w.Plant(world.Status{ID: fmt.Sprint("vm-", n), Name: name, Mark: world.Mark{Fleet: "web", Machine: name}})
	}
	return source.Source{World: w, Fleet: "web", Most: 5}
}

// A metric says the truth about the load, by what the policy uses it for, or what its source says instead.
func TestAMetricSaysTheTruthOrALie(t *testing.T) {
	t.Parallel()
	percent := func(m policy.Metric) policy.Metric {
		m.Most, m.Of = 100, policy.CombineMean
		return m
	}
	per := policy.Opinion{Kind: policy.OpinionTarget, PerMachine: true}
	for name, c := range map[string]struct {
		metric  policy.Metric
		opinion policy.Opinion
		lie     load.Lie
		want    float64
		trouble fleet.Reason
	}{
		"the whole load":    {policy.Metric{}, policy.Opinion{Kind: policy.OpinionTarget}, "", 300, ""},
		"a machine's share": {policy.Metric{}, per, "", 150, ""},
		"its use":           {percent(policy.Metric{}), per, "", 75, ""},
		"its use, by the provider": {percent(policy.Metric{Kind: policy.MetricProvider}), policy.Opinion{}, "", 75,
			""},
		"its use, for steps": {percent(policy.Metric{}), policy.Opinion{Kind: policy.OpinionSteps}, "", 75,
			""},
		"how many machines":             {policy.Metric{}, policy.Opinion{Kind: policy.OpinionSize}, "", 2, ""},
		"nothing":                       {policy.Metric{}, per, load.SaysNothing, 0, fleet.ReasonMetricSilent},
		"no number":                     {percent(policy.Metric{}), per, load.SaysNaN, 0, fleet.ReasonMetricAbsurd},
		"more than there can be":        {percent(policy.Metric{}), per, load.SaysHuge, 0, fleet.ReasonMetricAbsurd},
		"a thousand series":             {percent(policy.Metric{}), per, load.SaysMany, 0, fleet.ReasonMetricMany},
		"an endless number as a metric": {policy.Metric{}, per, load.SaysInf, 0, fleet.ReasonMetricAbsurd},
	} {
		s := place(t)
		c.metric.Name, c.opinion.Metric = "requests", "requests"
		if c.lie != "" {
			s.World.Demand.Deceive("requests", c.lie, 0)
		}
		p := &policy.Sizing{Min: 1, Max: 5, Metrics: []policy.Metric{c.metric}, Opinions: []policy.Opinion{c.opinion}}
		r, err := s.Read(p, &c.metric)
		v := gauge.Value{}
		if err == nil {
			v, err = gauge.Weigh(&c.metric, r)
		}
		switch {
		case c.trouble == "" && (err != nil || v.Value != c.want):
			t.Errorf("%s: it says %v (%v), want %v", name, v.Value, err, c.want)
		case c.trouble != "" && (err == nil || gauge.Trouble(err) != c.trouble):
			t.Errorf("%s: %v, want %s", name, err, c.trouble)
		}
	}
}
