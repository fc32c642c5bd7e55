package survey_test

import (
	"runtime/debug"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/sim/survey"
)

// BenchmarkTenDays plays ten days of a fleet of 1,000 machines with checks every 10 s, in which each machine has a
// fault or more on average, and a storm hits more than a fifth of them. One iteration is one run on one core; it
// reports the days that are played per second, and what there was to do.
func BenchmarkTenDays(b *testing.B) {
	// as bench/score sets it: what lives is small, and what dies is much
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	const size, days = 1000, 10
	o := survey.Dose{
		Spec: func() policy.Spec { return exemplar.Fleet(size) }, Hosts: exemplar.Town(100, 5, 4),
		Kinds: []script.Kind{script.KindMachine},
		Seed:  7, Horizon: days * day, Gap: 8 * day,
	}.Options(0)
	o.Plan = script.Merge(o.Plan, script.Storm(o.Spec, 5*day, 250, 2*time.Minute, 7))
	o.Calm = time.Hour
	var s score.Score
	for b.Loop() {
		r, err := sim.Run(o)
		if err != nil {
			b.Fatal(err)
		}
		s = r.Score
	}
	if s.Faults < size || s.Wrong() > 0 {
		b.Errorf("%d faults, %d wrong acts", s.Faults, s.Wrong())
	}
	b.ReportMetric(days*float64(b.N)/b.Elapsed().Seconds(), "days/s")
	b.ReportMetric(float64(s.Faults), "faults")
	b.ReportMetric(float64(s.Edges), "edges")
	b.ReportMetric(float64(s.Decisions), "decisions")
}
