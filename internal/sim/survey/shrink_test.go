package survey_test

import (
	"testing"
	"time"

	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/judge"
	"hale/internal/sim/script"
	"hale/internal/sim/survey"
)

// broken plays a run that breaks the law, and returns its first violation of it.
func broken(t *testing.T, o sim.Options, law string) judge.Violation {
	t.Helper()
	r, err := sim.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Violations {
		if v.Law == law {
			return v
		}
	}
	t.Fatalf("law %s was not broken: %+v", law, r.Score)
	return judge.Violation{}
}

// defective is a run of a naive policy that destroys what is only out of its sight, among 200 events and more of every
// kind.
func defective() sim.Options {
	o := sim.Options{Spec: exemplar.Fleet(30), Hosts: exemplar.Town(6, 3, 2), Servers: 1, Seed: 1, Horizon: 6 * day,
		Operator: time.Hour,
		Rival:    sim.RestartOnPing}
	o.Plan = script.Forecast{
		Seed:       1,
		Kinds:      script.FirstKinds(),
		Horizon:    o.Horizon,
		MachineGap: day,
	}.Draw(
		o.Spec,
		o.Hosts,
		1,
	)
	return o
}

func TestAFailingPlanIsShrunkToWhatItNeeds(t *testing.T) {
	t.Parallel()
	o := defective()
	if len(o.Plan) < 200 {
		t.Fatalf("only %d events", len(o.Plan))
	}
	s := survey.Shrink(o, broken(t, o, "harm"), nil)
	if n := len(s.Options.Plan); n < 1 || n > 2 || !s.Whole {
		t.Errorf("%d events are left of %d after %d runs: %v", n, len(o.Plan), s.Plays, s.Options.Plan)
	}
	for _, e := range s.Options.Plan {
		if e.At > time.Hour || e.For > 10*time.Minute {
			t.Errorf("%v %s could be earlier and shorter", e.At, e)
		}
	}
	if s.Options.Horizon > time.Hour {
		t.Errorf("the run lasts %v", s.Options.Horizon)
	}
	if again := broken(t, s.Options, "harm"); again != s.Violation {
		t.Errorf("played again it breaks %+v, and it was %+v", again, s.Violation)
	}
}

func TestShrinkingEndsWhenTimeIsUpAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	o := defective()
	v := broken(t, o, "harm")
	for _, most := range []int{0, 1, 2} {
		plays := 0
		s := survey.Shrink(o, v, func() bool { plays++; return plays > most })
		if s.Whole || s.Plays != most {
			t.Errorf("after %d runs of %d it calls itself whole: %v", s.Plays, most, s.Whole)
		}
		broken(t, s.Options, "harm")
	}
}

func TestARunWithOneEventNeedsNoShrinking(t *testing.T) {
	t.Parallel()
	o := defective()
	v := broken(t, o, "harm")
	o = survey.Shrink(o, v, nil).Options
	again := survey.Shrink(o, broken(t, o, "harm"), nil)
	if len(again.Options.Plan) != len(o.Plan) {
		t.Errorf("%v became %v", o.Plan, again.Options.Plan)
	}
}
