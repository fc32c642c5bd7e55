package fellows_test

import (
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/engine/fellows"
	"hale/internal/engine/process"
	"hale/internal/owner/published"
)

// What another fleet hears counts for as long as its owner looks at its probes, on the same provider, and not of
// one's own.
func TestL04AnOwnerThatStandsStillIsNoWitness(t *testing.T) {
	t.Parallel()
	h1 := fleet.Neighbourhood{Host: "h1"}
	for name, c := range map[string]struct {
		asks     fleet.Name
		of       fleet.ProviderName
		acting   fleet.Reason
		still    time.Duration
		silenced []fleet.Neighbourhood
		want     []fleet.Hearing
	}{
		"it looks": {silenced: []fleet.Neighbourhood{h1},
			want: []fleet.Hearing{{Neighbourhood: h1, Expected: 1, Heard: 1, Delay: 7 * time.Second}}},
		"it stands still": {still: time.Minute, silenced: []fleet.Neighbourhood{h1},
			want: []fleet.Hearing{{Neighbourhood: h1, Expected: 1, Delay: 7 * time.Second}}},
		"it owns nothing":                  {acting: fleet.ReasonNotOwner, silenced: []fleet.Neighbourhood{h1}},
		"it is the one that asks":          {asks: "db", silenced: []fleet.Neighbourhood{h1}},
		"it is on another provider":        {of: "cloud", silenced: []fleet.Neighbourhood{h1}},
		"nobody is silent where it looks":  {silenced: []fleet.Neighbourhood{{Host: "h2"}}},
		"nobody is silent, so nobody asks": {},
		"it owns nothing, and stands still": {acting: fleet.ReasonNotOwner, still: time.Minute,
			silenced: []fleet.Neighbourhood{h1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			if c.asks == "" {
				c.asks = "web"
			}
			if c.of == "" {
				c.of = "lab"
			}
			clock := process.NewClock()
			time.Sleep(time.Minute)
			lived := clock.Now().Mono
			time.Sleep(c.still)
			shown := &published.Fleet{
				State: situation.State{
					Acting: c.acting,
					Spec: policy.Spec{Name: "db", Provider: "lab", Size: 1, Checks: []policy.Check{
						{Name: "alive", Kind: policy.CheckPing, Every: 5 * time.Second, Timeout: time.Second},
					}},
				},
				Machines: []situation.View{{
					Machine: belief.Machine{Name: "db-1", Current: belief.Incarnation{ID: "i", Host: "h1"},
						Health: belief.Health{Verdict: belief.VerdictHealthy}},
					Checks: []fleet.CheckState{{Check: "alive", Standing: fleet.StandingUp, Result: fleet.ResultOK}},
				}},
			}
			fleets := fellows.New(func() iter.Seq[fellows.Shown] {
				return slices.Values([]fellows.Shown{{Fleet: shown, Lived: lived}})
			}, clock.Now)
			if got := fleets.Hear(c.of, c.asks, c.silenced); !slices.Equal(got, c.want) {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		})
	}
}
