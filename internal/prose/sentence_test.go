package prose_test

import (
	"net/netip"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	const (
		old = fleet.InstanceID("3f2a1b2c-9e5e-4640-8a47-ed493d1249dc")
		inc = "web-2/3"
		rep = "web-2/r3"
	)
	rack := fleet.Domain{Kind: fleet.DomainRack, Name: "r1"}
	for want, r := range map[string]record.Record{
		"web-2 is unhealthy: the provider says it crashed": {Kind: record.Verdict, Verdict: belief.VerdictUnhealthy,
			Cause: belief.CauseCrashed},
		"web-2 is unhealthy: its checks are down: check page: connection refused or reset (connection refused)": {Kind: record.Verdict,
			Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks, Check: "page", Result: fleet.ResultRefused,
			Detail: "connection refused"},
		"web-2 is suspect: check page: the status is not a wanted one (503)": {Kind: record.Verdict,
			Verdict: belief.VerdictSuspect,
			Check:   "page", Result: fleet.ResultStatus, Detail: "503"},
		"web-2 is suspect: the provider and the checks disagree": {Kind: record.Verdict,
			Verdict: belief.VerdictSuspect},
		"web-2 is unknown: nothing was heard of it yet": {Kind: record.Verdict,
			Verdict: belief.VerdictUnknown},
		"web-2 is unknown: no instance of it was built yet": {Kind: record.Verdict,
			Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing},
		"web-2 is healthy": {Kind: record.Verdict, Verdict: belief.VerdictHealthy, Was: belief.VerdictStarting},
		"web-2 is held: 4 of 10 machines fail, the brake engages above 2; else hale would reboot it": {Kind: record.Held,
			Reason: fleet.ReasonBrake, Failing: 4, Size: 10, Limit: 2, Step: fleet.StepReboot},
		"web-2 is held: maria put the brake on (disk swap); else hale would reboot it": {Kind: record.Held,
			Reason: fleet.ReasonBrake, Failing: 1, Size: 10, Limit: 2, Step: fleet.StepReboot, By: "maria",
			Detail: "disk swap"},
		"web-2 is held: a person, or a program other than hale, stopped it, and that is no failure": {Kind: record.Held,
			Reason: fleet.ReasonStoppedByPerson},
		"web-2: incident web-2/3 is open: the provider says it crashed": {Kind: record.IncidentOpen,
			Cause: belief.CauseCrashed, Incident: inc},
		"web-2: incident web-2/3 is closed after 35s: healed by hale": {Kind: record.IncidentClosed,
			Reason: fleet.ReasonHealed, Incident: inc, Took: 35 * time.Second},
		"web-2: repair web-2/r3 begins: the provider says it crashed": {Kind: record.RepairStarted,
			Reason: fleet.Reason(belief.RepairHeal),
			Cause:  belief.CauseCrashed, Incident: inc, Repair: rep},
		"web-2: hale builds its instance (web-2/r3)": {Kind: record.RepairStarted,
			Reason: fleet.Reason(belief.RepairBuild), Repair: rep},
		"web-2: the next step is recreate, to replace it with a new instance": {Kind: record.StepChosen,
			Step: fleet.StepRecreate, Incident: inc},
		"web-2: step start does not apply: it is not off": {Kind: record.StepSkipped,
			Step: fleet.StepStart, Reason: fleet.ReasonNotOff, Incident: inc},
		"web-2: step reboot failed: it did not become healthy in time (starting)": {Kind: record.StepFailed,
			Step:   fleet.StepReboot,
			Reason: fleet.ReasonNotVerified, Detail: "starting", Incident: inc},
		"web-2, reboot: one more look confirms the failure: check page: no answer in time": {Kind: record.Look,
			Step:   fleet.StepReboot,
			Reason: fleet.ReasonConfirmed, Check: "page", Result: fleet.ResultTimeout, Incident: inc},
		"web-2, recreate: one more look confirms the failure: the provider says it is off": {Kind: record.Look,
			Step:   fleet.StepRecreate,
			Reason: fleet.ReasonConfirmed, Detail: "off", Incident: inc},
		"web-2, recreate: hale asks the provider to power off instance 3f2a1b2c… (generation 2) on host h1": {Kind: record.Intent,
			Step: fleet.StepRecreate, Op: fleet.OpPowerOff, Instance: old, Generation: 2, Host: "h1", Incident: inc},
		"web-2, recreate: power off instance 3f2a1b2c… (generation 2): done after 210ms": {Kind: record.Outcome,
			Step: fleet.StepRecreate,
			Op:   fleet.OpPowerOff, Outcome: fleet.OutcomeDone, Instance: old, Generation: 2,
			Took: 210 * time.Millisecond, Incident: inc},
		"web-2, recreate: the old instance 3f2a1b2c… (generation 2) is proven off": {Kind: record.Proof,
			Step:  fleet.StepRecreate,
			Proof: fleet.ProofConfirmedOff, Instance: old, Generation: 2, Incident: inc},
		"web-2, build: hale asks the provider to create instance 3f2a1b2c… (generation 1)": {Kind: record.Intent,
			Step: fleet.StepRecreate,
			Op:   fleet.OpCreate, Instance: old, Generation: 1},
		"web-2 is healthy after 2.3s at 10.0.0.3: recreate worked": {Kind: record.Verified,
			Step: fleet.StepRecreate,
			Took: 2300 * time.Millisecond, Address: netip.MustParseAddr("10.0.0.3"), Incident: inc},
		"web-2 is in quarantine, hale does not touch it: another instance at the provider has the machine's name (web-2)": {
			Kind: record.Quarantined, Reason: fleet.ReasonNameTaken, Detail: "web-2", Incident: inc},
		"a person must look at web-2: its checks are down; the ladder asks for a person now": {
			Kind: record.Paged, Reason: fleet.ReasonStepPage, Cause: belief.CauseChecks},
		"a person must look at web-2: as many repairs as the policy allows did not heal it for good":     {Kind: record.Paged, Reason: fleet.ReasonAttempts, Incident: inc},
		"web-2: instance 3f2a1b2c… (generation 2) is what an unfinished build left, and will be removed": {Kind: record.Remnant, Instance: old, Generation: 2},
		"web-2 shares the fate of rack r1: its incident belongs to web/p1":                               {Kind: record.ChildJoined, Incident: inc, Parent: "web/p1", Domain: rack},
		"web-2: its incident stands alone again, and it is judged afresh":                                {Kind: record.ChildReleased, Incident: inc, Parent: "web/p1", Domain: rack},
		"web-2 is held: it failed together with others of its domain, so the common cause comes first " +
			"(incident web/p1, 20 of 20 machines on rack r1 fail); else hale would reboot it": {
			Kind: record.Held, Reason: fleet.ReasonSharedFate, Parent: "web/p1", Domain: rack, Failing: 20,
			Size: 20, Step: fleet.StepReboot},
		"web-2: bob ordered a repair now, which is refused: alice put the brake on": {Kind: record.Order,
			Reason: fleet.ReasonBrake, Order: "1", Command: fleet.OrderHeal, By: "bob", Braker: "alice"},
		"web-2 is unhealthy: the provider says it crashed; hale leaves it as it is: alice put the brake on": {Kind: record.Found, Reason: fleet.ReasonBrake,
			Order: "1", By: "bob", Verdict: belief.VerdictUnhealthy, Cause: belief.CauseCrashed, Braker: "alice"},
		"web-2 is unknown: check page: hale itself is cut off": {Kind: record.Verdict,
			Verdict: belief.VerdictUnknown, Check: "page", Result: fleet.ResultIsolated},
	} {
		r.Fleet, r.Machine = "web", "web-2"
		if got := prose.Sentence(r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestSentencesAboutTheWhole(t *testing.T) {
	t.Parallel()
	rack := fleet.Domain{Kind: fleet.DomainRack, Name: "r1"}
	for want, r := range map[string]record.Record{
		"fleet web: a defect: what speaks with provider lab panicked: a defect in what speaks with the provider: its " +
			"questions have no answer, and what was asked for is looked for before anything else is done (boom)": {
			Fleet: "web", Kind: record.Defect, Reason: fleet.ReasonProviderPanicked, Provider: "lab",
			Detail: "boom"},
		"a person must look at fleet web: check page panicked, a defect in what asks for the check: it is unknown, " +
			"and unknown is not dead (boom)": {
			Fleet: "web", Kind: record.Paged, Reason: fleet.ReasonCheckPanicked, Check: "page", Detail: "boom"},
		"fleet web: what tells ops, which panicked 12 times within 2m00s, has not done so for an hour": {
			Fleet: "web", Kind: record.DefectOver, Reason: fleet.ReasonTargetPanicked, Target: "ops", Size: 12,
			Took: 2 * time.Minute},
		"fleet web: the brake is on: 4 of 10 machines fail, the brake engages above 2; no repair begins": {Kind: record.Brake,
			Reason: fleet.ReasonEngaged, Failing: 4, Size: 10, Limit: 2},
		"fleet web: the brake is released: 1 of 10 machines fail": {Kind: record.Brake,
			Reason: fleet.ReasonReleased, Failing: 1, Size: 10},
		"a person must look at fleet web: 4 of 10 machines fail, the brake engages above 2": {Kind: record.Paged,
			Reason:  fleet.ReasonBrake,
			Failing: 4, Size: 10, Limit: 2},
		"a person must look at fleet web: 4 of 10 machines fail, the brake engages above 2 (web-1, web-3, web-4, " +
			"web-9)": {
			Kind: record.Paged, Reason: fleet.ReasonBrake, Failing: 4, Size: 10, Limit: 2,
			Of: members("web", 1, 3, 4, 9)},
		"a person must look at fleet web: 7 of 10 machines fail, the brake engages above 2 (web-1, web-3 and 5 more)": {
			Kind: record.Paged, Reason: fleet.ReasonBrake, Failing: 7, Size: 10, Limit: 2,
			Of: members("web", 1, 3)},
		"provider lab does not answer; its machines are only probed (connection refused)": {Kind: record.Provider,
			Reason: fleet.ReasonDown,
			Detail: "connection refused"},
		"provider lab: it answers again": {Kind: record.Provider,
			Reason: fleet.ReasonUp},
		"a person must look at provider lab: it does not answer (down)": {Kind: record.Paged,
			Reason: fleet.ReasonDown, Detail: "down"},
		"fleet web: server h looks after its one machine and judges it afresh": {Kind: record.Owner,
			Reason: fleet.ReasonTookOver,
			Detail: "h", Size: 1},
		"fleet web: server h looks after its 3 machines and judges them afresh": {Kind: record.Owner,
			Reason: fleet.ReasonTookOver,
			Detail: "h", Size: 3},
		"fleet web: hale acts again; it did not, because the data folder's disk is full, so nothing can be written " +
			"down first": {
			Kind: record.Owner, Reason: fleet.ReasonActing, Detail: string(fleet.ReasonStoreFull)},
		"fleet web: this server's clock was set, so everything is judged afresh": {Kind: record.Owner,
			Reason: fleet.ReasonClockStep},
		"fleet web: incident web/p1 is open: 20 of 20 machines on rack r1 fail, too many together (1 in 10^27 by chance)": {
			Kind: record.ParentOpen, Parent: "web/p1", Domain: rack, Failing: 20, Size: 20, Chance: 6.2e-28},
		"fleet web: incident web/p1 on rack r1 is closed after 1m30s: what is left of the failures is no more than chance": {
			Kind: record.ParentClosed, Reason: fleet.ReasonReleased, Parent: "web/p1", Domain: rack,
			Took: 90 * time.Second},
		"fleet web: incident web/p1 on rack r1 is closed: more fails than that, so a wider incident takes its place": {
			Kind: record.ParentClosed, Reason: fleet.ReasonSuperseded, Parent: "web/p1", Domain: rack},
		"a person must look at rack r1: 20 of 20 machines on rack r1 fail": {
			Kind: record.Paged, Reason: fleet.ReasonSharedFate, Parent: "web/p1", Domain: rack, Failing: 20,
			Size: 20},
		"fleet web: the checks count for nothing, and no repair begins: hale itself is cut off: no canary answers it " +
			"(10.0.0.1: timeout)": {
			Kind: record.Vantage, Reason: fleet.ReasonVantageIsolated, Detail: "10.0.0.1: timeout"},
		"fleet web: hale doubts its own sight, and no repair begins: 3 of 5 machines fall silent at once, while the " +
			"provider says that they run": {
			Kind: record.Vantage, Reason: fleet.ReasonVantageDoubtful, Failing: 3, Size: 5},
		"a person must look at fleet web: 3 of 5 machines fall silent at once, while the provider says that they run": {
			Kind: record.Paged, Reason: fleet.ReasonVantageDoubtful, Failing: 3, Size: 5},
		"a person must still look at fleet web after 2h00m: 2 of 8 machines fail, and the brake is still on": {
			Kind: record.Reminded, Reason: fleet.ReasonBrake, Failing: 2, Size: 8, Limit: 2, Took: 2 * time.Hour},
		"a person must still look at fleet web after 2h00m: alice put the brake on (the switch is replaced)": {
			Kind: record.Reminded, Reason: fleet.ReasonBrake, By: "alice", Detail: "the switch is replaced",
			Failing: 2, Size: 8, Limit: 2, Took: 2 * time.Hour},
		"web-2 is held: the provider does not answer (12 times more since it was written down last)": {
			Machine: "web-2", Kind: record.Held, Reason: fleet.ReasonProviderDown, Again: 12},
		"fleet web: hale trusts its own sight again after 1m30s, and has judged everything afresh": {
			Kind: record.Vantage, Reason: fleet.ReasonUp, Took: 90 * time.Second},
		"a person must look at fleet web: hale itself is cut off: no canary answers it (10.0.0.1: timeout)": {
			Kind: record.Paged, Reason: fleet.ReasonVantageIsolated, Detail: "10.0.0.1: timeout"},
	} {
		r.Fleet, r.Provider = "web", "lab"
		if got := prose.Sentence(r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 340 * time.Millisecond: "340ms", time.Second: "1s", 2390 * time.Millisecond: "2.3s",
		59*time.Second + 999*time.Millisecond: "59s", time.Minute: "1m00s", 192 * time.Second: "3m12s",
		125 * time.Minute: "2h05m", 99 * time.Hour: "4d03h",
	} {
		if got := prose.Span(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

// members are machines of a fleet by their numbers.
func members(f fleet.Name, numbers ...int) (of []belief.Member) {
	for _, n := range numbers {
		of = append(of, belief.Member{Machine: f.Machine(n)})
	}
	return of
}
