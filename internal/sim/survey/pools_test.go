package survey_test

import (
	"testing"

	"hale/internal/core/policy"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/survey"
)

// Behind a load balancer that falls silent, forgets its members and finds good ones down, with connections that do not
// end, machines fail, are changed and removed: none is disrupted before it has left, and none is taken out by an update
// while too few others are in (S35, S39, S61).
func TestADoseBehindALoadBalancer(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]struct {
		size, servers, runs int
		seed                uint64
	}{
		"three machines":            {size: 3, servers: 1, runs: 30, seed: 1},
		"five under three servers":  {size: 5, servers: 3, runs: 20, seed: 1},
		"a dozen under one":         {size: 12, servers: 1, runs: 6, seed: 1},
		"a dozen under two servers": {size: 12, servers: 2, runs: 6, seed: 201},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := survey.Dose{
				Spec:  func() policy.Spec { return exemplar.Defaults(d.size) },
				Hosts: exemplar.Town(max(3, d.size/10), 5, 4), Servers: d.servers, Pooled: true,
				Kinds: script.FirstKinds(), Seed: d.seed, Runs: d.runs,
				Horizon: 10 * day, Gap: 2 * day,
			}.Run()
			if err != nil {
				t.Fatal(err)
			}
			harmless(t, r)
			t.Logf("%.0f machine-days, %d faults and orders, %d repairs, %d acts", r.Score.MachineDays, r.Score.Faults,
				r.Score.Repairs, r.Score.Actions)
		})
	}
}
