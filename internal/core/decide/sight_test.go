package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// few is a fleet of so many machines on one host, without canaries.
func few(t *testing.T, size int) *tale {
	t.Helper()
	tl := street(t, 1)
	tl.s.Spec.Size, tl.s.Machines = size, tl.s.Machines[:size]
	tl.s.Hosts = tl.s.Hosts[:1]
	tl.pass(time.Second)
	return tl
}

func all(size int) []int {
	out := make([]int, size)
	for i := range out {
		out[i] = i
	}
	return out
}

func (tl *tale) see(s fleet.VantageStanding) {
	tl.s.Vantage = fleet.Vantage{Standing: s, Since: tl.s.Now.Mono, Detail: "10.0.0.1: no answer"}
}

func TestAnIsolatedVantageTouchesNobody(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.see(fleet.VantageOK)
	tl.say(fleet.StandingFailing, all(10)...)
	tl.see(fleet.VantageUnknown)
	tl.pass(time.Second)
	tl.say(fleet.StandingDown, 0) // it is down a moment before the canaries are
	tl.pass(time.Second)
	if m := tl.s.Machines[0].Machine; m.Waiting != fleet.ReasonVantageDoubtful {
		t.Errorf("the first one waits for %q", m.Waiting)
	}
	tl.see(fleet.VantageIsolated)
	tl.say(fleet.StandingDown, all(10)...)
	tl.power(fleet.PowerOff, 9) // and one is truly off
	tl.pass(time.Hour)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.wantCount("looks and calls", len(tl.actions), 0)
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
	tl.wantCount("pages of isolation", tl.count(record.Paged, fleet.ReasonVantageIsolated), 1)
	tl.wantCount("parents", tl.count(record.ParentOpen, ""), 0)
	if tl.s.Brake.Engaged {
		t.Error("verdicts by checks count as failures")
	}
	for i, want := range map[int]belief.Verdict{0: belief.VerdictUnknown, 5: belief.VerdictUnknown,
		9: belief.VerdictUnhealthy} {
		if v := tl.s.Machines[i].Machine.Health.Verdict; v != want {
			t.Errorf("web-%d is %s, want %s", i+1, v, want)
		}
	}
}

// What is down and held when the canaries fall silent is not known to be down any more, though nothing is heard of it.
func TestIsolationReachesWhatIsHeldAlready(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.see(fleet.VantageOK)
	tl.say(fleet.StandingDown, 0, 1, 2)
	tl.pass(time.Minute)
	tl.say(fleet.StandingFailing, 3)
	tl.pass(time.Second)
	if !tl.s.Brake.Engaged {
		t.Fatal("the brake is off")
	}
	tl.see(fleet.VantageIsolated)
	tl.pass(2 * time.Second)
	for i := range 4 {
		if h := tl.s.Machines[i].Machine.Health; h.Verdict != belief.VerdictUnknown ||
			h.Result != fleet.ResultIsolated {
			t.Errorf("web-%d: %+v", i+1, h)
		}
	}
}

func TestAfterIsolationEverythingIsJudgedAfresh(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.see(fleet.VantageIsolated)
	tl.say(fleet.StandingDown, all(10)...)
	tl.pass(time.Hour)
	tl.see(fleet.VantageOK) // the standings are still those of the isolation
	tl.pass(3 * time.Second)
	tl.wantCount("machines that are unhealthy on old evidence", tl.unhealthy(), 0)
	tl.say(fleet.StandingUp, all(10)[1:]...)
	tl.say(fleet.StandingDown, 0)
	tl.pass(5 * time.Second)
	tl.wantCount("repairs during the amnesty", tl.repairs(), 0)
	tl.pass(time.Minute)
	tl.wantCount("repairs", tl.repairs(), 1)
	tl.wantCount("machines that are unhealthy", tl.unhealthy(), 1)
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
}

// What status calls a doubt and what the journal does begin and end together, however often its reason ceases for a
// moment.
func TestTheJournalEndsADoubtWhenItEnds(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	told := func(when string, ends int) {
		t.Helper()
		tl.wantCount("ends in the journal "+when, tl.count(record.Vantage, fleet.ReasonUp), ends)
		if in := tl.s.Whole.Doubt.Reason != ""; in == (ends > 0) {
			t.Errorf("%s: in doubt is %v", when, in)
		}
	}
	tl.see(fleet.VantageIsolated)
	tl.pass(time.Hour)
	for range 3 {
		tl.see(fleet.VantageOK)
		tl.say(fleet.StandingUp, all(10)...)
		tl.pass(time.Second)
		told("as soon as a canary answers", 0)
		tl.see(fleet.VantageIsolated)
		tl.pass(time.Second)
		told("when it fell silent again", 0)
	}
	tl.see(fleet.VantageOK)
	tl.say(fleet.StandingUp, all(10)...)
	tl.pass(time.Minute)
	told("once everything is judged afresh", 1)
	tl.wantCount("beginnings in the journal", tl.count(record.Vantage, fleet.ReasonVantageIsolated), 1)
}

func (tl *tale) unhealthy() int {
	n := 0
	for i := range tl.s.Machines {
		if tl.s.Machines[i].Machine.Health.Verdict == belief.VerdictUnhealthy {
			n++
		}
	}
	return n
}

// The time in which a step must bring health does not run out while hale could not see it.
func TestAVerificationWaitsForSight(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.see(fleet.VantageOK)
	tl.power(fleet.PowerOff, 3)
	tl.pass(time.Second)
	tl.confirm()
	tl.pass(0)
	tl.s.Machines[3].Seen[0].Instance.Power = fleet.PowerRunning
	tl.s.Machines[3].Outcome = &fleet.Outcome{Intent: tl.s.Machines[3].Machine.Repair.Intent.ID,
		Kind: fleet.OutcomeDone}
	tl.s.Machines[3].Due = true
	tl.pass(time.Second)
	tl.see(fleet.VantageIsolated)
	tl.pass(time.Hour)
	tl.see(fleet.VantageOK)
	tl.pass(5 * time.Second)
	tl.wantCount("steps that failed", tl.count(record.StepFailed, ""), 0)
	tl.say(fleet.StandingUp, 3)
	tl.pass(time.Second)
	tl.wantCount("verified", tl.count(record.Verified, ""), 1)
}

func TestWithoutCanariesTheProvidersViewRaisesADoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size  int
		spoil func(*tale)
		doubt bool
	}{
		"most of five":                   {5, func(tl *tale) { tl.say(fleet.StandingDown, 0, 1, 2) }, true},
		"all of three":                   {3, func(tl *tale) { tl.say(fleet.StandingDown, 0, 1, 2) }, true},
		"half of six":                    {6, func(tl *tale) { tl.say(fleet.StandingDown, 0, 1, 2) }, false},
		"both of two":                    {2, func(tl *tale) { tl.say(fleet.StandingDown, 0, 1) }, false},
		"the provider says they are off": {5, func(tl *tale) { tl.power(fleet.PowerOff, 0, 1, 2) }, false},
		"the provider is down": {5, func(tl *tale) {
			tl.s.Provider.Standing = fleet.ProviderDown
			for i := range tl.s.Machines {
				tl.s.Machines[i].Seen = nil
			}
			tl.say(fleet.StandingDown, 0, 1, 2)
		}, false},
		"one after the other": {5, func(tl *tale) {
			for i := range 3 {
				tl.s.Spec.Mode = policy.ModeObserve // they are not healed meanwhile
				tl.say(fleet.StandingDown, i)
				tl.pass(time.Minute)
			}
		}, false},
		"a canary answers": {5, func(tl *tale) {
			tl.see(fleet.VantageOK)
			tl.say(fleet.StandingDown, 0, 1, 2)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, c.size)
			c.spoil(tl)
			tl.pass(time.Second)
			if got := tl.s.Whole.Doubt.Reason == fleet.ReasonVantageDoubtful; got != c.doubt {
				t.Fatalf("doubt: %v, want %v", got, c.doubt)
			}
			if !c.doubt {
				return
			}
			tl.pass(time.Hour)
			tl.wantCount("repairs", tl.repairs(), 0)
			tl.wantCount("pages", tl.count(record.Paged, ""), 1)
			if m := tl.s.Machines[0].Machine; m.Waiting != fleet.ReasonVantageDoubtful {
				t.Errorf("held for %q", m.Waiting)
			}
		})
	}
}

func TestADoubtEndsWhenMostAnswerAgain(t *testing.T) {
	t.Parallel()
	tl := few(t, 5)
	tl.say(fleet.StandingDown, 0, 1, 2)
	tl.pass(time.Minute)
	tl.say(fleet.StandingUp, 1, 2)
	tl.pass(time.Second)
	if v := tl.s.Machines[0].Machine.Health.Verdict; v != belief.VerdictUnknown {
		t.Errorf("what was heard during the doubt still counts: %s", v)
	}
	tl.say(fleet.StandingDown, 0)
	tl.pass(5 * time.Second)
	tl.wantCount("repairs before all are judged afresh", tl.repairs(), 0)
	tl.pass(time.Minute)
	tl.wantCount("repairs", tl.repairs(), 1)
	if d := tl.s.Whole.Doubt; d != (belief.Doubt{}) {
		t.Errorf("the doubt is left: %+v", d)
	}
}

func TestCanariesThatNeverSaySomethingAreTold(t *testing.T) {
	t.Parallel()
	tl := few(t, 5)
	tl.see(fleet.VantageUnknown)
	tl.power(fleet.PowerOff, 1)
	tl.say(fleet.StandingDown, 2)
	tl.pass(tl.s.Spec.BlindAfter - time.Second)
	tl.wantCount("pages too early", tl.count(record.Paged, ""), 0)
	tl.wantCount("repairs: what is off is started, what is silent is not", tl.repairs(), 1)
	tl.pass(time.Hour)
	tl.wantCount("pages of doubt", tl.count(record.Paged, fleet.ReasonVantageDoubtful), 1)
}

func TestARestartDoesNotPageADoubtAgain(t *testing.T) {
	t.Parallel()
	tl := few(t, 5)
	tl.see(fleet.VantageIsolated)
	tl.say(fleet.StandingDown, all(5)...)
	tl.pass(time.Minute)
	tl.restart()
	tl.see(fleet.VantageUnknown)
	tl.pass(time.Second)
	tl.see(fleet.VantageIsolated)
	tl.pass(time.Hour)
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
}

// Of three machines a person has paused one, and hale loses sight of the others: all that could answer are silent.
func TestAllThatCouldAnswerAreSilent(t *testing.T) {
	t.Parallel()
	tl := few(t, 3)
	tl.power(fleet.PowerPaused, 0)
	tl.pass(time.Second)
	tl.say(fleet.StandingFailing, 2)
	tl.say(fleet.StandingDown, 1)
	tl.pass(500 * time.Millisecond)
	tl.say(fleet.StandingDown, 2)
	tl.pass(10 * time.Minute)
	tl.wantCount("repairs", tl.repairs(), 0)
	if d := tl.s.Whole.Doubt; d.Reason != fleet.ReasonVantageDoubtful {
		t.Errorf("no doubt: %+v", d)
	}
}

// Of four machines one is paused, and one is held: when nothing is known of that one, it is not expected to answer, and
// when it does answer, hale is not cut off.
func TestWhoIsHeldNeedNotAnswer(t *testing.T) {
	t.Parallel()
	for standing, doubtful := range map[fleet.Standing]bool{fleet.StandingUnknown: true, fleet.StandingUp: false} {
		tl := few(t, 4)
		tl.power(fleet.PowerPaused, 0)
		tl.pass(time.Second)
		tl.want("hold", tl.give(fleet.Order{Kind: fleet.OrderHold, Machine: "web-2", For: 2 * time.Hour}), "")
		tl.say(standing, 1)
		tl.pass(time.Second)
		tl.say(fleet.StandingDown, 2, 3)
		tl.say(standing, 1) // heard of in the same moment, so that the round looks at it
		tl.pass(time.Minute)
		if d := tl.s.Whole.Doubt; (d.Reason == fleet.ReasonVantageDoubtful) != doubtful ||
			(tl.repairs() == 0) != doubtful {
			t.Errorf("the held machine is %s: doubt %+v, %d repairs", standing, d, tl.repairs())
		}
	}
}

// Everything falls silent, and all but one rack answer again: when the doubt ends, that rack's silence is a shared fate
// before it is fifteen repairs.
func TestWhatStaysSilentAfterADoubtSharesAFate(t *testing.T) {
	t.Parallel()
	tl := street(t, 6)
	for n := range 6 {
		tl.say(fleet.StandingDown, tl.rack(n)...)
	}
	tl.pass(time.Minute)
	for n := 1; n < 6; n++ {
		tl.say(fleet.StandingUp, tl.rack(n)...)
	}
	tl.pass(time.Second)
	tl.say(fleet.StandingDown, tl.rack(0)...)
	tl.pass(30 * time.Minute)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.wantCount("children", tl.children(), len(tl.rack(0)))
	if d := tl.s.Whole.Doubt; d != (belief.Doubt{}) {
		t.Errorf("the doubt is left: %+v", d)
	}
}

// A machine failed, and before it was repaired hale lost sight of it: unknown is not dead, so it is not healed. A
// person is told, once, as of one that is lost from sight in good health (L8).
func TestWhatFailedAndIsUnknownSinceIsToldOf(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.give(fleet.Order{Kind: fleet.OrderBrakeOn})
	tl.say(fleet.StandingDown, 3)
	tl.pass(time.Hour)
	tl.say(fleet.StandingUnknown, 3)
	tl.pass(tl.s.Spec.BlindAfter - time.Second)
	tl.wantCount("pages of what was lost from sight a moment ago", tl.count(record.Paged, fleet.ReasonBlind), 0)
	tl.pass(2 * time.Second)
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBlind), 1)
	if i := tl.s.Machines[3].Machine.Incident; i == nil || i.Cause != belief.CauseChecks || i.For != fleet.ReasonBlind {
		t.Errorf("its incident is %+v", i)
	}
	tl.pass(time.Hour)
	tl.wantCount("pages in the end", tl.count(record.Paged, fleet.ReasonBlind), 1)
	tl.wantCount("calls", tl.calls(), 0)

	tl.s.Spec.Repair.Attempts, tl.s.Machines[3].Machine.Attempts = 1, []fleet.Instant{tl.s.Now.Mono}
	tl.say(fleet.StandingDown, 3)
	tl.give(fleet.Order{Kind: fleet.OrderBrakeOff})
	tl.pass(time.Minute)
	tl.wantCount("pages when it is seen to fail, and given up", tl.count(record.Paged, fleet.ReasonAttempts), 1)
}
