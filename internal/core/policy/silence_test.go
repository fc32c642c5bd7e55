package policy_test

import (
	"testing"
	"time"

	"hale/internal/core/policy"
)

// L4: what satellites say of a witness may be as old as their word counts, so a silent one is noticed that much later.
func TestSatellitesNoticeLater(t *testing.T) {
	t.Parallel()
	c := policy.Check{Kind: policy.CheckPing, Every: 2 * time.Second, Timeout: time.Second}
	alone, shared := policy.Spec{Checks: []policy.Check{c}}, policy.Spec{Checks: []policy.Check{c}}
	shared.Checks[0].Sight = policy.Sight{Vantages: 3, Agree: 2, StaleAfter: 5 * time.Second}
	for spec, want := range map[*policy.Spec]time.Duration{&alone: 3 * time.Second, &shared: 8 * time.Second} {
		if d, some := spec.HearsWithin(); d != want || !some || spec.Shared() != (spec == &shared) {
			t.Errorf("%+v: %v, %t", spec.Checks[0].Sight, d, some)
		}
	}
}
