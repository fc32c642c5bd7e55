package engine_test

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/gauge"
	"hale/internal/gauge/memory"
)

// isOnItsWay: the canary of another template stands, and what goes on from there may replace every machine, once
// forward and once back.
func isOnItsWay(s *story) {
	triesNext(s)
	for n := 1; n <= s.spec.Size; n++ {
		s.leaving = append(s.leaving, s.spec.Name.Machine(n))
	}
}

// rolloutOrdeals take another template through a fleet of three in batches, and back.
func rolloutOrdeals() []ordeal {
	spec := bare(3, rung(fleet.StepRecreate))
	spec.Template.Image, spec.Update = "v1", policy.Update{Pilots: 1, Soak: 30 * time.Second,
		Batch: policy.Portion{Number: 1}, Pause: 10 * time.Second, InService: policy.Portion{Number: 2}}
	judged, most := spec, 5.0
	judged.Update.OnFailure = policy.UpdateUndo
	judged.Update.Query = &policy.UpdateQuery{Metric: policy.OwnMetric, Above: &most, For: 20 * time.Second,
		Own: &policy.Metric{Name: policy.OwnMetric, Kind: policy.MetricCommand, Every: 5 * time.Second,
			Late: time.Minute}}
	says := func(value float64) func(s *story) {
		return func(s *story) { s.yard.by[policy.OwnMetric].Say(gauge.Reading{Whole: []float64{value}}) }
	}
	isAsBefore := func(orders int) func(s *story) bool {
		return func(s *story) bool {
			return s.built("v1") == 3 && s.allHealthy() && s.settled(orders) && s.status().Whole.Ledger.Update == nil
		}
	}
	ahead := spec
	ahead.Update.Surge, ahead.Update.InService = 1, policy.Portion{}
	return []ordeal{
		{step: "rollout: one beyond the size serves first", spec: ahead, again: confirmsStill,
			early: func(s *story) { s.leaving = append(s.leaving, s.spec.Name.Machine(4)) },
			begin: wants(func(spec *policy.Spec) { spec.Template.Image = "v2" }),
			ends: func(s *story) bool {
				l := s.status().Whole.Ledger
				return s.built("v2") == 3 && s.allHealthy() && s.settled(1) && l.Update == nil && l.Size == 3
			}},
		{step: "replace by order, one beyond the size serves first", spec: ahead,
			early: func(s *story) { s.leaving = append(s.leaving, s.spec.Name.Machine(4)) },
			begin: has(fleet.OrderReplace),
			ends: func(s *story) bool {
				l := s.status().Whole.Ledger
				return isOther(s) && l.Size == 3 && len(l.Surge) == 0
			}},
		{step: "rollout: in batches", spec: spec, again: confirmsStill,
			begin: wants(func(spec *policy.Spec) { spec.Template.Image = "v2" }),
			ends: func(s *story) bool {
				return s.built("v2") == 3 && s.allHealthy() && s.settled(1) && s.status().Whole.Ledger.Update == nil
			}},
		{step: "rollout: paused by order", spec: spec, before: isOnItsWay,
			begin: given(fleet.Order{Kind: fleet.OrderRolloutPause}),
			ends: func(s *story) bool {
				return s.status().Whole.Ledger.Update.IsPaused() && s.allHealthy() && s.settled(2)
			}},
		{step: "rollout: undone by order", spec: spec, before: isOnItsWay,
			begin: given(fleet.Order{Kind: fleet.OrderRolloutUndo}), ends: isAsBefore(2)},
		{step: "rollout: undone since its metric tells", spec: judged,
			early: func(s *story) {
				s.yard = &yard{by: map[fleet.MetricName]*memory.Source{policy.OwnMetric: {}},
					opened: map[fleet.MetricName]int{}}
				s.gauges = s.yard.open
				says(1)(s)
			},
			before: isOnItsWay, begin: says(40), pages: 1,
			ends: func(s *story) bool {
				return isAsBefore(1)(s) && s.count(because(record.Change, fleet.ReasonRolledBack)) == 1
			}},
	}
}
