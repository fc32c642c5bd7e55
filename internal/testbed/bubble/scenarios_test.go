package bubble

import (
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
	"hale/internal/trial/scenario"
)

// folders hold the scenario files that simulator and bubble play.
var folders = []string{"../../../scenarios", "../../trial/scenario/testdata"}

// mostProbes bounds what one file may cost here, where each probe is played: about five seconds of one core.
const mostProbes = 250_000

// quiet is how long nothing must be left to happen before a play ends early.
const quiet = 10 * time.Minute

// TestScenarios plays every scenario file on the real loops.
func TestScenarios(t *testing.T) {
	t.Parallel()
	var files []string
	for _, folder := range folders {
		found, err := scenario.Files(folder)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	var stepped, played atomic.Int32
	t.Cleanup(func() {
		t.Logf("the simulator plays %d files, the bubble %d of them", stepped.Load(), played.Load())
	})
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			s, err := scenario.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			stepped.Add(1)
			simulate(t, s)
			if why := unplayable(s.Options); why != "" {
				t.Logf("the simulator only: %s", why)
				return
			}
			played.Add(1)
			playFile(t, s)
		})
	}
}

// unplayable says why the bubble leaves the play to the simulator; empty: it does not.
func unplayable(o sim.Options) string {
	for _, e := range o.Plan {
		if why := onlySimulator[e.Verb]; why != "" {
			return e.String() + ": " + why
		}
	}
	if slices.ContainsFunc(o.Hosts, func(h world.Host) bool { return h.Beside > 0 }) {
		return "other fleets play in the stories of the engine"
	}
	var perSecond float64
	for _, c := range o.Spec.Checks {
		if c.Kind == policy.CheckTLS || c.Kind == policy.CheckHTTP && c.HTTP.Scheme == "https" {
			return "simulated machines serve no TLS"
		}
		perSecond += float64(o.Spec.Size) / c.Every.Seconds()
	}
	if most := perSecond * lastEvent(o).Seconds(); most > mostProbes {
		return "it would take more than " + time.Duration(float64(mostProbes)/perSecond*float64(
			time.Second)).String() + " of probes, which the bubble plays one by one"
	}
	return ""
}

// lastEvent is when the last event of the plan is over.
func lastEvent(o sim.Options) time.Duration {
	var last time.Duration
	for _, e := range o.Plan {
		last = max(last, e.At+e.For)
	}
	return last
}

// simulate plays the file in the simulator. The trace is its own affair.
func simulate(t *testing.T, s *scenario.Scenario) {
	t.Helper()
	s.Trace = nil
	out, err := s.Play()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range out.Problems {
		t.Errorf("the simulator: %s", p)
	}
	t.Logf("the simulator: %+v", out.Result.Score)
}

func playFile(t *testing.T, s *scenario.Scenario) {
	t.Helper()
	var j *judge
	enter(t, s.Options, func(r *room) {
		j = r.judge
		for _, e := range s.Options.Plan {
			r.schedule(e)
		}
		r.playOut()
	})
	for _, p := range j.compare(s.Expect) {
		t.Errorf("the bubble: %s", p)
	}
	for _, b := range j.broke {
		if !s.ExpectsWrong() {
			t.Errorf("the bubble, after %v: %s", b.at, b.what)
		}
	}
	t.Logf("the bubble: %+v", j.tally)
}

// playOut lets the plan happen, and then the file's own time, or less when nothing is left to happen; whatever is not
// decided then has as long as the policy may take.
func (r *room) playOut() {
	r.t.Helper()
	end := r.o.Horizon + r.o.Calm
	r.pass(min(lastEvent(r.o), end), nil)
	since := r.now()
	r.pass(end, func() bool {
		if !r.well() {
			since = r.now()
		}
		return r.spec.Sizing == nil && r.now()-since >= quiet // an opinion moves a size at any time
	})
	r.converge(r.patience())
}

// converge has every machine be well, or in a person's hands, in time.
func (r *room) converge(within time.Duration) {
	r.t.Helper()
	if r.owner() == nil { // hale is gone for good, and converges to nothing
		return
	}
	if !r.pass(r.now()+within, func() bool { return r.each(r.settled) }) {
		for n := 1; n <= r.most(); n++ {
			if m, _ := r.machine(n); !r.settled(n) {
				r.t.Errorf("after %v %s is neither well nor in a person's hands: %s, serves %v, waiting %q, repair %+v",
					r.now(), r.spec.Name.Machine(n), m.Health.Verdict, r.serves(n), m.Waiting, m.Repair)
			}
		}
	}
}

// TestEveryVerbHasARoom keeps the lists complete.
func TestEveryVerbHasARoom(t *testing.T) {
	t.Parallel()
	here := ways()
	for _, line := range script.Verbs() {
		e, _ := script.Parse("1h " + line) // some want to know for how long
		switch {
		case e.Verb == "":
			t.Errorf("%q is not understood", line)
		case here[e.Verb] == nil && onlySimulator[e.Verb] == "":
			t.Errorf("the bubble cannot play %q: add it to ways, or with the reason to onlySimulator", line)
		case here[e.Verb] != nil && onlySimulator[e.Verb] != "":
			t.Errorf("the bubble plays %q: remove it from onlySimulator", line)
		}
	}
}
