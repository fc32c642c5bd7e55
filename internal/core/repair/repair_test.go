package repair_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/repair"
	"hale/internal/core/situation"
)

// L2: only what bears our mark, was never certified, and is neither current nor being built may be taken for a remnant.
func TestWhatARemnantIs(t *testing.T) {
	t.Parallel()
	m := belief.Machine{Name: "web-1", Generation: 3, Current: belief.Incarnation{ID: "current", Generation: 2,
		Certified: true}, Repair: &belief.Repair{Climb: belief.Climb{Next: belief.Incarnation{ID: "next",
		Generation: 3}}}}
	remnant := fleet.Instance{ID: "left", Mark: fleet.Mark{Installation: "ours", Fleet: "web", Machine: "web-1",
		Generation: 1}}
	if !chart.IsRemnant(m, remnant, "ours") {
		t.Fatal("a remnant was not recognised")
	}
	for name, spoil := range map[string]func(*fleet.Instance){
		"certified":                func(i *fleet.Instance) { i.Mark.Certified = true },
		"another installation's":   func(i *fleet.Instance) { i.Mark.Installation = "theirs" },
		"another machine's":        func(i *fleet.Instance) { i.Mark.Machine = "web-2" },
		"of an unknown generation": func(i *fleet.Instance) { i.Mark.Generation = 4 },
		"the current one":          func(i *fleet.Instance) { i.ID = "current" },
		"the one being built":      func(i *fleet.Instance) { i.ID = "next" },
		"without a mark":           func(i *fleet.Instance) { i.Mark = fleet.Mark{} },
	} {
		i := remnant
		spoil(&i)
		if chart.IsRemnant(m, i, "ours") {
			t.Errorf("%s: taken for a remnant", name)
		}
	}
	if chart.IsRemnant(m, fleet.Instance{ID: "left", Mark: fleet.Mark{Machine: "web-1", Generation: 1}}, "") {
		t.Error("without an installation everything unmarked would be a remnant")
	}
}

func TestWhichStepFitsTheCause(t *testing.T) {
	t.Parallel()
	spec := policy.Spec{Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepStart}, {Kind: fleet.StepReboot},
		{Kind: fleet.StepRecreate}}}}
	current := belief.Incarnation{ID: "a", Generation: 1, Certified: true}
	for cause, want := range map[belief.Cause]fleet.StepKind{
		belief.CauseOff: fleet.StepStart, belief.CauseCrashed: fleet.StepStart, belief.CauseStopped: fleet.StepStart,
		belief.CauseChecks: fleet.StepReboot, belief.CauseError: fleet.StepReboot, belief.CausePanic: fleet.StepReboot,
		belief.CauseGone: fleet.StepRecreate,
	} {
		m := belief.Machine{Name: "web-1", Current: current, Health: belief.Health{Cause: cause}}
		if got, ok := ladder.FirstStep(&m, &guard.Situation{State: situation.State{Spec: spec}}); !ok || got != want {
			t.Errorf("%s: %s, want %s", cause, got, want)
		}
	}
	kept := spec
	kept.Template.Disks = []policy.Disk{{Name: "root"}}
	gone := belief.Machine{Name: "web-1", Current: current, Health: belief.Health{Cause: belief.CauseGone}}
	if _, ok := ladder.FirstStep(&gone, &guard.Situation{State: situation.State{Spec: kept}}); ok {
		t.Error("a recreate would lose a kept disk")
	}
}

// Heartbeats with a token that all machines share can be another machine's word: they let a machine be reset, and
// destroy nothing alone.
func TestSharedHeartbeatsDestroyNothingAlone(t *testing.T) {
	t.Parallel()
	const down, failing, up = fleet.StandingDown, fleet.StandingFailing, fleet.StandingUp
	for name, c := range map[string]struct {
		beat, page fleet.Standing
		perMachine bool
		cause      belief.Cause
		want       fleet.StepKind
	}{
		"the shared heartbeat alone":    {down, up, false, belief.CauseChecks, fleet.StepPage},
		"and what is not known":         {down, fleet.StandingUnknown, false, belief.CauseChecks, fleet.StepPage},
		"another check, too":            {down, down, false, belief.CauseChecks, fleet.StepRecreate},
		"another check begins to fail":  {down, failing, false, belief.CauseChecks, fleet.StepRecreate},
		"a token of its own":            {down, up, true, belief.CauseChecks, fleet.StepRecreate},
		"another check alone":           {up, down, false, belief.CauseChecks, fleet.StepRecreate},
		"it has to leave its host":      {up, up, false, belief.CauseDisabled, fleet.StepRecreate},
		"the provider's word beside it": {down, up, false, belief.CauseCrashed, fleet.StepRecreate},
	} {
		m := belief.Machine{Name: "web-1", Current: belief.Incarnation{ID: "a", Generation: 1, Certified: true},
			Health: belief.Health{Cause: c.cause}}
		view := &situation.View{Machine: m, Checks: []fleet.CheckState{{Check: "beat", Standing: c.beat},
			{Check: "page", Standing: c.page}}}
		s := &guard.Situation{
			State: situation.State{
				Spec: policy.Spec{
					Checks: []policy.Check{
						{Name: "beat", Kind: policy.CheckHeartbeat,
							Heartbeat: policy.HeartbeatCheck{PerMachine: c.perMachine}},
						{Name: "page", Kind: policy.CheckHTTP},
					},
					Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepRecreate}, {Kind: fleet.StepPage}}},
				},
			},
			View: view,
		}
		if got, _ := ladder.FirstStep(&m, s); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		s.Spec.Repair.Steps = []policy.Step{{Kind: fleet.StepReboot}}
		if got, _ := ladder.FirstStep(&m, s); c.cause == belief.CauseChecks && got != fleet.StepReboot {
			t.Errorf("%s: it may not be reset: %s", name, got)
		}
	}
}

// A command waits for the provider after its look, and meanwhile what it is to be told was taken off the instance: it
// is not sent with something else in its place.
func TestACommandIsSentWithWhatIsKnownOnly(t *testing.T) {
	t.Parallel()
	for bears, why := range map[fleet.Metadata]fleet.Reason{"role=db\n": "", "": fleet.ReasonNoMetadata,
		"role=-oProxyCommand=x\n": fleet.ReasonUnfit} {
		sent := why == ""
		step := policy.Step{Kind: fleet.StepRun, Run: policy.Command{Args: []string{"apply", "{meta.role}", "{host}"}}}
		m := belief.Machine{
			Name: "web-1", Current: belief.Incarnation{ID: "a", Host: "h1", Generation: 1, Certified: true},
			Incident: &belief.Incident{ID: "web-1/1"},
			Health:   belief.Health{Verdict: belief.VerdictSuspect, Cause: belief.CauseChecks},
		}
		m.Repair = &belief.Repair{
			ID:   "web-1/r1",
			Kind: belief.RepairHeal,
			Climb: belief.Climb{
				Step:  fleet.StepRun,
				Aim:   belief.Aim{Target: m.Current, Finding: belief.Finding{Confirmed: true}},
				Stage: belief.Stage{Phase: belief.PhaseAct},
			},
		}
		view := &situation.View{Machine: m, Seen: []fleet.Sighting{{Asked: 1, Instance: fleet.Instance{ID: "a",
			Power: fleet.PowerRunning, Metadata: bears}}}}
		w := repair.Work{Chart: chart.Chart{M: &m, View: view, Situation: &guard.Situation{
			State: situation.State{
				Spec:     policy.Spec{Repair: policy.Repair{Steps: []policy.Step{step, {Kind: fleet.StepPage}}}},
				Now:      fleet.Now{Mono: 10},
				Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			},
			View: view,
		}}}
		w.Advance()
		var args []string
		for _, a := range w.Actions {
			args = append(args, a.Args...)
		}
		if (strings.Join(args, " ") == "apply db h1") != sent || !sent && len(args) > 0 {
			t.Errorf("bearing %q it is sent as %q", bears, args)
		}
		if r := w.Records[0]; !sent && (r.Reason != why || r.Detail != "{meta.role}") {
			t.Errorf("it is not said: %+v", r)
		}
	}
}

// While the place of hale's starts at the provider is silent, another hale could be at work on a copy of this one's
// store: nothing is built or destroyed, and the look that was taken until then is not kept for later. To set a machine
// going again doubles nothing.
func TestASilentPlaceOfStartsHoldsWhatBuilds(t *testing.T) {
	t.Parallel()
	for step, want := range map[fleet.StepKind]string{
		fleet.StepReboot:   "look confirmed; CALL reboot old; act",
		fleet.StepRecreate: "held place-silent; look",
	} {
		st := looked(t, step, belief.CauseChecks)
		st.s.Roll.Silent = "the provider takes no note"
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.want(string(step), st.round(), want)
	}
}

// A first build has no incident and no look: it is ordered where there is room, verified and certified, and that counts
// for no attempt.
func TestAFirstBuild(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot])
	st.m = belief.Machine{Name: "web-1", Waiting: fleet.ReasonBuildBudget, RetryAt: hour,
		Health: belief.Health{Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing}}
	st.want("it begins", st.play(func(w *work) { w.Begin(belief.RepairBuild) }),
		"repair-started build; CALL create new; act")
	if in := st.action().Intent; in.Generation != 1 || in.Limit != policy.BuildCallLimit ||
		st.m.Repair.ID != "web-1/r1" ||
		len(st.m.Attempts) != 1 {
		t.Errorf("it is ordered as %+v, in %s", in, st.m.Repair.ID)
	}
	st.ends(fleet.OutcomeDone)
	st.want("it is there", st.round(), "verify")
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.want("it is well", st.round(), "verified; CALL certify new; certify")
	st.ends(fleet.OutcomeDone)
	st.want("its mark says so", st.round(), "certified; repair-ended built; over")
	if len(st.m.Attempts) != 0 || !st.m.Current.Certified {
		t.Errorf("a build that went well is a sign of trouble: %+v", st.m)
	}
}

// A first build that fails opens the machine's incident: from then on it is healed as any other.
func TestAFirstBuildThatFails(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot])
	st.m = belief.Machine{Name: "web-1", Health: belief.Health{Verdict: belief.VerdictUnknown,
		Cause: belief.CauseMissing}}
	st.play(func(w *work) { w.Begin(belief.RepairBuild) })
	st.ends(fleet.OutcomeDone)
	st.round()
	st.m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
	st.s.Now.Mono = st.m.Repair.Deadline
	st.want("its time is over", st.round(), "step-failed not-verified; repair-ended not-verified; over, again in 500ms")
	if i := st.m.Incident; i == nil || i.Cause != belief.CauseBuild || i.Failed != 1 ||
		i.Last != (belief.Failure{Why: fleet.ReasonNotVerified, Detail: "unhealthy"}) || !st.m.Current.Expired {
		t.Errorf("it is not to be built anew: %+v", st.m)
	}
}

// L12: hale dies in a first build before its order, and under it. There is nothing to look at, so that it goes on.
func TestL12AFirstBuildGoesOn(t *testing.T) {
	t.Parallel()
	for before, want := range map[bool]string{true: "CALL create new; act", false: "ASK new; act"} {
		st := newStage(t, steps[fleet.StepReboot])
		st.m = belief.Machine{Name: "web-1", Health: belief.Health{Verdict: belief.VerdictUnknown,
			Cause: belief.CauseMissing}}
		if before {
			st.s.Hosts = nil
		}
		st.play(func(w *work) { w.Begin(belief.RepairBuild) })
		st.s.Hosts = []fleet.Host{host("h1", "")}
		st.restarts()
		st.want("hale died", st.round(), want)
	}
}

// While hale waits for a machine to be healthy, not every failure is one of the step: the host took it along, hale
// could not see, or no other step could be taken.
func TestWhatIsNoFailureOfTheStep(t *testing.T) {
	t.Parallel()
	late := func(st *stage) { st.s.Now.Mono = st.m.Repair.Deadline }
	off := func(st *stage) {
		st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseOff
		st.seen(marked("old", "h1", fleet.PowerOff, 1))
	}
	dark := func(st *stage) {
		st.s.Hosts[0].Up = false
		st.round()
		st.s.Hosts[0].Up = true
	}
	for name, c := range map[string]struct {
		set  []func(*stage)
		want string
	}{
		"it was turned off": {[]func(*stage){off}, "step-failed not-verified; then page; LOOK; look"},
		"it was off when the call ended": {[]func(*stage){off, func(st *stage) {
			st.view.Seen[0].Asked = st.m.Repair.LastOutcome
		}}, "verify"},
		"its host took it along": {[]func(*stage){dark, off}, "then start; LOOK; look"},
		"its provider was away": {[]func(*stage){func(st *stage) {
			st.s.Provider.Standing = fleet.ProviderDown
			st.round()
			st.s.Provider.Standing = fleet.ProviderUp
		}, off}, "then start; LOOK; look"},
		"its host is away still": {[]func(*stage){off, func(st *stage) { st.s.Hosts[0].Up = false }},
			"step-failed not-verified; then page; repair-ended host-down; held host-down; over, again in 5s"},
		"its host is back, and it crashed": {[]func(*stage){dark, off,
			func(st *stage) { st.m.Health.Cause = belief.CauseCrashed }},
			"step-failed not-verified; then page; LOOK; look"},
		"and it never was whole": {[]func(*stage){dark, off, func(st *stage) { st.m.Current.Certified = false }},
			"step-failed not-verified; then page; LOOK; look"},
		"hale cannot see": {[]func(*stage){late,
			func(st *stage) { st.s.Whole.Doubt.Reason = fleet.ReasonVantageIsolated }},
			"held vantage-isolated; verify"},
		"its provider does not answer": {[]func(*stage){late,
			func(st *stage) { st.s.Provider.Standing = fleet.ProviderDown }},
			"held provider-down; verify"},
	} {
		st := verifying(t, fleet.StepReboot, true)
		st.s.Spec.Repair.Steps = []policy.Step{steps[fleet.StepReboot], steps[fleet.StepPage],
			steps[fleet.StepStart]}
		if strings.Contains(c.want, "then start") {
			st.s.Spec.Repair.Steps = []policy.Step{steps[fleet.StepStart], steps[fleet.StepReboot]}
			st.m.Repair.Rung = 1
		}
		for _, set := range c.set {
			set(st)
		}
		st.want(name, st.round(), c.want)
	}
}

// A repair that ends takes what a person wanted with it: that was done, or tried. What they want back is still to be
// done.
func TestWhatAPersonWantedIsDone(t *testing.T) {
	t.Parallel()
	for undo, stays := range map[bool]bool{false: false, true: true} {
		for _, end := range []func(*stage){
			func(st *stage) { st.play((*work).Overrule) },
			func(st *stage) { st.play(func(w *work) { w.LeaveToPerson(fleet.ReasonAttempts) }) },
			func(st *stage) {
				st.m.Health, st.m.Repair.Phase = belief.Health{Verdict: belief.VerdictHealthy}, belief.PhaseVerify
				st.round()
			},
		} {
			st := looked(t, fleet.StepReboot, belief.CauseChecks)
			st.m.Wanted = &belief.Wanted{Order: "o1", Undo: undo, Until: st.s.Now.Wall.Add(time.Hour)}
			end(st)
			if got := st.m.Wanted != nil; got != stays || st.m.Repair != nil {
				t.Errorf("an undo %t: wanted still %t", undo, got)
			}
		}
	}
}

// The end of an incident says how long it took, by which step, and whether a person was told of it; nothing of it is
// left.
func TestTheEndOfAnIncident(t *testing.T) {
	t.Parallel()
	st := verifying(t, fleet.StepReboot, true)
	st.m.Incident.Told, st.m.Incident.Joint = st.s.Now.Wall, "web/j1"
	st.m.Spurned, st.m.Waiting, st.m.RetryAt = []fleet.HostName{"h2"}, fleet.ReasonBudget, hour
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.pass(90 * time.Second)
	st.want("it is well", st.round(), "verified; repair-ended healed; incident-closed healed; over")
	got := st.record(record.IncidentClosed)
	if got.Took != 90*time.Second || got.Step != fleet.StepReboot || !got.Paged || got.Joint != "web/j1" ||
		got.Incident != "web-1/1" || got.Cause != belief.CauseChecks {
		t.Errorf("it is said %+v", got)
	}
	if v := st.record(record.Verified); v.Took != 90*time.Second || v.Step != fleet.StepReboot {
		t.Errorf("the step is said to have taken %v: %+v", v.Took, v)
	}
	if st.m.Incident != nil || st.m.Spurned != nil || st.m.Waiting != "" || st.m.RetryAt != 0 {
		t.Errorf("something is left of it: %+v", st.m)
	}
}

// A repair that begins says why, and what speaks for it beside the checks.
func TestTheBeginOfARepair(t *testing.T) {
	t.Parallel()
	for still, want := range map[bool]string{true: "stands-still", false: ""} {
		st := newStage(t, steps[fleet.StepReboot])
		st.m.Waiting, st.m.RetryAt = fleet.ReasonBackoff, hour
		st.s.Spec.Repair.Silence, st.view.Checks[0].Result = "", fleet.ResultTimeout
		if still {
			st.s.Still = []fleet.InstanceID{"old"}
		}
		st.begin()
		got := st.record(record.RepairStarted)
		if got.Detail != want || got.Cause != belief.CauseChecks {
			t.Errorf("its processors stand still %t, and it is said %+v", still, got)
		}
	}
	st := newStage(t, steps[fleet.StepReboot])
	st.m.Attempts = []fleet.Instant{1, hour - 1}
	st.pass(time.Minute)
	st.begin()
	if got := st.m.Attempts; len(got) != 2 || got[1] != st.s.Now.Mono {
		t.Errorf("what is older than the policy's time counts, or this does not: %v", got)
	}
}

// Nothing is done to a machine that two hosts show, whatever was begun.
func TestL1WhatIsOnTwoHostsIsNotTouched(t *testing.T) {
	t.Parallel()
	for _, phase := range []belief.Phase{belief.PhaseAct, belief.PhaseCertify} {
		st := newStage(t, steps[fleet.StepReboot])
		r := st.healing(fleet.StepReboot)
		r.Phase = phase
		st.m.Repair = &r
		st.view.Seen = []fleet.Sighting{{Asked: 1, Instance: fleet.Instance{ID: "old", Host: "h1", Also: "h2"}}}
		st.want(string(phase), st.round(), "held two-hosts; "+string(phase))
	}
}

// A build in vain tries another host at once, the first time and if there is one; then it has to wait as long as after
// any attempt.
func TestABuildInVainGoesElsewhereAtOnce(t *testing.T) {
	t.Parallel()
	const atOnce, later = "repair-ended call-failed; over, again in 500ms",
		"repair-ended call-failed; held backoff; over, again in 5s"
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"the first time":            {func(*stage) {}, atOnce},
		"the second time":           {func(st *stage) { st.m.Spurned = []fleet.HostName{"h1"} }, later},
		"on that host again":        {func(st *stage) { st.m.Spurned = []fleet.HostName{"h2"} }, later},
		"there is no other":         {func(st *stage) { st.s.Hosts = st.s.Hosts[1:] }, later},
		"the other does not answer": {func(st *stage) { st.s.Hosts[0].Up = false }, later},
		"the provider chooses hosts": {func(st *stage) {
			st.s.Hosts = []fleet.Host{{Name: "cloud", Up: true,
				Closed: true}}
		}, atOnce},
		"it may appear yet": {func(st *stage) {
			st.m.Anchor = &belief.Anchor{Host: "h2", Until: hour + 1}
		}, later},
		"a first build": {func(st *stage) {
			st.m.Repair.Kind, st.m.Incident = belief.RepairBuild, nil
			st.m.Repair.Aim = belief.AimAt(belief.Incarnation{})
		}, atOnce},
	} {
		st := calling[fleet.OpCreate](t)
		c.set(st)
		st.ends(fleet.OutcomeFailed)
		st.want(name, st.round(), c.want)
		if !slices.Contains(st.m.Spurned, "h2") {
			t.Errorf("%s: h2 is as good as any: %v", name, st.m.Spurned)
		}
	}
}

// Only what a build itself shows speaks against its host: it failed there, or what was built there never was healthy.
func TestWhatSpeaksAgainstAHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage) string
		want bool
	}{
		"the build fails": {func(st *stage) string {
			st.ends(fleet.OutcomeFailed)
			return st.round()
		}, true},
		"the name is taken": {func(st *stage) string {
			st.ends(fleet.OutcomeConflict)
			return st.round()
		}, false},
		"what it built is never healthy": {func(st *stage) string {
			st.ends(fleet.OutcomeDone)
			st.round()
			st.m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
			st.due()
			st.s.Now.Mono = st.m.Repair.Deadline
			return st.round()
		}, true},
		"what it built was healthy once": {func(st *stage) string {
			st.ends(fleet.OutcomeDone)
			st.round()
			st.m.Current.Certified = true
			st.m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
			st.s.Now.Mono = st.m.Repair.Deadline
			return st.round()
		}, false},
	} {
		st := calling[fleet.OpCreate](t)
		c.set(st)
		if got := slices.Contains(st.m.Spurned, "h2"); got != c.want {
			t.Errorf("%s: h2 is avoided: %t, want %t; %s", name, got, c.want, st.outline())
		}
	}
}

// That a host took its machine along is told of the round in which it shows: when it does so again while the machine
// starts, and when a start was all that the machine needed.
func TestAHostThatTakesItsMachineAlongIsTold(t *testing.T) {
	t.Parallel()
	for dark, want := range map[bool]bool{true: true, false: false} {
		again := verifying(t, fleet.StepStart, true)
		again.m.Repair.Dark = dark
		again.m.Health.Verdict, again.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseOff
		again.seen(marked("old", "h1", fleet.PowerOff, 1))
		once := verifying(t, fleet.StepStart, true)
		once.m.Repair.Revives, once.m.Incident.Dark, once.m.Health.Verdict = true, dark, belief.VerdictHealthy
		for name, st := range map[string]*stage{"again": again, "once": once} {
			told := false
			st.play(func(w *work) {
				w.Advance()
				told = w.TakenAlong
			})
			if told != want {
				t.Errorf("%s, in the dark %t: it is told: %t", name, dark, told)
			}
		}
	}
}
