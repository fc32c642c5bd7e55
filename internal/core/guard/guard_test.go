package guard_test

import (
	"fmt"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

var braking = policy.Brake{AtLeast: 2, Percent: 20, ReleaseAfter: 30 * time.Second}

// The brake engages when more machines fail than max(2, floor(20 % x size)), and whenever all of three or more do.
func TestBrakeTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, engagesAt int }{
		{size: 1, engagesAt: 0}, // never: one machine is not a mass failure
		{size: 2, engagesAt: 0}, // never: two failing are not more than at_least
		{size: 3, engagesAt: 3},
		{size: 5, engagesAt: 3},
		{size: 10, engagesAt: 3},
		{size: 100, engagesAt: 21},
	} {
		t.Run(fmt.Sprintf("fleet of %d", c.size), func(t *testing.T) {
			t.Parallel()
			for failing := 0; failing <= c.size; failing++ {
				b := guard.StepBrake(belief.Brake{}, braking, 0, guard.Tally{Size: c.size, Failing: failing},
					now(time.Minute))
				want := c.engagesAt != 0 && failing >= c.engagesAt
				if b.Engaged != want {
					t.Errorf("%d of %d failing: engaged = %v, want %v", failing, c.size, b.Engaged, want)
				}
			}
		})
	}
}

func TestBrakeAlwaysEngagesWhenAllOfThreeOrMoreFail(t *testing.T) {
	t.Parallel()
	generous := policy.Brake{AtLeast: 50, Percent: 100}
	for size := 3; size <= 40; size++ {
		b := guard.StepBrake(belief.Brake{}, generous, 0, guard.Tally{Size: size, Failing: size}, now(time.Minute))
		if !b.Engaged {
			t.Errorf("all %d failing: the brake did not engage", size)
		}
	}
}

func TestBrakeReleasesOnlyAfterItStayedCalm(t *testing.T) {
	t.Parallel()
	const size = 10 // engages at 3, calm at 1
	step := func(b belief.Brake, failing int, at time.Duration) belief.Brake {
		return guard.StepBrake(b, braking, 0, guard.Tally{Size: size, Failing: failing}, now(at))
	}
	b := step(belief.Brake{}, 3, 0)
	b = step(b, 2, 10*time.Second)
	if !b.Engaged || b.CalmSince != 0 {
		t.Fatalf("2 failing is not calm yet: %+v", b)
	}
	b = step(b, 1, 20*time.Second)
	b = step(b, 2, 25*time.Second) // restless again: the time starts anew
	b = step(b, 1, 30*time.Second)
	if b = step(b, 1, 60*time.Second-time.Nanosecond); !b.Engaged {
		t.Fatal("released a nanosecond too early")
	}
	if b = step(b, 1, 60*time.Second); b.Engaged {
		t.Fatal("not released when due")
	}
}

// Three of eight fail, and then two for good: above half of the limit, so that it never is calm. When no further
// machine has failed for ten times as long, they are repaired as two would be that failed without a brake.
func TestL06BrakeReleasesWhenNoFurtherMachineFailsForLong(t *testing.T) {
	t.Parallel()
	settle := time.Duration(0)
	swap := false // one is healed and another fails at once, so that as many fail
	step := func(b belief.Brake, failing int, at time.Duration) belief.Brake {
		return guard.StepBrake(b, braking, settle, guard.Tally{Size: 8, Failing: failing, Rose: swap}, now(at))
	}
	engaged := step(step(belief.Brake{}, 3, 0), 2, time.Minute)
	at := time.Minute + 10*braking.ReleaseAfter
	for name, c := range map[string]struct {
		between []int // how many fail meanwhile, a minute apart
		swap    bool
		want    bool // it is on when the time is over
	}{
		"no further one fails":               {nil, false, false},
		"a further one fails":                {[]int{3, 2}, false, true},
		"one is healed, and another one":     {[]int{1, 2}, false, true},
		"one is healed as another one fails": {[]int{2}, true, true},
	} {
		b := engaged
		swap = c.swap
		for i, failing := range c.between {
			b = step(b, failing, time.Duration(i+2)*time.Minute)
		}
		swap = false
		if b = step(b, 2, at-time.Nanosecond); !b.Engaged {
			t.Errorf("%s: released a nanosecond too early", name)
		}
		if b = step(b, 2, at); b.Engaged != c.want {
			t.Errorf("%s: engaged is %v when the time is over", name, b.Engaged)
		}
	}
	if b := step(step(engaged, 3, at-time.Second), 3, time.Hour); !b.Engaged {
		t.Error("released while more fail than may")
	}
	settle = 30 * time.Minute
	if b := step(engaged, 2, 31*time.Minute-1); !b.Engaged {
		t.Error("released before the checks could tell of another one")
	}
}

func now(d time.Duration) fleet.Now {
	return fleet.Now{Mono: fleet.Instant(time.Hour).Add(d), Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(d)}
}

// quiet is a situation in which nothing holds a repair back.
func quiet() guard.Situation {
	return guard.Situation{
		State: situation.State{
			Spec: policy.Spec{
				Name: "web", Size: 10, Mode: policy.ModeAct,
				Checks: []policy.Check{{Name: "page", Every: time.Second, Timeout: 500 * time.Millisecond, DownAfter: 3}},
				Limits: policy.Limits{InRepair: 1, InBuild: 3, Brake: braking},
				Repair: policy.Repair{OnExternalStop: policy.ExternalStopHoldThenPage},
			},
			Now:      now(0),
			SteadyAt: 1,
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			Hosts:    []fleet.Host{{Name: "h1", Up: true}, {Name: "h2", Up: true}},
		},
		Tally: guard.Tally{Size: 10, Failing: 1},
	}
}

func sick() belief.Machine {
	return belief.Machine{
		Name: "web-2", Generation: 1, Current: belief.Incarnation{ID: "a", Generation: 1, Host: "h1", Certified: true},
		Health:   belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks, SinceMono: now(0).Mono},
		Incident: &belief.Incident{ID: "web-2/1", Cause: belief.CauseChecks},
	}
}

func shownTwice(_ *belief.Machine, s *guard.Situation) {
	s.View = &situation.View{Seen: []fleet.Sighting{{Instance: fleet.Instance{ID: "a", Host: "h1", Also: "h2"}}}}
}

func TestWhatHoldsARepair(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(*belief.Machine, *guard.Situation)
		reason fleet.Reason
	}{
		"nothing": {spoil: func(*belief.Machine, *guard.Situation) {}, reason: ""},
		"quarantine": {reason: fleet.ReasonQuarantined, spoil: func(m *belief.Machine, _ *guard.Situation) {
			m.Quarantine = &belief.Quarantine{}
		}},
		"unknown is not dead": {reason: fleet.ReasonBlind, spoil: func(m *belief.Machine, _ *guard.Situation) {
			m.Health.Verdict = belief.VerdictUnknown
		}},
		"a stop by a person": {reason: fleet.ReasonStoppedByPerson, spoil: func(m *belief.Machine, _ *guard.Situation) {
			m.Health.Cause = belief.CauseStopped
		}},
		"a pause": {reason: fleet.ReasonPaused, spoil: func(m *belief.Machine, _ *guard.Situation) {
			m.Health.Cause = belief.CausePaused
		}},
		"observe mode": {reason: fleet.ReasonObserve, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Spec.Mode = policy.ModeObserve
		}},
		"a full store": {reason: fleet.ReasonStoreFull, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Acting = fleet.ReasonStoreFull
		}},
		"beyond the desired size": {reason: fleet.ReasonSurplus, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Spec.Size = 1
		}},
		"provider down": {reason: fleet.ReasonProviderDown, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Provider.Standing = fleet.ProviderDown
		}},
		"provider doubtful": {reason: fleet.ReasonProviderDoubtful, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Provider.Standing = fleet.ProviderDoubtful
		}},
		"its host down": {reason: fleet.ReasonHostDown, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Hosts[0].Up = false
		}},
		"two hosts show it": {reason: fleet.ReasonTwoHosts, spoil: shownTwice},
		"a silent host may have it": {reason: fleet.ReasonHostUnasked,
			spoil: func(_ *belief.Machine, s *guard.Situation) {
				s.Silent = []fleet.Silence{{Host: "h2"}}
			}},
		"amnesty": {reason: fleet.ReasonAmnesty, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.SteadyAt = s.Now.Mono + 1
		}},
		"the brake": {reason: fleet.ReasonBrake, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Brake.Engaged = true
		}},
		"suspects that may engage the brake": {reason: fleet.ReasonUnclear, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Tally.Suspect = 2
		}},
		"suspects that had their time": {reason: "", spoil: func(m *belief.Machine, s *guard.Situation) {
			s.Tally.Suspect = 2
			m.Health.SinceMono = s.Now.Mono.Add(-guard.SettleTime(s.Spec))
		}},
		"a provider not asked yet": {reason: fleet.ReasonAmnesty, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Provider.Standing = fleet.ProviderUnknown
		}},
		"backoff": {reason: fleet.ReasonBackoff, spoil: func(m *belief.Machine, s *guard.Situation) {
			m.RetryAt = s.Now.Mono + 1
		}},
		"backoff that is over": {reason: "", spoil: func(m *belief.Machine, s *guard.Situation) {
			m.RetryAt = s.Now.Mono
		}},
		"a vantage that is cut off": {reason: fleet.ReasonVantageIsolated, spoil: func(m *belief.Machine, s *guard.Situation) {
			s.Whole.Doubt.Reason, m.Health.Verdict = fleet.ReasonVantageIsolated, belief.VerdictUnknown
		}},
		"a doubt that calmed down": {reason: fleet.ReasonAmnesty, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Whole.Doubt.Reason, s.Whole.Doubt.CalmSince = fleet.ReasonVantageDoubtful, 1
		}},
		"canaries that say nothing": {reason: fleet.ReasonVantageDoubtful, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Vantage.Standing = fleet.VantageUnknown
		}},
		"canaries that say nothing of one that is off": {reason: "", spoil: func(m *belief.Machine, s *guard.Situation) {
			s.Vantage.Standing, m.Health.Cause = fleet.VantageUnknown, belief.CauseOff
		}},
		"suspects that may share its fate": {reason: fleet.ReasonUnclear, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Fated = true
		}},
		"suspects that may share the fate of one that is off": {reason: "", spoil: func(m *belief.Machine, s *guard.Situation) {
			s.Fated, m.Health.Cause = true, belief.CauseOff
		}},
		"suspects that shared no fate in time": {reason: "", spoil: func(m *belief.Machine, s *guard.Situation) {
			s.Fated = true
			m.Health.SinceMono = s.Now.Mono.Add(-guard.SettleTime(s.Spec))
		}},
		"the budget": {reason: fleet.ReasonBudget, spoil: func(_ *belief.Machine, s *guard.Situation) {
			s.Tally.InRepair = 1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := sick(), quiet()
			c.spoil(&m, &s)
			if got := guard.NewRepair(&m, &s, fleet.StepReboot); got != c.reason {
				t.Errorf("held for %q, want %q", got, c.reason)
			}
		})
	}
}

// L4: the machine failed long ago, and waited for a place. Others come under suspicion when its rung looks at it. The
// call waits until their checks had the time to decide, counted from the look, and no longer (L8).
func TestL04SuspectsHoldTheCallAfterALook(t *testing.T) {
	t.Parallel()
	m, s := sick(), quiet()
	m.Health.SinceMono = 1
	m.Repair = &belief.Repair{Kind: belief.RepairHeal}
	m.Repair.Stage = belief.Stage{Phase: belief.PhaseLook, Since: s.Now.Mono}
	s.Tally.Suspect = 2
	for over, want := range map[time.Duration]fleet.Reason{
		guard.SettleTime(s.Spec) - 1: fleet.ReasonUnclear,
		guard.SettleTime(s.Spec):     "",
	} {
		later := s
		later.Now.Mono = s.Now.Mono.Add(over)
		if got := guard.AnyRung(&m, &later); got != want {
			t.Errorf("%v after the look began it is held for %q, want %q", over, got, want)
		}
	}
}

// What failed as often as the policy repairs a machine is a person's business, unless it shares its fate with others.
func TestAMachineThatHadAllItsRepairs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first  time.Duration // before now
		parent string
		reason fleet.Reason
	}{
		"all within the window":        {first: time.Minute - 1, reason: fleet.ReasonAttempts},
		"the first of them is too old": {first: time.Minute, reason: ""},
		"under a parent":               {first: time.Second, parent: "web/p1", reason: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := sick(), quiet()
			s.Spec.Repair.Attempts, s.Spec.Repair.AttemptsIn = 2, time.Minute
			s.Whole.Parents = []belief.Parent{{ID: "web/p1"}}
			m.Attempts, m.Incident.Parent = []fleet.Instant{s.Now.Mono.Add(-c.first), s.Now.Mono.Add(-time.Second)}, c.parent
			if got := guard.NewRepair(&m, &s, fleet.StepReboot); got != c.reason {
				t.Errorf("held by %q, want %q", got, c.reason)
			}
		})
	}
}

// A dead build counts for nothing until it is in repair: it waits where that would be one failure more than the brake
// allows.
func TestL06ADeadBuildWaitsForTheBrake(t *testing.T) {
	t.Parallel()
	m, s := sick(), quiet()
	m.Health.Verdict, m.Current.Expired, m.Health.SinceMono = belief.VerdictUnknown, true, 1
	s.Tally.Failing = guard.BrakeLimit(s.Spec.Limits.Brake, s.Tally.Size)
	if got := guard.NewRepair(&m, &s, fleet.StepReboot); got != fleet.ReasonUnclear {
		t.Errorf("held for %q", got)
	}
	s.Tally.Failing--
	if got := guard.NewRepair(&m, &s, fleet.StepReboot); got != "" {
		t.Errorf("with one failure less it is held for %q", got)
	}
}

// A machine that comes to fail is told from one that fails still, whatever else is healed meanwhile.
func TestTheTallyFollowsWhoComesToFail(t *testing.T) {
	t.Parallel()
	spec := policy.Spec{Name: "web", Size: 8}
	well := belief.Machine{Name: "web-1", Health: belief.Health{Verdict: belief.VerdictHealthy}}
	fails := belief.Machine{Name: "web-1", Health: belief.Health{Verdict: belief.VerdictUnhealthy,
		Cause: belief.CauseChecks}}
	for name, c := range map[string]struct {
		was, is belief.Machine
		rose    bool
	}{
		"it comes to fail": {well, fails, true}, "it fails still": {fails, fails, false},
		"it is healed": {fails, well, false},
	} {
		var tally guard.Tally
		if tally.Follow(&c.was, &c.is, &spec); tally.Rose != c.rose {
			t.Errorf("%s: it rose: %v", name, tally.Rose)
		}
	}
}
