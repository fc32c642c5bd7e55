package picture_test

import (
	"errors"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/core/situation"
	"hale/internal/gauge"
	"hale/internal/owner/picture"
)

const beat = 15 * time.Second

// busy is a metric that is read every beat, and counts within a minute.
func busy() policy.Metric {
	return policy.Metric{
		Name: "busy", Kind: policy.MetricPrometheus, Every: beat, Late: 2 * beat, Most: 100, Of: policy.CombineMean,
	}
}

// sized opens an album of a fleet with the metrics.
func sized(t *testing.T, metrics ...policy.Metric) *album {
	t.Helper()
	return open(t, func(o *picture.Options) {
		o.Spec.Sizing = &policy.Sizing{Min: 1, Max: 9, Metrics: metrics, Down: policy.Pace{Stabilise: time.Minute}}
	})
}

// due returns the metrics that are asked for at at(d).
func (a *album) due(d time.Duration) (names []fleet.MetricName) {
	for _, m := range a.Metrics(noon(d)) {
		names = append(names, m.Name)
	}
	return names
}

// first moves on to the first reading, and returns when that is.
func (a *album) first() time.Duration {
	a.t.Helper()
	d := time.Duration(a.NextMetric() - at(0))
	if d < 0 || d >= beat {
		a.t.Fatalf("the first reading is after %s", d)
	}
	if early := a.due(d - 1); len(early) > 0 {
		a.t.Fatalf("%v are read early", early)
	}
	return d
}

// read has a reading asked for and told at at(d).
func (a *album) read(d time.Duration, value float64) {
	a.t.Helper()
	if due := a.due(d); len(due) != 1 {
		a.t.Fatalf("%v are asked for after %s", due, d)
	}
	a.TellMetric("busy", at(d), gauge.Reading{Whole: []float64{value}}, nil, noon(d))
}

// gauge is what is known of the metric.
func (a *album) gauge() fleet.Gauge {
	a.t.Helper()
	all := a.Situation(noon(0)).Gauges
	if len(all) != 1 || all[0].Metric != "busy" {
		a.t.Fatalf("the situation has %v", all)
	}
	return all[0]
}

func TestAMetricIsReadOnItsBeat(t *testing.T) {
	t.Parallel()
	a := sized(t, busy())
	d := a.first()
	a.settle()
	if due := a.due(d); len(due) != 1 {
		t.Fatalf("%v are asked for", due)
	}
	if due := a.due(d + 2*beat); len(due) > 0 {
		t.Fatal("it is asked for again before it was told")
	}
	if a.Dirty() {
		t.Error("there is nothing to decide before it was told")
	}
	a.TellMetric("busy", at(d)-1, gauge.Reading{Whole: []float64{1}}, nil, noon(d)) // to another question
	a.TellMetric("load", at(d), gauge.Reading{Whole: []float64{1}}, nil, noon(d))
	a.TellMetric("busy", at(d), gauge.Reading{Whole: []float64{40}}, nil, noon(d+time.Second))
	a.TellMetric("busy", at(d), gauge.Reading{Whole: []float64{50}}, nil, noon(d+time.Second)) // once is enough
	if due := a.due(d + 2*time.Second); len(due) > 0 || !a.Dirty() {
		t.Errorf("%v are asked for before the next beat; to be decided %v", due, a.Dirty())
	}
	want := fleet.Point{At: at(d), Value: 40, Size: 3}
	if g := a.gauge(); len(g.Points) != 1 || g.Points[0] != want || g.Since != at(d) || g.Trouble != "" {
		t.Errorf("%+v", g)
	}
	if next := a.NextMetric(); next != at(d+beat) {
		t.Errorf("it is read again at %d, and not on the beat", next-at(0))
	}
}

// A beat that was missed is left out: a source that hangs is not asked for what was.
func TestABeatThatWasMissedIsLeftOut(t *testing.T) {
	t.Parallel()
	a := sized(t, busy())
	d := a.first()
	a.due(d)
	a.TellMetric("busy", at(d), gauge.Reading{}, fault.New(fault.Transient, "x", "", nil), noon(d+10*beat+1))
	if due := a.due(d + 10*beat + 1); len(due) != 1 {
		t.Fatalf("%v are asked for", due)
	}
	a.TellMetric("busy", at(d+10*beat+1), gauge.Reading{Whole: []float64{1}}, nil, noon(d+10*beat+2))
	a.due(d + 10*beat + 2)
	if next := a.NextMetric(); next != at(d+11*beat) {
		t.Errorf("the next beat is at %s", time.Duration(next-at(d)))
	}
}

func TestWhatIsNoValueIsTroubleAndKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	a := sized(t, busy())
	d := a.first()
	if g := a.gauge(); g.Since != at(0) || g.Trouble != "" || len(g.Points) > 0 {
		t.Errorf("before it was read: %+v", g)
	}
	a.read(d, 40)
	for i, c := range []struct {
		reading gauge.Reading
		err     error
		want    fleet.Reason
	}{
		{gauge.Reading{Whole: []float64{1e9}}, nil, fleet.ReasonMetricAbsurd},
		{gauge.Reading{Whole: make([]float64, 1000)}, nil, fleet.ReasonMetricMany},
		{gauge.Reading{}, nil, fleet.ReasonMetricSilent},
		{gauge.Reading{}, fault.New(fault.Transient, "x", "", errors.New("no answer")), fleet.ReasonMetricSilent},
	} {
		now := d + time.Duration(i+1)*beat
		a.due(now)
		a.TellMetric("busy", at(now), c.reading, c.err, noon(now))
		g := a.gauge()
		if g.Trouble != c.want || g.Detail == "" || len(g.Points) != 1 || g.Since != at(d) {
			t.Errorf("%v: %+v, want %s", c.reading, g, c.want)
		}
	}
	a.read(d+5*beat, 50)
	if g := a.gauge(); g.Trouble != "" || g.Detail != "" || g.Since != at(d+5*beat) {
		t.Errorf("it speaks again: %+v", g)
	}
}

// The window is what the rule looks back on: a minute to be calm in, and a reading may be two beats late.
func TestPointsAreKeptAsLongAsTheRuleLooksBack(t *testing.T) {
	t.Parallel()
	a := sized(t, busy())
	d := a.first()
	var early []fleet.Gauge
	for n := range 40 {
		a.read(d+time.Duration(n)*beat, float64(n))
		early = append(early, a.Gauges()...)
	}
	g := a.gauge()
	if n := len(g.Points); n != 8 || g.Points[0].Value != 32 || g.Points[7].Value != 39 {
		t.Errorf("%d points: %v", n, g.Points)
	}
	for n, was := range early { // who reads what was published is not disturbed
		if last := was.Points[len(was.Points)-1]; last.Value != float64(n) {
			t.Errorf("reading %d is %v now", n, last)
		}
	}
}

func TestAPointSaysHowManyServedAndOfWhomItKnowsNothing(t *testing.T) {
	t.Parallel()
	a := sized(t, busy())
	d := a.first()
	for i := range 2 {
		m := a.View(i).Machine.Clone()
		m.Health.Verdict = belief.VerdictHealthy
		a.Adopt(round.Decided{Index: i, Belief: m})
	}
	a.due(d)
	a.TellMetric("busy", at(d), gauge.Reading{Each: []fleet.MachineValue{
		{Machine: "web-3", Value: 1}, {Machine: "web-1", Value: 3},
	}}, nil, noon(d))
	g := a.gauge()
	want := fleet.Point{At: at(d), Value: 2, Size: 3, Serving: 2, Missing: 1}
	if g.Points[0] != want || g.Each[0].Machine != "web-1" {
		t.Errorf("%+v, %v", g.Points[0], g.Each)
	}
	a.read(d+beat, 7)
	if g := a.gauge(); g.Points[1].Missing != 0 || g.Points[1].Serving != 2 || g.Each != nil {
		t.Errorf("a value of the whole fleet: %+v", g)
	}
}

// What is read together is judged together; what hangs is not waited for.
func TestWhatIsReadTogetherWaitsForOneDecision(t *testing.T) {
	t.Parallel()
	other := busy()
	other.Name = "load"
	a := sized(t, busy(), other)
	d := a.first()
	a.settle()
	if due := a.due(d); len(due) != 2 {
		t.Fatalf("%v are asked for together", due)
	}
	a.TellMetric("busy", at(d), gauge.Reading{Whole: []float64{1}}, nil, noon(d))
	if a.due(d + time.Millisecond); a.Dirty() {
		t.Error("the other one is not waited for")
	}
	if next := a.NextMetric(); next != at(d+time.Second) {
		t.Errorf("it is waited for until %s", time.Duration(next-at(d)))
	}
	if a.due(d + time.Second); !a.Dirty() {
		t.Error("it is waited for without end")
	}
}

func TestL09WhatWasReadIsForgottenWhenTheClockIsSet(t *testing.T) {
	t.Parallel()
	a := sized(t, busy())
	d := a.first()
	a.read(d, 40)
	a.due(d + beat)
	a.ClockSet(noon(d + beat + 1))
	a.TellMetric("busy", at(d+beat), gauge.Reading{Whole: []float64{1}}, nil, noon(d+beat+2)) // asked before
	if g := a.gauge(); len(g.Points) > 0 || g.Since != at(d+beat+1) {
		t.Errorf("%+v", g)
	}
}

// L4: what metrics were read to be while a fleet that comes first did not serve says nothing of what is needed when it
// serves again: the windows begin anew then, and not before.
func TestL04ReadingsOfATimeWithoutTheDatabaseAreForgotten(t *testing.T) {
	t.Parallel()
	a := sized(t, busy())
	d := a.first()
	a.read(d, 40)
	away := []situation.Ahead{{Fleet: "db", Known: true, Size: 2}}
	a.SetUnready(away, noon(d+1))
	a.read(d+beat, 2)
	a.SetUnready([]situation.Ahead{{Fleet: "db", Known: true, Size: 2, Well: 0}}, noon(d+beat+1)) // as before
	if g := a.gauge(); len(g.Points) != 2 {
		t.Fatalf("while it does not serve: %+v", g)
	}
	a.SetUnready(nil, noon(d+beat+2))
	if g := a.gauge(); len(g.Points) != 0 || g.Since != at(d+beat+2) {
		t.Errorf("when it serves again: %+v", g)
	}
	next := time.Duration(a.NextMetric() - at(0))
	a.read(next, 40)
	a.SetUnready(nil, noon(next+1)) // and goes on to serve
	if g := a.gauge(); len(g.Points) != 1 {
		t.Errorf("a moment later: %+v", g)
	}
}

func TestAnEditTakesMetricsInAndOut(t *testing.T) {
	t.Parallel()
	other, gone := busy(), busy()
	other.Name, gone.Name = "load", "gone"
	a := sized(t, busy(), gone, other)
	d := a.first()
	for _, name := range a.due(d) {
		a.TellMetric(name, at(d), gauge.Reading{Whole: []float64{1}}, nil, noon(d))
	}
	edited := *a.Wanted()
	slower := other
	slower.Every *= 2
	edited.Sizing = &policy.Sizing{Min: 1, Max: 9, Metrics: []policy.Metric{busy(), slower}}
	a.Want(edited, noon(d+time.Second))
	all := a.Situation(noon(d + time.Second)).Gauges
	if len(all) != 2 || len(all[0].Points) != 1 || len(all[1].Points) != 0 || all[1].Since != at(d+time.Second) {
		t.Errorf("%+v", all)
	}
	edited.Sizing = nil
	a.Want(edited, noon(d+2*time.Second))
	if len(a.Gauges()) > 0 || len(a.due(d+10*beat)) > 0 || a.NextMetric() != 0 {
		t.Error("a fleet of a plain size has metrics")
	}
}

func TestSourcesKnowTheMachinesThatHaveAnInstance(t *testing.T) {
	t.Parallel()
	a := shown(t)
	all := a.Measured()
	if len(all) != 3 || all[1].Name != "web-2" || all[1].Instance != "id-2" || all[1].Host != "b" ||
		all[1].Address != address(2) {
		t.Errorf("%+v", all)
	}
}
