package state_test

import (
	"testing"

	"hale/internal/state"
)

func TestLittleRoomIsSaidLongBeforeThereIsNone(t *testing.T) {
	t.Parallel()
	const mebi = 1 << 20
	disk := func(free, total uint64) state.Space {
		return state.Space{
			Free:    free * mebi,
			Total:   total * mebi,
			Reserve: 128 * mebi,
			Used:    10 * mebi,
			Quota:   2048 * mebi,
		}
	}
	data := func(used int64) state.Space {
		r := disk(100_000, 200_000)
		r.Used = used * mebi
		return r
	}
	alarmed := data(10)
	alarmed.Alarmed = true
	for name, c := range map[string]struct {
		is       state.Space
		was, low bool
	}{
		"a small disk with room":                  {is: disk(385, 900)},
		"a small disk":                            {is: disk(383, 900), low: true},
		"a tenth of a larger one":                 {is: disk(700, 6000), low: true},
		"a tenth of it above the reserve":         {is: disk(729, 6000)},
		"a very large disk":                       {is: disk(1200, 4_000_000)},
		"hardly more than before is still little": {is: disk(400, 900), was: true, low: true},
		"clearly more is enough":                  {is: disk(430, 900), was: true},
		"a database far below its quota":          {is: data(1800)},
		"a database near its quota":               {is: data(1900), low: true},
		"it was made a little smaller":            {is: data(1700), was: true, low: true},
		"it was made clearly smaller":             {is: data(1500), was: true},
		"etcd's own alarm":                        {is: alarmed, low: true},
		"no room to copy a large database": {is: state.Space{Free: 900 * mebi, Total: 3000 * mebi, Used: 1000 * mebi},
			low: true},
	} {
		asked := state.Space.Low
		if c.was {
			asked = state.Space.StillLow
		}
		if why := asked(c.is); why != "" != c.low {
			t.Errorf("%s: %q", name, why)
		}
	}
}
