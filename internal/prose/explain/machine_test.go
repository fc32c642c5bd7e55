package explain_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/core/tested"
	"hale/internal/owner/published"
	"hale/internal/prose/explain"
	"hale/internal/prose/words"
)

// scene is a fleet with one machine to tell about.
func scene() (published.Fleet, situation.View) {
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)}
	running := fleet.Instance{ID: "3f2a1b2c-9e5e", Power: fleet.PowerRunning, Address: netip.MustParseAddr("10.0.0.3")}
	v := situation.View{
		Machine: belief.Machine{
			Name: "web-2", Current: belief.Incarnation{ID: running.ID, Generation: 2, Certified: true},
			Health: belief.Health{Verdict: belief.VerdictHealthy, Since: now.Wall.Add(-time.Hour)},
		},
		Checks: []fleet.CheckState{
			{Check: "page", Standing: fleet.StandingUp, Since: now.Mono.Add(-time.Minute), Result: fleet.ResultOK},
			{Check: "ping", Standing: fleet.StandingUp, Since: now.Mono.Add(-time.Minute), Result: fleet.ResultOK},
		},
		Seen: []fleet.Sighting{{Instance: running, Asked: now.Mono}},
	}
	s := published.Fleet{
		State: situation.State{
			Spec:     policy.Spec{Name: "web", Provider: "lab", Size: 10, Limits: policy.Limits{InRepair: 1}},
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			Now:      now,
		},
		Tally: guard.Tally{Size: 10},
	}
	return s, v
}

func TestExplain(t *testing.T) {
	t.Parallel()
	const runs = "the provider says the instance is running at 10.0.0.3"
	for name, c := range map[string]struct {
		change func(s *published.Fleet, v *situation.View)
		want   explain.Answer
	}{
		"healthy": {
			change: func(*published.Fleet, *situation.View) {},
			want: explain.Answer{
				Because: []string{"check page is up for 1m00s", "check ping is up for 1m00s", runs},
				Now:     []string{"nothing to do"},
			},
		},
		"held by the brake": {
			change: func(s *published.Fleet, v *situation.View) {
				fail(v)
				v.Machine.Waiting = fleet.ReasonBrake
				s.Tally.Failing = 4
			},
			want: explain.Answer{
				Because: []string{"its checks are down", "check page is down for 12s: connection refused or reset (refused)", "check ping is up for 1m00s", runs},
				Now:     []string{"held: too many machines fail at once, so the brake is on (4 of 10 machines fail)"},
				Person:  []string{words.Advice(fleet.ReasonBrake)},
			},
		},
		"the old instance is fenced": {
			change: func(s *published.Fleet, v *situation.View) {
				fail(v)
				v.Machine.Repair = &belief.Repair{
					ID:      "web-2/r3",
					Kind:    belief.RepairHeal,
					Started: s.Now.Wall.Add(-4 * time.Second),
					Intent:  &belief.Intent{Op: fleet.OpPowerOff, Instance: v.Machine.Current.ID, Unknown: true},
					Climb:   belief.Climb{Step: fleet.StepRecreate, Stage: belief.Stage{Phase: belief.PhaseAct}},
				}
			},
			want: explain.Answer{
				Because: []string{"its checks are down", "check page is down for 12s: connection refused or reset (refused)", "check ping is up for 1m00s", runs},
				Now: []string{"repair web-2/r3, begun 4s ago, step recreate: acting; " +
					"it is not known yet whether power off of 3f2a1b2c… took effect"},
			},
		},
		"in quarantine": {
			change: func(s *published.Fleet, v *situation.View) {
				fail(v)
				v.Machine.Waiting = fleet.ReasonQuarantined
				v.Machine.Quarantine = &belief.Quarantine{Since: s.Now.Wall.Add(-5 * time.Minute), Reason: fleet.ReasonNameTaken}
			},
			want: explain.Answer{
				Because: []string{"its checks are down", "check page is down for 12s: connection refused or reset (refused)", "check ping is up for 1m00s", runs},
				Now:     []string{"in quarantine for 5m00s: another instance at the provider has the machine's name"},
				Person:  []string{"rename or remove the instance that has the name", "when it is mended: hale retry web-2"},
			},
		},
		"the provider is down and hale does not own the fleet": {
			change: func(s *published.Fleet, _ *situation.View) {
				s.Provider = fleet.ProviderState{Standing: fleet.ProviderDown, Detail: "refused"}
				s.Acting, s.Detail = fleet.ReasonNotOwner, "lease lost"
			},
			want: explain.Answer{
				Because: []string{"check page is up for 1m00s", "check ping is up for 1m00s", "provider lab does not answer (refused)"},
				Now:     []string{"held: this server does not own the fleet now (lease lost)"},
				Person:  []string{"see whether another hale server looks after it"},
			},
		},
		"left the fleet": {
			change: func(_ *published.Fleet, v *situation.View) {
				v.Machine = belief.Machine{Name: "web-99", Health: belief.Health{Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing}}
			},
			want: explain.Answer{Because: []string{"the fleet has no such machine now"}, Now: []string{"nothing to do"}},
		},
		"never built": {
			change: func(_ *published.Fleet, v *situation.View) {
				v.Machine = belief.Machine{Name: "web-2", Waiting: fleet.ReasonBuildBudget,
					Health: belief.Health{Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing}}
			},
			want: explain.Answer{
				Because: []string{"no instance of it was built yet"},
				Now:     []string{"held: as many first builds run as the fleet allows"},
				Person:  []string{"wait, or raise limits.in_build"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, v := scene()
			c.change(&s, &v)
			if diff := cmp.Diff(c.want, explain.Machine(s, v)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A brake that a person put on has nothing to do with how many machines fail, and does not release by itself.
func TestExplainABrakeThatAPersonPutOn(t *testing.T) {
	t.Parallel()
	s, v := scene()
	fail(&v)
	v.Machine.Waiting = fleet.ReasonBrake
	s.Brake = belief.Brake{By: "maria", Words: "disk swap", At: s.Now.Wall.Add(-2 * time.Hour)}
	got := explain.Machine(s, v)
	if diff := cmp.Diff([]string{"held: maria put the brake on (disk swap) 2h00m ago"}, got.Now); diff != "" {
		t.Error(diff)
	}
	out := "hale brake off web lets repairs begin again; nothing else does"
	if diff := cmp.Diff([]string{out}, got.Person); diff != "" {
		t.Error(diff)
	}
}

// That a protected machine is not healed at all weighs more than a budget or a brake, which pass.
func TestExplainAProtectedMachineFirst(t *testing.T) {
	t.Parallel()
	protected := "held: it is protected, so hale does not disrupt it"
	for _, waiting := range []fleet.Reason{fleet.ReasonBudget, fleet.ReasonBrake} {
		s, v := scene()
		fail(&v)
		v.Machine.Waiting, v.Machine.Incident = waiting, &belief.Incident{ID: "i1", Cause: belief.CauseChecks}
		s.Brake = belief.Brake{By: "maria", Words: "disk swap", At: s.Now.Wall.Add(-2 * time.Hour)}
		s.Spec.Repair.Steps = []policy.Step{{Kind: fleet.StepReboot}}
		if got := explain.Machine(s, v); len(got.Now) != 1 || got.Now[0] == protected {
			t.Errorf("unprotected, %s: %q", waiting, got.Now)
		}
		s.Spec.Protected = []int{2}
		if got := explain.Machine(s, v); len(got.Now) != 2 || got.Now[0] != protected {
			t.Errorf("protected, %s: %q", waiting, got.Now)
		}
	}
}

// fail takes the machine's page down.
func fail(v *situation.View) {
	v.Machine.Health.Verdict, v.Machine.Health.Cause, v.Machine.Health.Check = belief.VerdictUnhealthy, belief.CauseChecks, "page"
	v.Checks[0] = fleet.CheckState{
		Check:    "page",
		Standing: fleet.StandingDown,
		Since:    fleet.Instant(time.Hour - 12*time.Second),
		Result:   fleet.ResultRefused,
		Detail:   "refused",
	}
}

func TestExplainWhatMachinesSufferTogether(t *testing.T) {
	t.Parallel()
	evidence := []string{
		"its checks are down",
		"check page is down for 12s: connection refused or reset (refused)",
		"check ping is up for 1m00s",
		"the provider says the instance is running at 10.0.0.3",
	}
	for name, c := range map[string]struct {
		change func(s *published.Fleet, v *situation.View)
		want   explain.Answer
	}{
		"it shares a fate": {
			change: func(s *published.Fleet, v *situation.View) {
				fail(v)
				v.Machine.Waiting = fleet.ReasonSharedFate
				v.Machine.Incident = &belief.Incident{ID: "web-2/1", Parent: "web/p1"}
				s.Spec.SharedFate = policy.SharedFate{Then: policy.FateWait, Wait: 10 * time.Minute}
				s.Whole.Parents = []belief.Parent{{ID: "web/p1", Domain: fleet.Domain{Kind: fleet.DomainStorage, Name: "nas1"}, Opened: s.Now.Wall.Add(-time.Minute),
					Failing: 4, Members: 5, Chance: 0.001}}
			},
			want: explain.Answer{
				Because: evidence,
				Now: []string{"it shares the fate of storage nas1: incident web/p1, open for 1m00s: 4 of 5 machines on storage nas1 fail (1 in 1000 by chance)",
					"a person is paged in 9m00s if it lasts", "held: it failed together with others of its domain, so the common cause comes first"},
				Person: []string{words.Advice(fleet.ReasonSharedFate)},
			},
		},
		"hale is cut off": {
			change: func(s *published.Fleet, v *situation.View) {
				fail(v)
				v.Machine.Waiting = fleet.ReasonVantageIsolated
				s.Vantage = fleet.Vantage{Standing: fleet.VantageIsolated, Detail: "10.0.0.1: timeout"}
			},
			want: explain.Answer{
				Because: evidence,
				Now:     []string{"held: hale itself is cut off: no canary answers it (10.0.0.1: timeout)"},
				Person:  []string{words.Advice(fleet.ReasonVantageIsolated)},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, v := scene()
			c.change(&s, &v)
			if diff := cmp.Diff(c.want, explain.Machine(s, v)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestL08ACheckThatNeverSucceededIsExplained(t *testing.T) {
	t.Parallel()
	s, v := scene()
	v.Machine.Health = belief.Health{Verdict: belief.VerdictUnknown, Check: "page", Result: fleet.ResultUnproven}
	v.Checks[0].Standing, v.Checks[0].Result = fleet.StandingDown, fleet.ResultRefused
	s.Whole.Book = &tested.History{Checks: []tested.Check{
		{Name: "page", Definition: "b", Good: "a", Edited: true, Since: s.Now.Wall.Add(-time.Hour)}}}
	want := explain.Answer{
		Because: []string{
			"check page is down for 1m00s: connection refused or reset",
			"check page was edited at 02:00 UTC and has not succeeded since: its failures count for nothing until it does",
			"check ping is up for 1m00s",
			"the provider says the instance is running at 10.0.0.3",
		},
		Now: []string{
			"held: a check that fails has succeeded on no machine of the fleet since it was made or edited, " +
				"so it may be wrong itself",
		},
		Person: []string{"see whether the check asks the right thing, and edit it and reload; " +
			"as soon as it succeeds on one machine it counts"},
	}
	if diff := cmp.Diff(want, explain.Machine(s, v)); diff != "" {
		t.Error(diff)
	}
}

// What ends by itself says when, or what ends it.
func TestTimeLeftIsSaid(t *testing.T) {
	t.Parallel()
	policy := policy.Brake{AtLeast: 2, Percent: 20, ReleaseAfter: 30 * time.Second}
	for name, c := range map[string]struct {
		change func(s *published.Fleet)
		brake  string
		left   string
	}{
		"neither": {change: func(*published.Fleet) {}},
		"too many fail": {change: func(s *published.Fleet) { s.Brake.Engaged = true; s.Tally.Failing = 4 },
			brake: "it releases when no more than 1 of 10 machines fail for 30s, or no more than 2 and no " +
				"further one for 5m00s"},
		"two fail for a minute": {change: func(s *published.Fleet) {
			s.Brake = belief.Brake{Engaged: true, SteadySince: s.Now.Mono.Add(-time.Minute), Steady: 2}
			s.Tally.Failing = 2
		},
			brake: "it releases when no more than 1 of 10 machines fail for 30s, or in 4m00s if no further one " +
				"fails until then"},
		"of so few that none may fail": {change: func(s *published.Fleet) {
			s.Brake.Engaged, s.Tally.Size, s.Spec.Limits.Brake.AtLeast = true, 3, 1
		}, brake: "it releases when no machine fails for 30s, or no more than 1 and no further one for 5m00s"},
		"calm for 10s": {change: func(s *published.Fleet) {
			s.Brake = belief.Brake{Engaged: true, CalmSince: s.Now.Mono.Add(-10 * time.Second)}
		},
			brake: "it releases in 20s if no more than 1 of 10 machines fail until then"},
		"by hand": {change: func(s *published.Fleet) { s.Brake = belief.Brake{Engaged: true, By: "alice"} }},
		"a provider that was not asked": {change: func(s *published.Fleet) { s.Provider.Standing = fleet.ProviderUnknown },
			left: "until provider lab answers for the first time"},
		"after a doubt": {change: func(s *published.Fleet) {
			s.Whole.Doubt = belief.Doubt{Reason: fleet.ReasonVantageDoubtful,
				CalmSince: s.Now.Mono.Add(-10 * time.Second)}
		}, left: "for another 20s"},
	} {
		s, _ := scene()
		s.Spec.Limits.Brake = policy
		c.change(&s)
		if got := explain.BrakeEnds(s); got != c.brake {
			t.Errorf("%s: of the brake it says %q", name, got)
		}
		if got := explain.AmnestyLeft(s); got != c.left {
			t.Errorf("%s: of the amnesty it says %q", name, got)
		}
	}
}

// What holds a machine for a time says in its line how much of it is left.
func TestAHeldMachineSaysForHowLong(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(s *published.Fleet, v *situation.View){
		"held: too many machines fail at once, so the brake is on (1 of 10 machines fail: " +
			"it releases in 3m20s if no more than 1 of 10 machines fail until then)": func(s *published.Fleet,
			v *situation.View) {
			v.Machine.Waiting = fleet.ReasonBrake
			s.Spec.Limits.Brake = policy.Brake{AtLeast: 2, Percent: 20, ReleaseAfter: 5 * time.Minute}
			s.Tally.Failing = 1
			s.Brake = belief.Brake{Engaged: true, CalmSince: s.Now.Mono.Add(-100 * time.Second)}
		},
		"held: hale has only just begun to look, and judges everything afresh before it acts (for another 3m20s)": func(
			s *published.Fleet, v *situation.View,
		) {
			v.Machine.Waiting = fleet.ReasonAmnesty
			s.SteadyAt = s.Now.Mono.Add(200 * time.Second)
		},
		"held: a person, or a program other than hale, paused it, and that is no failure (a person is paged in 3m20s)": func(
			s *published.Fleet, v *situation.View,
		) {
			v.Machine.Waiting = fleet.ReasonPaused
			v.Machine.Incident = &belief.Incident{Cause: belief.CausePaused, HoldUntil: s.Now.Wall.Add(200 * time.Second)}
		},
	} {
		s, v := scene()
		fail(&v)
		change(&s, &v)
		if got := explain.Machine(s, v).Now; len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
