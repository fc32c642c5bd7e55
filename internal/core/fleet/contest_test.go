package fleet_test

import (
	"slices"
	"testing"

	"hale/internal/core/fleet"
)

// TestOfSeveralMentionsTheOneThatRunsCounts: else the one that says how the instance ended, and not the one that says
// that it moved on (L1).
func TestOfSeveralMentionsTheOneThatRunsCounts(t *testing.T) {
	t.Parallel()
	mention := func(host fleet.HostName, power fleet.Power, stop fleet.Stop) fleet.Instance {
		return fleet.Instance{ID: "i", Host: host, Power: power, Stop: stop}
	}
	left := mention("h1", fleet.PowerOff, fleet.StopMoved)
	for name, c := range map[string]struct {
		mentions []fleet.Instance
		on, also fleet.HostName
	}{
		"one":             {[]fleet.Instance{left}, "h1", ""},
		"one runs":        {[]fleet.Instance{left, mention("h2", fleet.PowerRunning, "")}, "h2", "h1"},
		"one is paused":   {[]fleet.Instance{left, mention("h2", fleet.PowerPaused, fleet.StopExternal)}, "h2", "h1"},
		"one has crashed": {[]fleet.Instance{left, mention("h2", fleet.PowerOff, fleet.StopCrash)}, "h2", "h1"},
		"nobody knows why": {[]fleet.Instance{mention("h1", fleet.PowerOff, ""), mention("h2", fleet.PowerOff, "")},
			"h1", "h2"},
		"both have moved":  {[]fleet.Instance{left, mention("h2", fleet.PowerOff, fleet.StopMoved)}, "h1", "h2"},
		"one is not known": {[]fleet.Instance{left, mention("h2", fleet.PowerUnknown, "")}, "h2", "h1"},
		"it runs on h1 now": {[]fleet.Instance{mention("h1", fleet.PowerRunning, ""),
			mention("h2", fleet.PowerOff, "")}, "h1", "h2"},
	} {
		for range 2 { // whatever comes first
			if got := fleet.Join(c.mentions); got.Host != c.on || got.Also != c.also {
				t.Errorf("%s: on %s, also %s; want %s and %s", name, got.Host, got.Also, c.on, c.also)
			}
			slices.Reverse(c.mentions)
		}
	}
}
