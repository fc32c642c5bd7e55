package guard_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// L4: while a fleet that comes first does not serve, or is not heard of, less is asked of this one for that alone: no
// machine goes by an opinion's word. Nothing that holds longer is called that.
func TestL04NoneGoesByAnOpinionBehindAFleetThatDoesNotServe(t *testing.T) {
	t.Parallel()
	for story, c := range map[string]struct {
		unready []situation.Ahead
		brake   bool
		want    fleet.Reason
	}{
		"all that come first serve": {want: ""},
		"one does not": {unready: []situation.Ahead{{Fleet: "db", Known: true, Size: 2}},
			want: fleet.ReasonAfter},
		"one is not heard of": {unready: []situation.Ahead{{Fleet: "db"}}, want: fleet.ReasonAfter},
		"one does not, and the brake is on": {unready: []situation.Ahead{{Fleet: "db"}}, brake: true,
			want: fleet.ReasonBrake},
	} {
		s := quiet()
		s.Unready, s.Brake.Engaged = c.unready, c.brake
		if got := guard.ScaleIn(&s); got != c.want {
			t.Errorf("%s: held for %q, want %q", story, got, c.want)
		}
	}
}

// L9: what goes by an opinion's word stays as soon as fewer healthy machines than the fleet's min would be left. What
// fails is none of them, and a fleet without bounds has no min.
func TestAThinFleetKeepsWhatIsHealthy(t *testing.T) {
	t.Parallel()
	for story, c := range map[string]struct {
		well    int
		verdict belief.Verdict
		plain   bool
		want    bool
	}{
		"fewer than min stay":                  {well: 2, verdict: belief.VerdictHealthy, want: true},
		"none stays":                           {well: 0, verdict: belief.VerdictHealthy, want: true},
		"as many as min stay":                  {well: 3, verdict: belief.VerdictHealthy},
		"more than min stay":                   {well: 4, verdict: belief.VerdictHealthy},
		"few stay, and the one that goes ails": {well: 2, verdict: belief.VerdictUnhealthy},
		"few stay, of a plain size":            {well: 2, verdict: belief.VerdictHealthy, plain: true},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			s := &guard.Situation{Well: c.well}
			if !c.plain {
				s.Spec.Sizing = &policy.Sizing{Min: 3, Max: 9}
			}
			m := &belief.Machine{Name: "web-4", Health: belief.Health{Verdict: c.verdict}}
			if got := guard.Thin(m, s); got != c.want {
				t.Errorf("it is thin: %v, want %v", got, c.want)
			}
		})
	}
}
