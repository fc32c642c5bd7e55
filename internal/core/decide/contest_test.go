package decide_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// mark lets every instance bear its machine's mark.
func (tl *tale) mark() {
	for i := range tl.s.Machines {
		v := &tl.s.Machines[i]
		v.Seen[0].Instance.Mark = fleet.Mark{
			Installation: ours, Fleet: "web", Machine: v.Machine.Name, Generation: v.Machine.Current.Generation,
			Certified: true,
		}
	}
}

// sighted shows one more instance to the machine.
func (tl *tale) sighted(i int, id fleet.InstanceID, p fleet.Power, k fleet.Mark) {
	v := &tl.s.Machines[i]
	k.Fleet, k.Machine = "web", v.Machine.Name
	v.Seen = append(v.Seen, fleet.Sighting{Asked: tl.s.Now.Mono, Instance: fleet.Instance{ID: id,
		Host: v.Machine.Current.Host, Power: p, Mark: k}})
	v.Due = true
}

// L1: while two hosts show an instance hale asks, and does nothing to it; a person is told when a second listing says
// so, once.
func TestL01WhatTwoHostsShowIsLeftAlone(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.s.Machines[3].Seen[0].Instance.Also, tl.s.Machines[3].Due = "h9", true
	tl.decide()
	tl.wantCount("contests", tl.count(record.Contest, fleet.ReasonTwoHosts), 1)
	tl.wantCount("pages after one listing", tl.count(record.Paged, fleet.ReasonTwoHosts), 0)
	tl.pass(time.Second)
	tl.s.Machines[3].Due = true
	tl.decide()
	tl.wantCount("pages after two listings", tl.count(record.Paged, fleet.ReasonTwoHosts), 1)

	tl.power(fleet.PowerOff, 3)
	tl.pass(time.Minute)
	tl.confirm()
	tl.pass(time.Minute)
	tl.wantCount("pages of one contest", tl.count(record.Paged, fleet.ReasonTwoHosts), 1)
	if m := tl.s.Machines[3].Machine; tl.calls() > 0 || m.Repair != nil || m.Waiting != fleet.ReasonTwoHosts {
		t.Fatalf("%d calls, repair %v, and it waits for %q", tl.calls(), m.Repair, m.Waiting)
	}
	tl.s.Machines[3].Seen[0].Instance.Also, tl.s.Machines[3].Due = "", true
	tl.pass(time.Second)
	tl.confirm()
	tl.decide()
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonTwoHosts), 1)
	tl.wantCount("ends of the contest", tl.count(record.Contest, fleet.ReasonReleased), 1)
	tl.wantOnly(fleet.OpStart, "when one host shows it")
	if tl.calls() != 1 {
		t.Errorf("%d calls when one host shows it", tl.calls())
	}
}

// L8: the end of a contest goes unseen while a host is silent, and so does the next migration. What two hosts show then
// is another contest, and a person is told of it.
func TestL08AnotherContestIsToldOfAgain(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	here := tl.s.Machines[3].Machine.Current.Host
	for _, hosts := range [][2]fleet.HostName{{here, "h9"}, {"h9", here}} {
		seen := &tl.s.Machines[3].Seen[0]
		seen.Instance.Host, seen.Instance.Also = hosts[0], hosts[1]
		for range 3 {
			tl.s.Machines[3].Due, seen.Asked = true, tl.s.Now.Mono
			tl.decide()
			tl.pass(time.Second)
		}
	}
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonTwoHosts), 2)
}

// What was begun does not go on either: what was told to power off is not deleted while another host shows it, too.
func TestL01AStepUnderWayStopsWhereTwoHostsShowIt(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]fleet.HostName{"two hosts show it": "h9", "one does": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.s.Spec.Repair.Steps = tl.s.Spec.Repair.Steps[2:] // recreate alone
			tl.say(fleet.StandingDown, 3)
			tl.pass(time.Second)
			tl.confirm()
			tl.decide()
			tl.wantOnly(fleet.OpPowerOff, "after the look")
			tl.answer(fleet.OutcomeDone)
			tl.decide()
			tl.s.Machines[3].Seen[0].Instance.Also = other
			tl.power(fleet.PowerOff, 3)
			tl.pass(time.Minute)
			if deleted := tl.calls() > 0; deleted != (other == "") {
				t.Errorf("deleted: %v; it waits for %q", deleted, tl.s.Machines[3].Machine.Waiting)
			}
		})
	}
}

// L1: an instance that is off may run on a host that does not answer. It is started where that host counts as asked,
// and else held with a page.
func TestL01ASilentHostMayHaveIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answered, ran time.Duration // before the instance went off
		word, begins  bool
	}{
		"it ran after the host last answered": {answered: 2 * time.Minute, ran: time.Minute, begins: true},
		"it ran when the host last answered":  {answered: time.Minute, ran: time.Minute},
		"the host answered since it ran":      {answered: time.Minute, ran: 2 * time.Minute},
		"the host answered since, and a person vouches": {answered: time.Minute, ran: 2 * time.Minute, word: true,
			begins: true},
		"nothing is known, as after a start of hale's":    {},
		"nothing is known, and a person knows it is off":  {word: true, begins: true},
		"it ran since hale's start, the host never spoke": {ran: time.Minute, begins: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			ago := func(d time.Duration) fleet.Instant {
				if d == 0 {
					return 0
				}
				return tl.s.Now.Mono.Add(-d)
			}
			tl.s.Hosts = append(tl.s.Hosts, fleet.Host{Name: "h9", Independent: true})
			tl.s.Silent = []fleet.Silence{{Host: "h9", Answered: ago(c.answered)}}
			if c.word {
				tl.s.Whole.Fenced = []belief.HostProof{{Host: "h9", Proof: fleet.ProofWord,
					Until: tl.s.Now.Wall.Add(time.Hour), Ends: tl.s.Now.Mono.Add(time.Hour)}}
			}
			v := &tl.s.Machines[3]
			if c.ran > 0 {
				v.Ran = fleet.Ran{Instance: v.Machine.Current.ID, Host: v.Machine.Current.Host, At: ago(c.ran)}
			}
			tl.power(fleet.PowerOff, 3)
			tl.pass(time.Second)
			tl.confirm()
			tl.decide()
			if begun := tl.calls() == 1; begun != c.begins {
				t.Fatalf("begun: %v, and it waits for %q", begun, v.Machine.Waiting)
			}
			if c.begins {
				if a := tl.take(situation.ActionCall)[0]; !slices.Equal(a.Excused, []fleet.HostName{"h9"}) {
					t.Errorf("the call excuses %v", a.Excused)
				}
				return
			}
			tl.pass(2 * time.Minute)
			tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonHostUnasked), 1)
			at := slices.IndexFunc(tl.records, func(r record.Record) bool {
				return r.Kind == record.Held &&
					r.Reason == fleet.ReasonHostUnasked
			})
			if at < 0 || tl.records[at].Host != "h9" {
				t.Error("no record names the host")
			}
		})
	}
}

// A host that a repair proved off, or that holds only what was left behind there with a proof, hides nothing; once it
// answered, the proof is old.
func TestAHostThatIsProvenOffHidesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answered fleet.Instant
		begins   bool
	}{"proven since it answered": {answered: 5, begins: true}, "answered since it was proven": {answered: 20}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.s.Hosts = append(tl.s.Hosts, fleet.Host{Name: "h9", Independent: true})
			tl.s.Silent = []fleet.Silence{{Host: "h9", Answered: c.answered}}
			tl.s.Machines[7].Machine.Left = []belief.LeftBehind{
				{Incarnation: belief.Incarnation{ID: "old", Host: "h9", Generation: 1}, Proof: fleet.ProofHostOff,
					Since: 10},
			}
			tl.power(fleet.PowerOff, 3)
			tl.pass(time.Second)
			tl.confirm()
			tl.decide()
			if begun := tl.calls() == 1; begun != c.begins {
				t.Errorf("begun: %v, and it waits for %q", begun, tl.s.Machines[3].Machine.Waiting)
			}
		})
	}
}

// L1: beside an instance that bears the machine's mark and may run, none is built, with kept disks or without.
func TestL01NothingIsBuiltBesideARival(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]fleet.Mark{
		"certified, of this installation": {Installation: ours, Generation: 1, Certified: true},
		"of another installation":         {Installation: "theirs", Generation: 1, Certified: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.power(fleet.PowerGone, 3)
			tl.sighted(3, "rival", fleet.PowerRunning, k)
			for range 20 {
				tl.pass(time.Second)
				tl.confirm()
				tl.decide()
				tl.answer(fleet.OutcomeDone)
			}
			for _, r := range tl.records {
				if r.Kind == record.Intent && r.Op == fleet.OpCreate {
					t.Fatal("it was built")
				}
			}
			if tl.count(record.RepairEnded, fleet.ReasonRival) == 0 {
				t.Error("nothing says why")
			}
		})
	}
}

// L1: nothing is built for a machine beside a finished instance that a person stopped and may start again, be it healed
// or built for the first time. What nobody stopped, as a restored backup, is in no one's way, nor is a second instance
// that a person turned off while the machine has its own.
func TestL01NothingIsBuiltBesideWhatAPersonStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop       fleet.Stop
		own, first bool
		built      bool
	}{
		"stopped":                          {stop: fleet.StopExternal},
		"shut down":                        {stop: fleet.StopShutdown},
		"stopped, before a first build":    {stop: fleet.StopExternal, first: true},
		"nobody stopped it":                {built: true},
		"nobody did, before a first build": {first: true, built: true},
		"stopped beside its own":           {stop: fleet.StopExternal, own: true, built: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.mark()
			v := &tl.s.Machines[3]
			v.Machine.Generation, v.Machine.Current.Generation = 2, 2
			tl.sighted(3, "other", fleet.PowerOff,
				fleet.Mark{Installation: ours, Generation: 1, Certified: true})
			v.Seen[1].Instance.Stop = c.stop
			switch {
			case c.first:
				v.Machine.Current, v.Seen = belief.Incarnation{}, v.Seen[1:]
			case c.own:
				tl.s.Spec.Repair.Steps = tl.s.Spec.Repair.Steps[2:] // recreate alone
				tl.say(fleet.StandingDown, 3)
			default:
				tl.power(fleet.PowerGone, 3)
			}
			for range 20 {
				tl.pass(time.Second)
				tl.confirm()
				tl.decide()
				tl.answer(fleet.OutcomeDone)
			}
			built := slices.ContainsFunc(tl.records, func(r record.Record) bool {
				return r.Kind == record.Intent && (r.Op == fleet.OpCreate || c.own && r.Op == fleet.OpPowerOff)
			})
			if built != c.built {
				t.Errorf("built: %v, and it waits for %q", built, tl.s.Machines[3].Machine.Waiting)
			}
			tl.wantCount("pages of two", tl.count(record.Paged, fleet.ReasonSecondRunning), 1)
		})
	}
}

// L13: a machine whose instance is gone has not left while another one bears its mark and may run: it would be no
// machine's. What an unfinished build left is removed with the machine.
func TestL13WhatAnotherInstanceStandsForHasNotLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		certified bool
		removed   int
	}{
		"a finished one":      {true, 0},
		"an unfinished build": {false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.mark()
			m := &tl.s.Machines[3].Machine
			m.Generation, m.Current.Generation = 2, 2
			tl.s.Whole.Ledger = &belief.Ledger{Size: 10, Provider: "lab",
				Removals: []belief.Removal{{Machine: "web-4", Order: "o", By: "ann", Named: true}}}
			wanted := tl.s.Spec
			wanted.Size = 9
			tl.s.Wanted = &wanted
			tl.sighted(3, "other", fleet.PowerRunning,
				fleet.Mark{Installation: ours, Generation: 1, Certified: c.certified})
			tl.power(fleet.PowerGone, 3)
			for range 5 {
				tl.pass(10 * time.Second)
				tl.confirm()
			}
			tl.wantCount("removals", tl.count(record.RepairStarted, fleet.Reason(belief.RepairRemove)), c.removed)
		})
	}
}

// L10: what is ordered away is no failure: it neither engages the brake nor keeps it on.
func TestL10WhatIsOrderedAwayDoesNotFail(t *testing.T) {
	t.Parallel()
	for name, ordered := range map[string]bool{"ordered away": true, "not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			l := &belief.Ledger{Size: 10, Provider: "lab"}
			if ordered {
				for _, m := range []fleet.MachineName{"web-8", "web-9", "web-10"} {
					l.Removals = append(l.Removals, belief.Removal{Machine: m, Order: "o", Named: true})
				}
			}
			tl.s.Whole.Ledger, tl.s.Brake.By = l, "alice" // nothing begins
			tl.say(fleet.StandingDown, 7, 8, 9)
			tl.pass(time.Minute)
			if tl.s.Brake.Engaged == ordered {
				t.Errorf("the brake is engaged: %v", tl.s.Brake.Engaged)
			}
		})
	}
}

// L10: a machine that is ordered away stays when more are asked for, also after a heal has deleted its old instance.
// Only a machine that its removal has deleted is gone.
func TestL10WhatIsBeingHealedStaysWhenMoreAreAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind      belief.RepairKind
		withdrawn int
	}{
		"being healed":  {kind: belief.RepairHeal, withdrawn: 1},
		"being removed": {kind: belief.RepairRemove},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.s.Brake.By = "alice" // nothing begins
			tl.s.Whole.Ledger = &belief.Ledger{Size: 10, Provider: "lab",
				Removals: []belief.Removal{{Machine: "web-4", Order: "o"}}}
			wanted := tl.s.Spec
			wanted.Size = 10
			tl.s.Wanted = &wanted
			tl.s.Machines[3].Machine.Repair = &belief.Repair{ID: "web-4/r1", Kind: c.kind, Order: "o",
				Climb: belief.Climb{Aim: belief.Aim{Target: tl.s.Machines[3].Machine.Current, Removed: true}}}
			tl.decide()
			tl.wantCount("removals taken back", tl.count(record.Change, fleet.ReasonWithdrawn), c.withdrawn)
		})
	}
}

// L8: a person was told that hale turned the host off. That the machine was moved half way only, and cannot go on
// before the host answers, is another thing to tell of, once.
func TestL08AHostThatWasTurnedOffIsNoWordOfTheMachine(t *testing.T) {
	t.Parallel()
	for told, pages := range map[fleet.Reason]int{
		fleet.ReasonHostFenced: 1, fleet.ReasonHostCut: 1, fleet.ReasonHostUnasked: 0,
	} {
		tl := few(t, 10)
		tl.s.Hosts = append(tl.s.Hosts, fleet.Host{Name: "h9", Independent: true})
		tl.s.Silent = []fleet.Silence{{Host: "h9"}}
		tl.power(fleet.PowerOff, 3)
		tl.pass(time.Second)
		tl.wantHeld(fleet.ReasonHostUnasked, []int{3})
		i := tl.s.Machines[3].Machine.Incident
		i.Paged, i.For = true, told
		tl.pass(10 * time.Minute)
		tl.wantCount("pages after "+string(told), tl.count(record.Paged, fleet.ReasonHostUnasked), pages)
	}
}

// A build that waits for a host is not under way: what a person ordered meanwhile counts for it.
func TestABuildThatWaitsHeedsAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ on, off fleet.Order }{
		"a hold": {
			on:  fleet.Order{Kind: fleet.OrderHold, Machine: "web-4", For: time.Hour},
			off: fleet.Order{Kind: fleet.OrderRelease, Machine: "web-4"},
		},
		"the brake": {on: fleet.Order{Kind: fleet.OrderBrakeOn}, off: fleet.Order{Kind: fleet.OrderBrakeOff}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.s.Hosts[0].Closed = true
			tl.power(fleet.PowerGone, 3)
			work := func() {
				for range 6 {
					tl.pass(time.Second)
					tl.confirm()
					tl.decide()
					if r := tl.s.Machines[3].Machine.Repair; r != nil && r.Intent != nil &&
						r.Intent.Op == fleet.OpDelete {
						tl.answer(fleet.OutcomeDone)
					}
				}
			}
			work()
			if w := tl.s.Machines[3].Machine.Waiting; w != fleet.ReasonNoHost {
				t.Fatalf("it waits for %q", w)
			}
			tl.want(name, tl.give(c.on), "")
			tl.s.Hosts[0].Closed = false
			work()
			tl.pass(time.Minute)
			if r := tl.s.Machines[3].Machine.Repair; r == nil || !r.Next.None() {
				t.Fatalf("%s was ordered, and this is under way: %+v", name, r)
			}
			tl.want("its end", tl.give(c.off), "")
			tl.pass(time.Minute)
			if r := tl.s.Machines[3].Machine.Repair; r == nil || r.Next.None() {
				t.Errorf("nothing is against it any more, and this is under way: %+v", r)
			}
		})
	}
}

// A listing that was asked for before hale deleted an instance, and comes in late, is none of a second instance.
func TestAnOldListingShowsNoSecondInstance(t *testing.T) {
	t.Parallel()
	acted := func(m *belief.Machine) *fleet.Instant { return &m.Acted }
	cleared := func(m *belief.Machine) *fleet.Instant { return &m.Cleared }
	for name, c := range map[string]struct {
		gone  func(*belief.Machine) *fleet.Instant
		asked time.Duration
		pages int
	}{
		"asked before":                           {acted, -time.Second, 0},
		"asked after":                            {acted, time.Second, 1},
		"asked before what was left was removed": {cleared, -time.Second, 0},
		"asked after what was left was removed":  {cleared, time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			m := &tl.s.Machines[3].Machine
			*c.gone(m), m.Generation, m.Current.Generation = tl.s.Now.Mono, 2, 2
			tl.mark()
			tl.sighted(3, "old", fleet.PowerOff, fleet.Mark{Installation: ours, Generation: 1, Certified: true})
			tl.s.Now.Mono = tl.s.Now.Mono.Add(2 * time.Second)
			s := tl.s
			s.Machines[3].Seen[1].Asked = c.gone(m).Add(c.asked)
			pages := 0
			for _, d := range decide.Decide(s).Machines {
				for _, r := range d.Records {
					if r.Kind == record.Paged && r.Reason == fleet.ReasonSecondRunning {
						pages++
					}
				}
			}
			tl.wantCount("pages", pages, c.pages)
		})
	}
}

// A mark with a generation that the store never gave out holds the whole fleet, once told, until a person has hale
// believe the world.
func TestAnOlderStoreHoldsTheFleet(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.mark()
	tl.want("to believe without need", tl.give(fleet.Order{Kind: fleet.OrderRecover, Believe: true}),
		fleet.ReasonNotOlder)
	tl.power(fleet.PowerGone, 3)
	tl.sighted(3, "newer", fleet.PowerRunning, fleet.Mark{Installation: ours, Generation: 2, Certified: true})
	tl.power(fleet.PowerOff, 5)
	tl.pass(time.Minute)
	tl.confirm()
	tl.pass(time.Minute)
	if tl.calls() > 0 {
		t.Fatalf("calls by an older store: %+v", tl.actions)
	}
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonStoreOlder), 1)
	tl.want("to believe", tl.give(fleet.Order{Kind: fleet.OrderRecover, Believe: true}), "")
	m := tl.s.Machines[3].Machine
	if m.Current.ID != "newer" || m.Generation != 2 || !m.Current.Certified || tl.s.Whole.Older != nil {
		t.Fatalf("believed: %+v, generation %d, %+v", m.Current, m.Generation, tl.s.Whole.Older)
	}
	tl.pass(time.Minute)
	tl.confirm()
	tl.pass(time.Second)
	tl.wantOnly(fleet.OpStart, "once the world is believed")
	if tl.calls() != 1 {
		t.Errorf("%d calls once the world is believed", tl.calls())
	}
}

// A backup may be made while the fleet is held by an older store, and be put back when a person had hale go on long
// ago. Then the store says that they were told, and they were not: the start that hale noted when it went on is
// unknown again (L8).
func TestABackupThatWasMadeWhileHeldIsToldOf(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.mark()
	tl.power(fleet.PowerGone, 3)
	tl.sighted(3, "newer", fleet.PowerRunning, fleet.Mark{Installation: ours, Generation: 2, Certified: true})
	tl.pass(10 * time.Second)
	told := func(what string, want int) {
		t.Helper()
		tl.wantCount("pages "+what, tl.count(record.Paged, fleet.ReasonStoreOlder), want)
	}
	tl.s.Roll.Unknown = []fleet.NotedStart{{Name: "7-early", Host: "h01"}}
	tl.pass(time.Minute)
	told("of a mark, and of a start that was read a moment later", 1)
	backup := tl.s.Whole.Clone()
	tl.restart()
	tl.pass(time.Hour)
	told("after another start of the same store", 1)
	tl.s.Roll.Unknown = nil // they are known once the world is believed
	tl.want("to believe", tl.give(fleet.Order{Kind: fleet.OrderRecover, Believe: true}), "")
	tl.pass(time.Hour)

	tl.s.Whole = backup
	tl.restart()
	tl.s.Roll.Unknown = []fleet.NotedStart{{Name: "7-early", Host: "h01"}, {Name: "7-later", Host: "h02"}}
	tl.pass(time.Minute)
	told("of the backup", 2)
	if o := tl.s.Whole.Older; o == nil || o.Start != "7-later" || o.Host != "h02" {
		t.Errorf("the fleet is held by %+v", o)
	}
	tl.s.Roll.Unknown = tl.s.Roll.Unknown[:1] // a host that has the note falls silent, and comes back
	tl.pass(time.Hour)
	tl.s.Roll.Unknown = tl.s.Roll.Unknown[:2]
	tl.restart()
	tl.pass(time.Hour)
	told("of the same again", 2)
}

// A store that was put back to a smaller size does not know that more was asked for. What runs beyond that size, and
// was not finished, may serve: believing the world takes it in, and it is not removed as what a failed build left.
func TestWhatRunsBeyondAnOlderSizeIsTakenIn(t *testing.T) {
	t.Parallel()
	tl := few(t, 4)
	tl.mark()
	tl.s.Spec.Size = 3
	v := &tl.s.Machines[3]
	v.Machine.Current, v.Machine.Health, v.Seen = belief.Incarnation{},
		belief.Health{Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing}, nil
	tl.sighted(3, "unfinished", fleet.PowerRunning, fleet.Mark{Installation: ours, Generation: 2})
	tl.decide()
	if tl.s.Whole.Older == nil {
		t.Fatal("nobody found that the store is older")
	}
	tl.want("to believe", tl.give(fleet.Order{Kind: fleet.OrderRecover, Believe: true}), "")
	if m := tl.s.Machines[3].Machine; m.Current.ID != "unfinished" || m.Current.Certified || m.Generation != 2 {
		t.Fatalf("believed: %+v, generation %d", m.Current, m.Generation)
	}
	tl.pass(time.Hour)
	if tl.calls() > 0 {
		t.Errorf("what may serve is touched: %+v", tl.actions)
	}
	tl.say(fleet.StandingUp, 3)
	tl.pass(time.Second)
	tl.wantOnly(fleet.OpCertify, "when it is healthy")
}

// A machine that is off is not started while another instance with its mark runs: there would be two of it (L1). What
// an unfinished build left is removed first; of what was finished, a person says which of the two is the right one.
func TestNothingIsStartedBesideWhatRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		certified bool
		call      fleet.Op
		waiting   fleet.Reason
	}{
		"an unfinished build": {false, fleet.OpPowerOff, ""},
		"a finished one":      {true, "", fleet.ReasonRival},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.mark()
			m := &tl.s.Machines[3].Machine
			m.Generation, m.Current.Generation = 2, 2
			tl.sighted(3, "other", fleet.PowerRunning,
				fleet.Mark{Installation: ours, Generation: 1, Certified: c.certified})
			tl.power(fleet.PowerOff, 3)
			for range 5 {
				tl.pass(10 * time.Second)
				tl.confirm()
			}
			if c.call != "" {
				tl.wantOnly(c.call, "of what runs beside it")
			} else if tl.calls() > 0 {
				t.Errorf("calls beside what runs: %+v", tl.actions)
			}
			if w := tl.s.Machines[3].Machine.Waiting; w != c.waiting {
				t.Errorf("it waits for %q", w)
			}
		})
	}
}

// Where another installation's instance bears a machine's mark, no first instance is built in the fleet; what the fleet
// has is healed.
func TestAnotherInstallationHoldsFirstBuilds(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.mark()
	for _, i := range []int{7, 8} {
		v := &tl.s.Machines[i]
		v.Machine.Current, v.Machine.Generation, v.Seen, v.Due = belief.Incarnation{}, 0, nil, true
	}
	tl.sighted(8, "theirs-9", fleet.PowerOff, fleet.Mark{Installation: "theirs", Generation: 4, Certified: true})
	tl.power(fleet.PowerOff, 5)
	tl.pass(time.Minute)
	tl.confirm()
	tl.pass(time.Minute)
	tl.wantOnly(fleet.OpStart, "while another installation's marks are there")
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonInstallation), 1)
	tl.want("to believe beside it", tl.give(fleet.Order{Kind: fleet.OrderRecover, Believe: true}),
		fleet.ReasonInstallation)
	tl.s.Machines[8].Seen = nil
	tl.pass(time.Minute)
	if tl.s.Machines[7].Machine.Repair != nil {
		t.Error("it is gone for a moment, and a first instance is built")
	}
	tl.s.Installation = "theirs" // a person had it taken over
	tl.pass(time.Minute)
	if tl.s.Machines[7].Machine.Repair == nil {
		t.Errorf("it was taken over, and nothing is built: %q", tl.s.Machines[7].Machine.Waiting)
	}
}
