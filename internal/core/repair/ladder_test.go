package repair_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// L2: a step is taken only where it fits what ails the machine; what stands still with its memory is never reset or
// replaced.
func TestWhichStepsFitEachCause(t *testing.T) {
	t.Parallel()
	for cause, want := range map[belief.Cause]string{
		belief.CauseChecks:    "reboot run rebuild recreate evacuate migrate rescue snapshot",
		belief.CauseOff:       "start rebuild recreate evacuate rescue snapshot",
		belief.CauseStopped:   "start rebuild recreate evacuate rescue snapshot",
		belief.CauseShutdown:  "start rebuild recreate evacuate rescue snapshot",
		belief.CauseCrashed:   "start rebuild recreate evacuate rescue snapshot",
		belief.CausePanic:     "reboot run rebuild recreate evacuate migrate rescue snapshot",
		belief.CauseError:     "reboot run rebuild recreate evacuate migrate rescue snapshot",
		belief.CauseGone:      "recreate",
		belief.CausePaused:    "resume snapshot",
		belief.CauseSuspended: "resume snapshot",
		belief.CauseIOError:   "",
		belief.CauseRescued:   "snapshot",
	} {
		m := newStage(t).m
		m.Health.Cause = cause
		var fit []string
		for _, kind := range fleet.Steps() {
			if kind == fleet.StepPage || kind == fleet.StepQuarantine {
				continue // they fit whatever the cause
			}
			if ladder.Precondition(&m, &policy.Spec{}, steps[kind]) == "" {
				fit = append(fit, string(kind))
			}
		}
		slices.Sort(fit)
		wanted := strings.Fields(want)
		if slices.Sort(wanted); !slices.Equal(fit, wanted) {
			t.Errorf("%s: %q, want %q", cause, fit, wanted)
		}
	}
}

// L2: nothing takes the place of an instance that is neither certified nor an expired build, nor of one that must be
// kept, nor of a disk that would be lost.
func TestWhatMayNotBeReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*belief.Machine, *policy.Spec, *policy.Step)
		want  fleet.Reason
	}{
		"certified": {func(*belief.Machine, *policy.Spec, *policy.Step) {}, ""},
		"not certified": {func(m *belief.Machine, _ *policy.Spec, _ *policy.Step) { m.Current.Certified = false },
			fleet.ReasonNotCertified},
		"an expired build": {func(m *belief.Machine, _ *policy.Spec, _ *policy.Step) {
			m.Current.Certified, m.Current.Expired = false, true
		}, ""},
		"adopted, to be kept": {func(m *belief.Machine, _ *policy.Spec, _ *policy.Step) {
			m.Current.Adopted,
				m.Current.Irreplaceable = true, true
		},
			fleet.ReasonIrreplaceable},
		"a disk that is kept": {func(_ *belief.Machine, s *policy.Spec,
			_ *policy.Step) {
			s.Template.Disks = []policy.Disk{{Name: "data"}}
		},
			fleet.ReasonDiskKept},
		"a disk that goes with what is put aside": {func(_ *belief.Machine, s *policy.Spec, step *policy.Step) {
			s.Template.Disks, step.KeepOld = []policy.Disk{{Name: "data"}}, 1
		}, ""},
		"paused": {func(m *belief.Machine, _ *policy.Spec, _ *policy.Step) { m.Health.Cause = belief.CausePaused },
			fleet.ReasonHalted},
	} {
		for _, kind := range []fleet.StepKind{fleet.StepRecreate, fleet.StepRebuild, fleet.StepEvacuate} {
			st, step := newStage(t), steps[kind]
			c.spoil(&st.m, &st.s.Spec, &step)
			if got := ladder.Precondition(&st.m, &st.s.Spec, step); got != c.want {
				t.Errorf("%s of what is %s: %q, want %q", kind, name, got, c.want)
			}
		}
	}
}

// A step that is for certain checks is taken while one of them is down. What the provider itself calls stopped is for
// the steps that name it: what its checks say is no fault of their own.
func TestAStepThatIsForAFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   []fleet.CheckName
		set  func(*stage)
		want bool
	}{
		"whatever it is":          {nil, func(*stage) {}, true},
		"its page, which is down": {[]fleet.CheckName{"page"}, func(*stage) {}, true},
		"another, too":            {[]fleet.CheckName{"disk", "page"}, func(*stage) {}, true},
		"another":                 {[]fleet.CheckName{"disk"}, func(*stage) {}, false},
		"its page, which only fails": {[]fleet.CheckName{"page"},
			func(st *stage) { st.view.Checks[0].Standing = fleet.StandingFailing }, false},
		"its page, as it was before": {[]fleet.CheckName{"page"}, func(st *stage) { st.view.Epoch++ }, false},
		"its page, and it has crashed": {[]fleet.CheckName{"page"}, func(st *stage) { st.fails(belief.CausePanic) },
			false},
		"the provider's word": {[]fleet.CheckName{policy.ProviderTerm},
			func(st *stage) { st.fails(belief.CausePanic) }, true},
		"the provider's word, which is well": {[]fleet.CheckName{policy.ProviderTerm}, func(*stage) {}, false},
	} {
		step := steps[fleet.StepReboot]
		step.For = c.of
		st := newStage(t, step, steps[fleet.StepPage])
		c.set(st)
		st.work() // which shows what is seen
		if got, _ := ladder.FirstStep(&st.m, &st.s); (got == fleet.StepReboot) != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A ladder with no step that fits leaves the machine to a person at once; one that ends in vain is climbed again, after
// a while, until its attempts are used up.
func TestTheEndOfTheLadder(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.want("there is no step", st.begin(), "repair-started heal; "+toPerson("no-step"))
	st = newStage(t, steps[fleet.StepStart], steps[fleet.StepResume])
	st.want("none fits", st.begin(),
		"repair-started heal; step-skipped not-off; step-skipped not-paused; "+toPerson("no-step"))

	step := steps[fleet.StepPage]
	step.Kind = fleet.StepQuarantine
	st = newStage(t, step)
	st.begin()
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("the policy leaves it", st.round(), "look confirmed; "+toPerson("step-quarantine"))

	st = inAct(t, fleet.OpReboot, fleet.StepReboot, belief.CauseChecks)
	st.s.Spec.Repair.Steps = []policy.Step{steps[fleet.StepReboot], steps[fleet.StepStart]}
	st.ends(fleet.OutcomeFailed)
	st.want("no further one fits", st.round(),
		"step-failed call-failed; step-skipped not-off; repair-ended ladder-exhausted; "+
			"held backoff; over, again in 5s")
}

// What is tried in vain waits ever longer, and when the policy's attempts are used up within its time, a person is
// told.
func TestAttemptsAreUsedUp(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot])
	st.m.Attempts = nil
	for _, again := range []string{"5s", "10s"} {
		st.begin()
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.round()
		st.ends(fleet.OutcomeFailed)
		st.want("in vain", st.round(),
			"step-failed call-failed; repair-ended ladder-exhausted; held backoff; over, again in "+again)
		if st.m.Incident.Last.Why != fleet.ReasonExhausted {
			t.Errorf("it ended since %s", st.m.Incident.Last.Why)
		}
	}
	for after, want := range map[time.Duration]string{
		time.Minute: "quarantined attempts; paged attempts; over",
		time.Hour:   "held backoff; over, again in 20s",
	} {
		m := st.m.Clone()
		last := newStage(t, steps[fleet.StepReboot])
		last.m, last.s.Now = m, st.s.Now
		last.pass(after)
		last.begin()
		last.answer(fleet.PowerRunning, fleet.StandingDown)
		last.round()
		last.ends(fleet.OutcomeFailed)
		last.want("the third", last.round(), "step-failed call-failed; repair-ended ladder-exhausted; "+want)
		if last.m.Quarantine != nil && last.record(record.Quarantined).Tries != 3 {
			t.Errorf("it is said to have been tried %d times", last.record(record.Quarantined).Tries)
		}
	}
}

// A machine of a domain that fails as a whole is not left to a person for its attempts: they were told of the domain.
func TestUnderAParentAttemptsAreNotUsedUp(t *testing.T) {
	t.Parallel()
	st := inAct(t, fleet.OpReboot, fleet.StepReboot, belief.CauseChecks)
	st.s.Whole.Parents = []belief.Parent{{ID: "web/i1", Domain: fleet.Domain{Kind: fleet.DomainRack, Name: "r9"}}}
	st.s.Spec.Repair.Steps, st.m.Incident.Parent = st.s.Spec.Repair.Steps[:1], "web/i1"
	st.m.Attempts = []fleet.Instant{hour, hour, hour}
	st.ends(fleet.OutcomeFailed)
	st.want("in vain", st.round(),
		"step-failed call-failed; repair-ended ladder-exhausted; held backoff; over, again in 5s")
}

// What never was healthy is built anew, whatever the ladder begins with: gentler steps would only repeat what its boot
// did. It may serve all the same if it is protected, or if only hearsay speaks against it.
func TestWhatNeverStood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want fleet.StepKind
	}{
		"an expired build": {func(st *stage) { st.m.Current.Certified, st.m.Current.Expired = false, true },
			fleet.StepRecreate},
		"one that is gone": {func(st *stage) {
			st.m.Current = belief.Incarnation{}
			st.fails(belief.CauseGone).m.Incident.Cause = belief.CauseBuild
		}, fleet.StepRecreate},
		"what stood, and is gone": {func(st *stage) { st.m.Current = belief.Incarnation{}; st.fails(belief.CauseGone) },
			""},
		"what was certified": {func(*stage) {}, fleet.StepReboot},
		"a build that is protected": {func(st *stage) {
			st.m.Current.Certified, st.m.Current.Expired, st.s.Spec.Protected = false, true, []int{1}
		}, ""},
		"a build that hearsay speaks against": {func(st *stage) {
			st.m.Current.Certified, st.m.Current.Expired = false, true
			st.s.Spec.Checks[0].Kind = policy.CheckHeartbeat
		}, fleet.StepReboot},
	} {
		st := newStage(t, steps[fleet.StepReboot])
		c.set(st)
		st.work()
		if got, _ := ladder.FirstStep(&st.m, &st.s); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// L6: a parent incident weighs more than whatever else would pass by itself, and less than what would not. When the
// time has come to leave its domain, hearsay does not do.
func TestL6WhatHoldsARepairBack(t *testing.T) {
	t.Parallel()
	parent := func(st *stage) {
		st.s.Whole.Parents = []belief.Parent{{ID: "web/i1", Since: 1, Domain: fleet.Domain{Kind: fleet.DomainRack,
			Name: "r9"}}}
		st.m.Incident.Parent = "web/i1"
	}
	leaving := func(st *stage) {
		parent(st)
		st.s.Spec.SharedFate.Then = policy.FateEvacuate
		st.s.Spec.Repair.Steps = []policy.Step{steps[fleet.StepReboot], steps[fleet.StepRecreate]}
	}
	for name, c := range map[string]struct {
		set  []func(*stage)
		held fleet.Reason
		step fleet.StepKind
	}{
		"nothing":                  {nil, "", fleet.StepReboot},
		"a fleet that comes first": {[]func(*stage){behind}, fleet.ReasonAfter, fleet.StepReboot},
		"a parent, and a fleet that comes first": {[]func(*stage){parent, behind}, fleet.ReasonSharedFate,
			fleet.StepReboot},
		"a parent that lets it start, and a fleet that comes first": {[]func(*stage){parent, behind, stopped},
			fleet.ReasonAfter, fleet.StepStart},
		"the brake":               {[]func(*stage){braked}, fleet.ReasonBrake, fleet.StepReboot},
		"a parent":                {[]func(*stage){parent}, fleet.ReasonSharedFate, fleet.StepReboot},
		"a parent, and the brake": {[]func(*stage){parent, braked}, fleet.ReasonSharedFate, fleet.StepReboot},
		"a parent, and a full budget": {[]func(*stage){parent, func(st *stage) { st.s.Tally.InRepair = 5 }},
			fleet.ReasonSharedFate, fleet.StepReboot},
		"a parent, and a backoff": {[]func(*stage){parent, func(st *stage) { st.m.RetryAt = hour + 1 }},
			fleet.ReasonSharedFate, fleet.StepReboot},
		"a parent, and a hold": {[]func(*stage){parent, func(st *stage) { st.s.Whole.Holds = []belief.Hold{{}} }},
			fleet.ReasonHold, fleet.StepReboot},
		"a parent, and no provider": {[]func(*stage){parent,
			func(st *stage) { st.s.Provider.Standing = fleet.ProviderDown }},
			fleet.ReasonProviderDown, fleet.StepReboot},
		"it is protected, and nothing gentle fits": {[]func(*stage){func(st *stage) { st.s.Spec.Protected = []int{1} }},
			fleet.ReasonProtected, ""},
		"it is protected, and a person is to be told": {[]func(*stage){func(st *stage) {
			st.s.Spec.Protected, st.s.Spec.Repair.Steps = []int{1}, []policy.Step{steps[fleet.StepReboot],
				steps[fleet.StepPage]}
		}}, "", fleet.StepPage},
		"it is time to leave": {[]func(*stage){leaving}, "", fleet.StepRecreate},
		"it is time to leave, by hearsay": {[]func(*stage){leaving, func(st *stage) {
			st.s.Spec.Checks[0].Kind = policy.CheckHeartbeat
		}}, fleet.ReasonSharedToken, ""},
	} {
		st := newStage(t, steps[fleet.StepReboot])
		for _, set := range c.set {
			set(st)
		}
		st.work()
		if held, step := ladder.Admit(&st.m, &st.s); held != c.held || step != c.step {
			t.Errorf("%s: held %q, step %q; want %q, %q", name, held, step, c.held, c.step)
		}
	}
}

func braked(st *stage) { st.s.Brake.Engaged = true }

// behind has a fleet that comes first not serve.
func behind(st *stage) { st.s.Unready = []situation.Ahead{{Fleet: "db"}} }

// stopped has the machine be off, which the ladder can start.
func stopped(st *stage) {
	st.m.Health.Cause = belief.CauseOff
	st.s.Spec.Repair.Steps = []policy.Step{steps[fleet.StepStart]}
}

// A person is told by a step of the ladder, and gets their time before the next one, in which the machine is not judged
// to be starting.
func TestAPersonGetsTheirTime(t *testing.T) {
	t.Parallel()
	step := steps[fleet.StepPage]
	step.VerifyWithin = time.Minute
	st := newStage(t, step, steps[fleet.StepReboot])
	st.begin()
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("they are told", st.round(), "look confirmed; paged step-page; verify")
	if st.m.Health.Grace != 0 {
		t.Errorf("it is forgiven until %v", st.m.Health.Grace)
	}
	st.fails(belief.CauseOff)
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("they turned it off", st.round(), "verify")
	st.fails(belief.CauseChecks)
	st.s.Now.Mono = st.m.Repair.Deadline
	st.want("their time is over", st.round(), "step-failed not-verified; then reboot; LOOK; look")
}

// A command that cannot be told what it asks for is passed over, and it is said what is not known.
func TestWhatACommandCannotBeTold(t *testing.T) {
	t.Parallel()
	for arg, c := range map[string]struct {
		why    fleet.Reason
		detail string
	}{
		"{meta.role}": {fleet.ReasonNoMetadata, "{meta.role}"}, "{host}": {fleet.ReasonNoMetadata, "{host}"},
		"{meta.evil}": {fleet.ReasonUnfit, "{meta.evil}"},
	} {
		step := steps[fleet.StepRun]
		step.Run.Args = []string{"mend", arg}
		st := newStage(t, step, steps[fleet.StepPage])
		st.m.Current.Host = ""
		i := marked("old", "", fleet.PowerRunning, 1)
		i.Metadata = fleet.MetadataOf(map[string]string{"evil": "-rf"})
		st.seen(i)
		st.want(arg, st.begin(), "repair-started heal; step-skipped "+string(c.why)+"; then page; LOOK; look")
		if got := st.record(record.StepSkipped).Detail; got != c.detail {
			t.Errorf("%s: it is said %q", arg, got)
		}
	}
}

// A machine without an instance has nothing to look at or to fence: it is built.
func TestAMachineWithoutAnInstanceIsBuilt(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot], steps[fleet.StepRecreate]).fails(belief.CauseGone)
	st.m.Current = belief.Incarnation{}
	st.s.Hosts = append(st.s.Hosts, fleet.Host{}) // one without a name is not where it was
	st.want("it begins", st.begin(),
		"repair-started heal; step-skipped no-instance; then recreate; CALL create new; act")
}
