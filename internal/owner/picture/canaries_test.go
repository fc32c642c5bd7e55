package picture_test

import (
	"net/netip"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/owner/picture"
)

func TestOneCanaryThatAnswersIsEnough(t *testing.T) {
	t.Parallel()
	const up, down, failing, unknown = fleet.StandingUp, fleet.StandingDown, fleet.StandingFailing,
		fleet.StandingUnknown
	for reason, c := range map[string]struct {
		standings []fleet.Standing
		want      fleet.VantageStanding
	}{
		"nobody watches":                {nil, ""},
		"it answers":                    {[]fleet.Standing{up}, fleet.VantageOK},
		"it is down":                    {[]fleet.Standing{down}, fleet.VantageIsolated},
		"it begins to fail":             {[]fleet.Standing{failing}, fleet.VantageUnknown},
		"nothing was heard yet":         {[]fleet.Standing{unknown}, fleet.VantageUnknown},
		"one of two":                    {[]fleet.Standing{down, up}, fleet.VantageOK},
		"neither of two":                {[]fleet.Standing{down, down}, fleet.VantageIsolated},
		"one is down, one says nothing": {[]fleet.Standing{down, unknown}, fleet.VantageUnknown},
		"one answers, one says nothing": {[]fleet.Standing{up, unknown}, fleet.VantageOK},
	} {
		now := fleet.Now{Mono: 7}
		addresses := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}[:len(c.standings)]
		all := picture.NewCanaries(addresses, now)
		for i, s := range c.standings {
			all.Hear(addresses[i], s, fleet.ResultTimeout, now)
		}
		if got := all.Vantage(); got.Standing != c.want || (got.Detail != "") != (c.want == fleet.VantageIsolated ||
			c.want == fleet.VantageUnknown) {
			t.Errorf("%s: %+v, want %q", reason, got, c.want)
		}
	}
}

func TestTheVantageStandsSinceItChanged(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr("10.0.0.1")
	at := func(n int) fleet.Now { return fleet.Now{Mono: fleet.Instant(time.Duration(n) * time.Second)} }
	c := picture.NewCanaries([]netip.Addr{a}, at(1))
	c.Hear(a, fleet.StandingUp, fleet.ResultOK, at(2))
	c.Hear(a, fleet.StandingUp, fleet.ResultOK, at(3))
	if v := c.Vantage(); v.Since != at(2).Mono || v.Detail != "" {
		t.Errorf("%+v", v)
	}
	c.Hear(a, fleet.StandingDown, fleet.ResultTimeout, at(4))
	if v := c.Vantage(); v != (fleet.Vantage{Standing: fleet.VantageIsolated, Since: at(4).Mono,
		Detail: "10.0.0.1: timeout"}) {
		t.Errorf("%+v", v)
	}
	c.Hear(netip.MustParseAddr("10.9.9.9"), fleet.StandingUp, fleet.ResultOK, at(5)) // a stranger
	c.Forget(fleet.ResultLate, at(6))
	if v := c.Vantage(); v != (fleet.Vantage{Standing: fleet.VantageUnknown, Since: at(6).Mono,
		Detail: "10.0.0.1: late"}) {
		t.Errorf("%+v", v)
	}
}
