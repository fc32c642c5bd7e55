package sim_test

import (
	"math"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// sure makes all calls take a second, and all boots twenty.
func sure(o *sim.Options) {
	o.Boot, o.BootMost, o.Latency, o.LatencyMost = 20*time.Second, 20*time.Second, time.Second, time.Second
	o.Hosts = []world.Host{{Name: "h1"}, {Name: "h2"}}
}

// What a step could heal is counted whatever held it, and the oracle takes what the step takes.
func TestTheOracleTakesWhatTheCheapestStepTakes(t *testing.T) {
	t.Parallel()
	slow := func(o *sim.Options) { o.Operator = 30 * time.Minute }
	for name, c := range map[string]struct {
		lines                                 []string
		change                                func(*sim.Options)
		curable, alone, prompt, promptA, need int
		oracle                                time.Duration // of all outages
	}{
		"a crash takes a start":       {[]string{"10m web-2 crashes"}, nil, 1, 1, 1, 1, 0, 21 * time.Second},
		"a hang takes a reset":        {[]string{"10m web-2 hangs"}, nil, 1, 1, 1, 1, 0, 21 * time.Second},
		"a lost disk takes a new one": {[]string{"10m web-2 loses its disk"}, nil, 1, 1, 1, 1, 0, 23 * time.Second},
		"what is gone is made":        {[]string{"10m web-2 vanishes"}, nil, 1, 1, 1, 1, 0, 21 * time.Second},
		"slowness passes before a reset": {[]string{"10m web-2 is too slow for 5s"}, nil, 1, 1, 1, 1, 0,
			5 * time.Second},
		"a host is waited for": {
			[]string{"10m host h2 loses power for 2m"}, nil, 2, 2, 2, 2, 0, 2 * (2*time.Minute + 21*time.Second),
		},
		"a host that is away for long needs a person, and a step after that": {
			[]string{"10m host h2 loses power for 20m"}, nil, 2, 0, 0, 0, 1, 2 * (20*time.Minute + 21*time.Second),
		},
		"no step cures a network": {[]string{"10m host h2 is cut off for 1m"}, nil, 0, 0, 0, 0, 0, 2 * time.Minute},
		"a person's stop is none": {[]string{"10m web-2 is stopped by a person for 30m"}, nil, 0, 0, 0, 0, 1,
			30*time.Minute + 20*time.Second},
		"the brake holds it, and a step could heal": {
			[]string{"10m web-1 hangs", "10m web-2 hangs", "10m web-3 hangs"}, slow, 3, 0, 3, 0, 1,
			3 * 21 * time.Second,
		},
		"a step that the ladder does not have": {
			[]string{"10m web-2 loses its disk"},
			func(o *sim.Options) { o.Spec.Repair.Steps = o.Spec.Repair.Steps[:2] }, 0, 0, 0, 0, 0,
			3*time.Hour + 6*time.Hour - 10*time.Minute, // no person comes
		},
		"from a bad template nothing comes up": {
			[]string{"9m template is bad for 31m", "10m web-2 loses its disk"}, slow, 1, 0, 0, 0, 1, 30*time.Minute +
				23*time.Second,
		},
		"a person's hold is obeyed": {
			[]string{"5m operator holds web-2 for 15m", "10m web-2 crashes"}, nil, 1, 1, 0, 0, 0, 10*time.Minute +
				21*time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, s := remembered(t, func(o *sim.Options) {
				sure(o)
				if c.change != nil {
					c.change(o)
				}
			}, c.lines...)
			if s.Curable != c.curable || s.CurableAlone != c.alone || s.Prompt != c.prompt ||
				s.PromptAlone != c.promptA || s.Causes != c.need {
				t.Errorf("a step could heal %d (alone %d), promptly %d (alone %d), and %d need a person; "+
					"want %d (%d), %d (%d), %d",
					s.Curable, s.CurableAlone, s.Prompt, s.PromptAlone, s.Causes, c.curable, c.alone, c.prompt,
					c.promptA, c.need)
			}
			if off := s.OracleHours - c.oracle.Hours(); math.Abs(off) > (2 * time.Second).Hours() {
				t.Errorf("the oracle loses %.4f h, want %.4f", s.OracleHours, c.oracle.Hours())
			}
			if s.OracleHours > s.MachineHoursLost+1e-9 || s.OracleAlone > s.HoursAlone+1e-9 {
				t.Errorf("the oracle loses %.4f and %.4f h, hale %.4f and %.4f", s.OracleHours, s.OracleAlone,
					s.MachineHoursLost, s.HoursAlone)
			}
		})
	}
}

// Behind a host that is dark for long no step could heal soon. What hale does once it is back counts apart from what a
// person did.
func TestWhatNoStepCouldHealSoonIsCountedApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		comes   time.Duration // the person who was told
		unaided int
	}{
		"the host is back before a person comes": {2 * time.Hour, 2},
		"a person comes as it is back":           {16 * time.Minute, 0},
	} {
		_, s := remembered(t, func(o *sim.Options) {
			sure(o)
			o.Operator, o.Boot, o.BootMost = c.comes, 50*time.Minute, 50*time.Minute
		}, "10m host h2 loses power for 8m")
		if s.Later != 2 || s.LaterUnaided != c.unaided {
			t.Errorf("%s: %d of %d unaided, want %d of 2", name, s.LaterUnaided, s.Later, c.unaided)
		}
	}
}

// The brake's hours are those that hale's own was on.
func TestHoursOfTheBrake(t *testing.T) {
	t.Parallel()
	_, s := remembered(t, sure, "10m operator puts the brake on", "2h operator takes the brake off")
	if s.BrakeHours != 0 {
		t.Errorf("a person's brake counts for %.2f h", s.BrakeHours)
	}
	_, s = remembered(t, sure, "10m web-1 hangs", "10m web-2 hangs", "10m web-3 hangs",
		"1h operator takes the brake off")
	if s.BrakeHours < 0.8 || s.BrakeHours > 0.84 {
		t.Errorf("it was on for %.2f h, and should have been for some 50 min", s.BrakeHours)
	}
}

// The night kinds are drawn, and what was drawn before them is drawn as it was.
func TestNightsAreDrawnBesideWhatWasDrawnBefore(t *testing.T) {
	t.Parallel()
	hosts := exemplar.Town(6, 5, 4)
	spec, few := script.Vary(exemplar.Fleet(5), hosts, 3)
	if !spec.Asks(policy.CheckAgent) || len(few) != 6 {
		t.Fatalf("seed 3 asks agents on six hosts, and here %v on %d", spec.Checks, len(few))
	}
	draw := func(kinds []script.Kind) []script.Event {
		return script.Forecast{Seed: 1, Kinds: kinds, Horizon: 100 * 24 * time.Hour}.Draw(spec, hosts, 1)
	}
	before, now := draw(script.FirstKinds()), draw(script.Kinds())
	drawn, left := map[script.Verb]bool{}, before
	for _, e := range now {
		drawn[e.Verb] = true
		if len(left) > 0 && left[0] == e {
			left = left[1:]
		}
	}
	if len(left) > 0 || len(now) < len(before)*5/4 {
		t.Errorf("%d of %d events are drawn otherwise than before, and %d now", len(left), len(before), len(now))
	}
	for _, v := range []script.Verb{verbs.IsCutOff, verbs.AgentSilent, verbs.AgentAnswers, script.Retries,
		script.Unbrakes, script.Releases} {
		if !drawn[v] {
			t.Errorf("%q is never drawn", v)
		}
	}
}

// Agents lie in both directions, and their machines serve all the same, or not.
func TestAgentsLie(t *testing.T) {
	t.Parallel()
	asks := func(o *sim.Options) {
		sure(o)
		o.Spec, _ = script.Vary(o.Spec, nil, 3)
	}
	_, s := remembered(t, asks, "10m web-2's agent falls silent for 1h")
	if s.Outages != 0 || s.Actions != 0 {
		t.Errorf("%d outages and %d acts by an agent alone", s.Outages, s.Actions)
	}
	_, s = remembered(t, asks, "10m web-2's agent answers in any state for 1h", "20m web-2 hangs")
	if s.CurableAlone != 1 {
		t.Errorf("a machine that hangs under an agent that answers is not healed: %+v", s.Measure)
	}
}
