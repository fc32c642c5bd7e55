package decide_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// messages returns what is sent of what was recorded: for each, the kind, and how many machines it is about.
func (tl *tale) messages() (all []string) {
	for i := range tl.records {
		r := &tl.records[i]
		switch event, some := r.Notifies(); {
		case !some:
		case r.Joint != "" && r.Kind != record.JointOver:
			all = append(all, fmt.Sprintf("%s of %d", event, r.Failing))
		case r.Machine != "":
			all = append(all, fmt.Sprintf("%s of %s", event, r.Machine))
		default:
			all = append(all, string(event))
		}
	}
	return all
}

func (tl *tale) wantMessages(when string, want ...string) {
	tl.Helper()
	if got := tl.messages(); !slices.Equal(got, want) {
		tl.Errorf("%s: %q is told, want %q", when, got, want)
	}
}

// stop lets a person stop machines, one each second.
func (tl *tale) stop(machines ...int) {
	tl.Helper()
	for _, i := range machines {
		tl.power(fleet.PowerOff, i)
		tl.s.Machines[i].Seen[0].Instance.Stop = fleet.StopExternal
		tl.pass(time.Second)
	}
}

// left is a fleet that leaves alone what people stop, for a quarter of an hour.
func left(t *testing.T) *tale {
	t.Helper()
	tl := street(t, 3)
	repair := &tl.s.Spec.Repair
	repair.OnExternalStop, repair.ExternalStopHold = policy.ExternalStopHoldThenPage, 15*time.Minute
	tl.s.Spec.Notify.RemindEvery = time.Hour
	tl.pass(time.Minute)
	return tl
}

func some(n int) (machines []int) {
	for i := range n {
		machines = append(machines, i)
	}
	return machines
}

// A person stops 47 machines within a minute. That is one page with ten names, one reminder of what is left, and one
// message when the last of them is well: and each of the machines has its own record of each.
func TestOneHandIsOnePage(t *testing.T) {
	t.Parallel()
	tl := left(t)
	tl.stop(some(47)...)
	tl.pass(20 * time.Minute)
	tl.wantMessages("after the hold", "pages of 47")
	tl.wantCount("records of pages", tl.count(record.Paged, fleet.ReasonHoldExpired), 48)
	for i := range 47 {
		if in := tl.s.Machines[i].Machine.Incident; !in.Paged || in.Joint != "web/j1" {
			t.Errorf("machine %d: %+v", i+1, in)
		}
	}
	at := slices.IndexFunc(tl.records, func(r record.Record) bool {
		return r.Kind == record.Paged && r.Machine == ""
	})
	if page := tl.records[at]; len(page.Of) != 10 || page.Of[9].Machine != "web-10" ||
		page.Cause != belief.CauseStopped ||
		page.Reason != fleet.ReasonHoldExpired || page.Host != "" {
		t.Errorf("the page: %+v", page)
	}
	tl.start(some(40)...)
	tl.wantMessages("when most of them are well", "pages of 47")
	tl.pass(time.Hour)
	tl.wantMessages("an hour later", "pages of 47", "reminders of 7")
	tl.start(some(47)[40:]...)
	tl.wantMessages("in the end", "pages of 47", "reminders of 7", "healed")
}

// start lets a person start machines, and waits until they are well.
func (tl *tale) start(machines ...int) {
	tl.Helper()
	tl.power(fleet.PowerRunning, machines...)
	tl.pass(time.Second)
	tl.say(fleet.StandingUp, machines...)
	tl.pass(time.Second)
	for _, i := range machines {
		if m := &tl.s.Machines[i].Machine; m.Incident != nil || m.Health.Verdict != belief.VerdictHealthy {
			tl.Fatalf("%s is not well: %+v, %+v", m.Name, m.Health, m.Incident)
		}
	}
}

// What is stopped long after the others has the whole time of its own, and a page of its own.
func TestWhoComesLaterIsToldOfLater(t *testing.T) {
	t.Parallel()
	tl := left(t)
	tl.stop(0, 1)
	tl.pass(3 * time.Minute)
	tl.stop(2)
	tl.pass(13 * time.Minute)
	tl.wantMessages("of the first two", "pages of 2")
	if in := tl.s.Machines[2].Machine.Incident; in.Paged {
		t.Errorf("the third one: %+v", in)
	}
	tl.pass(3 * time.Minute)
	tl.wantMessages("of the third", "pages of 2", "pages of web-3")
	tl.start(2, 1)
	tl.wantMessages("when the third is well", "pages of 2", "pages of web-3", "healed of web-3")
}

// No page comes before a machine's time because another one, that a person holds, is over its own.
func TestAHeldMachineMakesNobodyImpatient(t *testing.T) {
	t.Parallel()
	tl := left(t)
	tl.stop(0)
	tl.pass(time.Minute)
	tl.stop(1)
	tl.want("hold", tl.give(fleet.Order{Kind: fleet.OrderHold, Machine: "web-1", For: time.Hour}), "")
	tl.pass(14*time.Minute + 30*time.Second)
	tl.wantMessages("before the time of the second is over")
	tl.pass(time.Minute)
	tl.wantMessages("after it", "pages of web-2")
}

// Of machines that are lost from sight within seconds a person is told by one page, and that it is over when
// something is known of all of them again: well, or not.
func TestBlindMachinesAreOnePage(t *testing.T) {
	t.Parallel()
	tl := street(t, 3)
	tl.s.Spec.BlindAfter = 10 * time.Minute
	tl.pass(time.Minute)
	for _, i := range some(5) {
		tl.say(fleet.StandingUnknown, i)
		tl.pass(5 * time.Second)
	}
	tl.pass(12 * time.Minute)
	tl.wantMessages("when nothing was heard for long", "pages of 5")
	tl.say(fleet.StandingUp, 0, 1, 2)
	tl.pass(time.Second)
	tl.s.Spec.Limits.Brake.AtLeast = 60
	tl.say(fleet.StandingDown, 3, 4)
	tl.pass(time.Second)
	tl.wantMessages("when something is known of all again", "pages of 5", "healed")
}

// L8: a machine that waits for a place in the budget is told of as soon as no place can come free, since all that have
// one wait for a host; and as long as one of them goes on, it has only to wait.
func TestL08WhoWaitsForAPlaceThatNobodyGivesUpIsToldOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits []fleet.Reason // those that have a place
		told  int
	}{
		"both wait for a host": {[]fleet.Reason{fleet.ReasonNoHost, fleet.ReasonNoHost}, 1},
		"one goes on":          {[]fleet.Reason{fleet.ReasonNoHost, ""}, 0},
		"the other one does":   {[]fleet.Reason{"", fleet.ReasonNoHost}, 0},
		"both go on":           {[]fleet.Reason{"", ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 20)
			tl.s.Spec.Limits.InRepair, tl.s.Spec.Limits.Brake.AtLeast = 2, 60
			tl.say(fleet.StandingDown, 0, 1)
			tl.pass(10 * time.Second)
			tl.say(fleet.StandingDown, 2)
			for range 60 {
				for i, why := range c.waits {
					tl.s.Machines[i].Machine.Waiting = why
				}
				tl.pass(10 * time.Second)
			}
			if m := &tl.s.Machines[2].Machine; m.Waiting != fleet.ReasonBudget {
				t.Fatalf("it waits for %q", m.Waiting)
			}
			tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBudget), c.told)
		})
	}
}

// For half an hour each second listing fails, and between them the budget holds the machine: that is written down twice
// for each reason, and the repair that begins at last says how often it was.
func TestReasonsThatComeAndGoAreCounted(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.s.Spec.Limits.InRepair = 0
	tl.say(fleet.StandingDown, 0)
	tl.pass(10 * time.Second)
	for range 180 {
		tl.s.Provider.Standing = fleet.ProviderDown
		tl.pass(5 * time.Second)
		tl.s.Provider.Standing = fleet.ProviderUp
		tl.pass(5 * time.Second)
	}
	tl.wantCount("holds for the provider", tl.count(record.Held, fleet.ReasonProviderDown), 2)
	tl.wantCount("holds for the budget", tl.count(record.Held, fleet.ReasonBudget), 2)
	tl.s.Spec.Limits.InRepair = 1
	tl.pass(time.Second)
	last := tl.records[slices.IndexFunc(tl.records, func(r record.Record) bool {
		return r.Kind == record.RepairStarted
	})]
	if last.Again != 2*180+1-4 || len(tl.s.Machines[0].Machine.Swings) != 0 {
		t.Errorf("%d times more, and %+v is remembered", last.Again, tl.s.Machines[0].Machine.Swings)
	}
}
