package guard_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// A host is turned off only when something besides hale's own sight says that it is dead, or the policy that silence is
// enough (L4).
func TestL04AHostIsFencedOnlyWhenSomethingElseAgrees(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: fleet.Instant(time.Hour)}
	means := fleet.Means{Tries: 1, Limit: 15 * time.Second}
	saidOff := func(ago time.Duration) fleet.Means {
		m := means
		m.OffAt = now.Mono.Add(-ago)
		return m
	}
	for name, c := range map[string]struct {
		host   fleet.Host
		policy policy.Silence
		may    bool
	}{
		"it alone knows what is on it, and is silent": {host: fleet.Host{Independent: true, Fence: means}},
		"the policy takes silence for death": {host: fleet.Host{Independent: true, Fence: means},
			policy: policy.SilenceActs, may: true},
		"its controller says that it is off": {host: fleet.Host{Independent: true,
			Fence: saidOff(30 * time.Second)}, may: true},
		"its controller said so long ago":       {host: fleet.Host{Independent: true, Fence: saidOff(2 * time.Minute)}},
		"its cloud says that it is down":        {host: fleet.Host{Fence: means}, may: true},
		"its cloud says so, and machines serve": {host: fleet.Host{Fence: means, Serves: true}},
		"nobody can turn it off":                {host: fleet.Host{}, policy: policy.SilenceActs},
	} {
		c.host.Name = "h1"
		s := guard.Situation{State: situation.State{Now: now, Hosts: []fleet.Host{c.host, {Name: "h2", Up: true}}}}
		s.Spec.Repair.Fence = fleet.Fence{Proof: fleet.ProofConfirmedOff, Hosts: true}
		s.Spec.Repair.Silence = c.policy
		if got := guard.MayFence(c.host, &s); got != c.may {
			t.Errorf("%s: may be turned off: %v", name, got)
		}
	}
}
