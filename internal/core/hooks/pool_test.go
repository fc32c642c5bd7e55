package hooks_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/hooks"
	"hale/internal/core/policy"
)

// A pool is waited for until it sends the machine nothing any more: what it finds down, and has no connections to, need
// not be out (S35).
func TestAPoolIsWaitedForWhileItSendsTheMachineAnything(t *testing.T) {
	t.Parallel()
	since := fleet.Instant(time.Hour)
	for name, c := range map[string]struct {
		member fleet.Membership
		want   fleet.Reason
	}{
		"it serves":    {fleet.Membership{State: fleet.MemberServes, Verdict: fleet.MemberUp}, ""},
		"it is out":    {fleet.Membership{State: fleet.MemberOut, Verdict: fleet.MemberUnknown}, fleet.ReasonOut},
		"it is down":   {fleet.Membership{State: fleet.MemberServes, Verdict: fleet.MemberDown}, fleet.ReasonOut},
		"down, in use": {fleet.Membership{State: fleet.MemberServes, Verdict: fleet.MemberDown, Connections: 2}, ""},
		"down, and no number is known": {fleet.Membership{State: fleet.MemberServes, Verdict: fleet.MemberDown,
			Connections: fleet.ConnectionsUnknown}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.member.Balancer, c.member.Asked = "edge", since+1
			p := hooks.Pool{Pool: policy.Pool{Balancer: "edge", Wait: time.Minute},
				Members: []fleet.Membership{c.member},
				Since:   since}
			if got := p.Left(fleet.Now{Mono: since.Add(time.Second)}); got != c.want {
				t.Errorf("it is left: %q, and should be %q", got, c.want)
			}
		})
	}
}
