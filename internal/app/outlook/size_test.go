package outlook

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/resized"
	"hale/internal/owner/published"
)

// bounded is a fleet with two machines and bounds of 2 to 6. Its queue calls for five machines.
func bounded() published.Fleet {
	f := believed(2)
	z := &policy.Sizing{Min: 2, Max: 6, Mode: policy.ModeAct,
		Metrics: []policy.Metric{{Name: "queue", Every: time.Second, Late: time.Minute, Most: 1e9}},
		Opinions: []policy.Opinion{{Name: "backlog", Kind: policy.OpinionTarget, Metric: "queue", Target: 100,
			Tolerance: 0.1}}}
	f.Spec.Limits.InBuild = 10
	f.Spec.Sizing, f.Wanted = z, f.Spec
	f.Wanted.Sizing = z
	f.Gauges = []fleet.Gauge{{Metric: "queue", Points: []fleet.Point{{At: f.Now.Mono, Value: 450, Serving: 2}}}}
	f.Whole.Ledger = belief.OpenLedger(&f.Wanted, 2)
	f.Whole.Sizing = &resized.State{Up: f.Now.Mono, UpAt: f.Now.Wall, Would: 5} // it was watched
	return f
}

// A plan shows the machines that come, or go, by the size that the present situation asks for, and not a round later.
func TestAPlanShowsWhatFollowsFromTheSize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit   func(f *published.Fleet)
		moved  time.Duration // ago; 0: the size never moved
		builds int
	}{
		"an opinion wants more":   {edit: func(*published.Fleet) {}, builds: 3},
		"it is only watched":      {edit: func(f *published.Fleet) { f.Wanted.Sizing.Mode = policy.ModeObserve }},
		"its metric says nothing": {edit: func(f *published.Fleet) { f.Gauges = nil }},
		"the least is larger by now": {edit: func(f *published.Fleet) { f.Gauges, f.Wanted.Sizing.Min = nil, 4 },
			builds: 2},
		"the size moved a moment ago": {edit: func(f *published.Fleet) {
			f.Wanted.Sizing.Up.Cooldown = 5 * time.Minute
		}, moved: time.Minute},
		"the size has rested": {edit: func(f *published.Fleet) {
			f.Wanted.Sizing.Up.Cooldown = 5 * time.Minute
		}, moved: 5 * time.Minute, builds: 3},
	} {
		f := bounded()
		c.edit(&f)
		was := Before{Moved: map[fleet.Name]*resized.State{}}
		if c.moved > 0 {
			was.Moved["web"] = &resized.State{Up: 1, UpAt: f.Now.Wall.Add(-c.moved)} // by another clock
		}
		w := Of(f, was)
		builds := 0
		for _, m := range w.Machines {
			if m.Action == "build" {
				builds++
			}
		}
		if builds != c.builds || w.Size != 2+c.builds || len(w.Machines) != 2+c.builds {
			t.Errorf("%s: %d machines are built, of %d: %+v", name, builds, w.Size, w.Machines)
		}
	}
}
