package guard_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// A machine that its load balancer alone finds down is no silent one as long as hale hears it; one that hale does not
// hear needs a witness, whatever the balancer says (L4).
func TestABalancersWordIsNoSilence(t *testing.T) {
	t.Parallel()
	spec := policy.Spec{Checks: []policy.Check{{Name: "agent", Kind: policy.CheckAgent},
		{Name: "lb", Kind: policy.CheckPool}, {Name: "page", Kind: policy.CheckHTTP}}}
	m := belief.Machine{Name: "web-1", Current: belief.Incarnation{ID: "a", Generation: 1}}
	m.Health.Verdict, m.Health.Cause = belief.VerdictUnhealthy, belief.CauseChecks
	for name, c := range map[string]struct {
		agent, page fleet.Standing
		silent      bool
	}{
		"its page answers":                        {fleet.StandingUnknown, fleet.StandingUp, false},
		"its page is silent":                      {fleet.StandingUnknown, fleet.StandingDown, true},
		"nothing is known of its page":            {fleet.StandingUnknown, fleet.StandingUnknown, true},
		"only its agent answers, over no network": {fleet.StandingUp, fleet.StandingUnknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := situation.View{Machine: m, Checks: []fleet.CheckState{
				{Check: "agent", Standing: c.agent},
				{Check: "lb", Standing: fleet.StandingDown, Result: fleet.ResultPoolDown},
				{Check: "page", Standing: c.page, Result: fleet.ResultTimeout},
			}}
			s := guard.Situation{View: &v}
			s.Spec = spec
			if got := guard.Silent(&m, &v, &s); got != c.silent {
				t.Errorf("silent: %v", got)
			}
		})
	}
}
