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

// A spare may be changed once each pool says that it sends nothing there. A pool that was told so, and could not do it,
// sends there as before; and what one pool says counts for no other.
func TestASpareGoesOnceNoPoolSendsThere(t *testing.T) {
	t.Parallel()
	says := func(b fleet.BalancerName, is fleet.MemberState) fleet.Membership {
		return fleet.Membership{Balancer: b, State: is}
	}
	out, failed := says("b", fleet.MemberOut), says("b", fleet.MemberOut)
	failed.Failed = true
	for name, c := range map[string]struct {
		b    []fleet.Membership // what is said beside the pool a, where it is out
		goes bool
	}{
		"both say that it is out":      {[]fleet.Membership{out}, true},
		"one still sends there":        {[]fleet.Membership{says("b", fleet.MemberServes)}, false},
		"one could not take it out":    {[]fleet.Membership{failed}, false},
		"one says nothing":             {nil, false},
		"one sends nobody new":         {[]fleet.Membership{says("b", fleet.MemberDrains)}, true},
		"one that the fleet left says": {[]fleet.Membership{says("c", fleet.MemberOut)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := belief.Machine{Name: "web-2", Health: belief.Health{Verdict: belief.VerdictHealthy},
				Current: belief.Incarnation{ID: "i", Certified: true}}
			s := quiet()
			s.Spec.Pools = []policy.Pool{{Balancer: "a"}, {Balancer: "b"}}
			s.Spec.Update.InService = policy.Portion{Number: 1}
			s.Whole.Ledger = &belief.Ledger{Size: 10, Spares: []fleet.MachineName{"web-2"}}
			v := situation.View{Machine: m, Members: append(c.b, says("a", fleet.MemberOut))}
			if why := guard.InService(&m, &v, &s); (why == "") != c.goes {
				t.Errorf("it is held for %q", why)
			}
		})
	}
}
