package decide_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// tells are the checks of chaos that only tell.
var tells = []policy.Check{{Name: "disk", Kind: policy.CheckExec, Every: time.Second, Timeout: 500 * time.Millisecond,
	DownAfter: 1, UpAfter: 1, Tells: true}}

func (c *chaos) stirTells(v *situation.View) {
	is := rapid.SampledFrom([]fleet.Standing{fleet.StandingUp, fleet.StandingDown, fleet.StandingDown,
		fleet.StandingUnknown}).Draw(c.t, "disk")
	if t := &v.Tells[0]; t.Standing != is {
		t.Standing, t.Since = is, c.s.Now.Mono
	}
}

// checkTells: whatever a check that only tells finds, everything but its warnings is decided as if there were no such
// check.
func (c *chaos) checkTells(d round.Decision) {
	without := c.s
	without.Spec.Tells, without.Open = nil, []int{} // the same machines are open
	without.Machines = slices.Clone(c.s.Machines)
	for i := range without.Machines {
		v := &without.Machines[i]
		if v.Open() {
			without.Open = append(without.Open, i)
		}
		v.Tells, v.Machine.Warned = nil, nil
	}
	mute := decide.Decide(without)
	mute.Whole.Opened = d.Whole.Opened // joint warnings have numbers, too
	if !reflect.DeepEqual(d.Brake, mute.Brake) || !d.Whole.Equal(mute.Whole) || !slices.Equal(d.Asks, mute.Asks) {
		c.t.Fatalf("a check that only tells changes the fleet:\n%+v\n%+v", d, mute)
	}
	decided := map[int]round.Decided{}
	for _, m := range mute.Machines {
		decided[m.Index] = m
	}
	for _, m := range d.Machines {
		m.Records = slices.DeleteFunc(slices.Clone(m.Records), func(r record.Record) bool {
			return r.Kind == record.Warning || r.Kind == record.WarningOver
		})
		m.Belief.Warned = nil
		quiet, ok := decided[m.Index]
		if !ok {
			quiet = round.Decided{Index: m.Index, Belief: without.Machines[m.Index].Machine}
		}
		if stored(c.t, m) != stored(c.t, quiet) {
			c.t.Fatalf("a check that only tells changes %s:\n%s\n%s", m.Belief.Name, stored(c.t, m), stored(c.t, quiet))
		}
	}
}

// warned are three healthy machines. The disk is nearly full on all of them for a moment.
func warned() situation.Situation {
	s := situation.Situation{
		State: situation.State{
			Now:      fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)},
			Spec:     spec(3),
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			SteadyAt: 1,
			Hosts:    []fleet.Host{{Name: "h1", Up: true}},
		},
		Installation: ours,
	}
	s.Spec.Tells = tells
	for n := 1; n <= 3; n++ {
		m := s.Spec.Name.Machine(n)
		id := fleet.InstanceID(m)
		s.Machines = append(s.Machines, situation.View{
			Machine: belief.Machine{
				Name: m, Generation: 1, Health: belief.Health{Verdict: belief.VerdictHealthy, Since: s.Now.Wall},
				Current: belief.Incarnation{ID: id, Generation: 1, Host: "h1", Certified: true},
			},
			Checks: []fleet.CheckState{{Check: "page", Standing: fleet.StandingUp}},
			Tells:  []fleet.CheckState{{Check: "disk", Standing: fleet.StandingDown, Since: s.Now.Mono}},
			Seen: []fleet.Sighting{{Asked: s.Now.Mono, Instance: fleet.Instance{
				ID: id, Host: "h1", Power: fleet.PowerRunning,
				Mark: fleet.Mark{Installation: ours, Fleet: "web", Machine: m, Generation: 1, Certified: true},
			}}},
		})
	}
	return s
}

// later lets time pass, decides, and returns what people are told.
func later(s *situation.Situation, d time.Duration) (told []record.Record) {
	s.Now.Mono, s.Now.Wall = s.Now.Mono.Add(d), s.Now.Wall.Add(d)
	for i := range s.Machines {
		s.Machines[i].Due = true // a check that stands otherwise is news
	}
	out := decide.Decide(*s)
	s.Whole, s.Brake, s.Open = out.Whole, out.Brake, nil
	told = out.Records
	for _, m := range out.Machines {
		s.Machines[m.Index].Machine = m.Belief
		told = append(told, m.Records...)
	}
	return slices.DeleteFunc(told, func(r record.Record) bool {
		_, message := r.Notifies()
		return !message
	})
}

// What has one cause is one warning, given when all machines had the time to show it.
func TestWarningsByOneCheckAreOneMessage(t *testing.T) {
	t.Parallel()
	s := warned()
	s.Machines[2].Tells[0].Standing = fleet.StandingUp
	later(&s, 0)
	if told := later(&s, policy.GatherWarnings-1); len(told) != 0 {
		t.Fatalf("told too early: %+v", told)
	}
	told := later(&s, 1)
	if len(told) != 1 || told[0].Kind != record.Warning || told[0].Failing != 2 || told[0].Check != "disk" {
		t.Fatalf("told %+v", told)
	}
	s.Machines[0].Tells[0].Standing = fleet.StandingUp
	if told := later(&s, time.Minute); len(told) != 0 {
		t.Errorf("the disk of web-2 is full still, and told is %+v", told)
	}
	s.Machines[1].Tells[0].Standing = fleet.StandingUp
	if told := later(&s, time.Minute); len(told) != 1 || told[0].Kind != record.WarningOver ||
		told[0].Joint != "web/j1" {
		t.Errorf("told %+v", told)
	}
}

// When a person is told of a machine, or holds it, its warning is not told as well.
func TestOnlyAMachineThatIsWellIsWarnedOf(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*situation.Situation){
		"it fails": func(s *situation.Situation) {
			for i := range s.Machines {
				s.Machines[i].Checks[0].Standing = fleet.StandingFailing
			}
		},
		"it is held": func(s *situation.Situation) {
			s.Whole.Holds = []belief.Hold{{By: "alice", Expiry: belief.ExpiryIn(time.Hour, s.Now)}}
		},
		"hale is cut off": func(s *situation.Situation) { s.Vantage.Standing = fleet.VantageIsolated },
		"its hours":       func(s *situation.Situation) { s.Spec.Tells = hushed },
		"old evidence": func(s *situation.Situation) {
			for i := range s.Machines {
				s.Machines[i].Epoch = 7
			}
		},
		"it is not down":    func(s *situation.Situation) { eachTell(s, fleet.StandingFailing) },
		"nothing is known":  func(s *situation.Situation) { eachTell(s, fleet.StandingUnknown) },
		"the check is gone": func(s *situation.Situation) { s.Spec.Tells = nil; eachTell(s, fleet.StandingUp) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := warned()
			change(&s)
			later(&s, time.Second)
			for _, r := range later(&s, time.Minute+policy.GatherWarnings) {
				if r.Kind == record.Warning {
					t.Errorf("told %+v", r)
				}
			}
		})
	}
}

// hushed says nothing at noon.
var hushed = []policy.Check{func() policy.Check {
	c := tells[0]
	c.NotEvery = []policy.Hours{{From: 11 * time.Hour, To: 14 * time.Hour, Zone: time.UTC}}
	return c
}()}

func eachTell(s *situation.Situation, is fleet.Standing) {
	for i := range s.Machines {
		s.Machines[i].Tells[0].Standing = is
	}
}

// A warning by a check that is not asked any more is taken back.
func TestAWarningEndsWithItsCheck(t *testing.T) {
	t.Parallel()
	s := warned()
	later(&s, 0)
	later(&s, policy.GatherWarnings)
	s.Spec.Tells = nil
	for i := range s.Machines {
		s.Machines[i].Tells = nil
	}
	told := later(&s, time.Minute)
	if len(told) != 1 || told[0].Kind != record.WarningOver || told[0].Reason != fleet.ReasonRemoved {
		t.Errorf("told %+v", told)
	}
}
