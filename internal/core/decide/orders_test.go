package decide_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// order gives orders at random, sensible and not.
func (c *chaos) order() {
	c.s.Orders = nil
	for range rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, 2}).Draw(c.t, "orders") {
		c.ids++
		o := fleet.Order{
			ID: fleet.OrderID(fmt.Sprintf("%09d", c.ids)), Fleet: c.s.Spec.Name, Reason: "r", At: c.s.Now.Wall,
			For: 20 * time.Second,
			By:  rapid.SampledFrom([]string{"alice", "bob"}).Draw(c.t, "by"),
			Kind: rapid.SampledFrom([]fleet.OrderKind{fleet.OrderHold, fleet.OrderRelease, fleet.OrderRetry,
				fleet.OrderHeal, fleet.OrderBrakeOn, fleet.OrderBrakeOff,
				fleet.OrderRecover}).Draw(c.t, "kind"),
			All: rapid.Bool().Draw(c.t, "all"), DryRun: rapid.Bool().Draw(c.t, "dry run"),
		}
		if o.Kind == fleet.OrderHold && rapid.Bool().Draw(c.t, "only") {
			o.Only = fleet.HoldScaleIn
		}
		o.Believe = o.Kind == fleet.OrderRecover && rapid.Bool().Draw(c.t, "believe")
		switch n := rapid.IntRange(-1, len(c.s.Machines)+1).Draw(c.t, "subject"); {
		case o.Kind == fleet.OrderBrakeOn || o.Kind == fleet.OrderBrakeOff || o.Kind == fleet.OrderRecover:
		case n >= 1 || o.Kind.ToMachine():
			o.Machine = c.s.Spec.Name.Machine(max(n, 1))
		case n == 0:
			o.Host = rapid.SampledFrom([]fleet.HostName{"h1", "h2", "nowhere"}).Draw(c.t, "host")
		}
		if o.Believe = o.Kind == fleet.OrderRecover && rapid.Bool().Draw(c.t, "believe"); o.Believe {
			o.DryRun = false
		}
		if rapid.IntRange(0, 9).Draw(c.t, "late") == 0 {
			o.Expires = c.s.Now.Wall
		}
		c.s.Orders = append(c.s.Orders, o)
	}
}

// checkOrders: each order is ruled on once, in the machine's part when it is to a machine; a refusal changes nothing;
// and nothing begins on what is held or while the brake is on by hand.
func (c *chaos) checkOrders(before situation.Situation, d round.Decision) {
	ruled := map[fleet.OrderID]int{}
	count := func(rulings []fleet.Ruling, records []record.Record) {
		for _, r := range rulings {
			ruled[r.Order]++
			if !slices.ContainsFunc(records, func(rec record.Record) bool {
				return rec.Kind == record.Order && rec.Order == r.Order && rec.Reason == r.Refused
			}) {
				c.t.Fatalf("L11: order %s is ruled on (%q) without a record", r.Order, r.Refused)
			}
		}
	}
	count(d.Orders, d.Records)
	for _, m := range d.Machines {
		count(m.Orders, m.Records)
	}
	for _, o := range before.Orders {
		if ruled[o.ID] != 1 {
			c.t.Fatalf("order %+v was ruled on %d times", o, ruled[o.ID])
		}
	}
	if len(ruled) != len(before.Orders) {
		c.t.Fatalf("%d rulings on %d orders", len(ruled), len(before.Orders))
	}
	c.checkBeginnings(before, d)
	c.checkHolds(before, d)
}

// checkBeginnings: nothing begins on what is held, and no repair while the brake is on, unless it only starts what is
// off and no person put the brake on.
func (c *chaos) checkBeginnings(before situation.Situation, d round.Decision) {
	for _, m := range d.Machines {
		was := &before.Machines[m.Index].Machine
		begins := m.Belief.Repair != nil && (was.Repair == nil || was.Repair.ID != m.Belief.Repair.ID)
		held := slices.ContainsFunc(d.Whole.Holds,
			func(h belief.Hold) bool { return h.Covers(was) && h.Covers(&m.Belief) })
		if begins && held && m.Belief.Repair.Phase != belief.PhaseCertify && !takesFound(m.Belief.Repair) {
			c.t.Fatalf("a repair of %s begins while it is held: %+v", was.Name, d.Whole.Holds)
		}
		only := begins && m.Belief.Repair.Starts() && d.Brake.By == ""
		if begins && m.Belief.Repair.Kind == belief.RepairHeal && d.Brake.On() && !only {
			c.t.Fatalf("L6: a repair of %s begins while the brake is on", was.Name)
		}
	}
}

// takesFound reports whether the work that begins is a build that found its instance standing there, on a held host as
// it turned out, and did nothing: a person had the world believed, and the machine had none for a moment.
func takesFound(r *belief.Repair) bool {
	return r.Kind == belief.RepairBuild && r.Phase == belief.PhaseVerify && r.Calls == 0
}

// checkHolds: no hold ends before its time, but by order (L15).
func (c *chaos) checkHolds(before situation.Situation, d round.Decision) {
	for _, h := range before.Whole.Holds {
		gone := !slices.ContainsFunc(d.Whole.Holds, func(x belief.Hold) bool { return x.Order == h.Order })
		ordered := slices.ContainsFunc(before.Orders, func(o fleet.Order) bool {
			return h.Same(o.Machine, o.Host) && (o.Kind == fleet.OrderRelease || o.Kind == fleet.OrderHold)
		})
		if gone && !h.Over(before.Now) && !ordered {
			c.t.Fatalf("L15: hold %+v ended at %+v", h, before.Now)
		}
	}
}

// give gives an order and returns why it is refused; empty: it is not.
func (tl *tale) give(o fleet.Order) fleet.Reason {
	tl.Helper()
	o.ID, o.Fleet, o.At = fleet.OrderID(fmt.Sprintf("%04d", len(tl.rulings))), tl.s.Spec.Name, tl.s.Now.Wall
	if o.By == "" {
		o.By = "alice"
	}
	if o.Kind == fleet.OrderHold {
		o.Reason = "r"
	}
	if err := o.Check(); err != nil {
		tl.Fatal(err)
	}
	tl.s.Orders = []fleet.Order{o}
	tl.decide()
	i := slices.IndexFunc(tl.rulings, func(r fleet.Ruling) bool { return r.Order == o.ID })
	if i < 0 {
		tl.Fatalf("nobody ruled on %+v", o)
	}
	return tl.rulings[i].Refused
}

func (tl *tale) want(what string, got, want fleet.Reason) {
	tl.Helper()
	if got != want {
		tl.Errorf("%s: refused because of %q, want %q", what, got, want)
	}
}

func TestHealIsRefusedWhereItWouldDoNothingOrHarm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*tale)
		want  fleet.Reason
	}{
		"healthy": {func(*tale) {}, fleet.ReasonHealthy},
		"held": {func(tl *tale) {
			tl.say(fleet.StandingDown, 3)
			tl.give(fleet.Order{Kind: fleet.OrderHold, Host: "h00", For: time.Hour})
		}, fleet.ReasonHold},
		"brake by hand": {func(tl *tale) {
			tl.give(fleet.Order{Kind: fleet.OrderBrakeOn})
			tl.say(fleet.StandingDown,
				3)
		}, fleet.ReasonBrake},
		"brake": {func(tl *tale) { tl.say(fleet.StandingDown, 0, 1, 3); tl.pass(time.Minute) },
			fleet.ReasonBrake},
		"in repair": {func(tl *tale) { tl.power(fleet.PowerOff, 3); tl.pass(time.Second) }, fleet.ReasonInRepair},
		"only watched": {func(tl *tale) { tl.s.Spec.Mode = policy.ModeObserve; tl.say(fleet.StandingDown, 3) },
			fleet.ReasonObserve},
		"quarantine": {func(tl *tale) {
			tl.say(fleet.StandingDown, 3)
			tl.s.Spec.Repair.Steps = nil
			tl.pass(time.Minute)
		}, fleet.ReasonQuarantined},
		"beyond the size": {func(tl *tale) { tl.s.Spec.Size = 3; tl.say(fleet.StandingDown, 3) }, fleet.ReasonSurplus},
		"suspect":         {func(tl *tale) { tl.say(fleet.StandingFailing, 3) }, ""},
		"down":            {func(tl *tale) { tl.say(fleet.StandingDown, 3, 4); tl.s.Spec.Limits.InRepair = 1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := few(t, 10)
			tl.s.Spec.SharedFate.AtLeast = 0
			c.spoil(tl)
			tl.want(name, tl.give(fleet.Order{Kind: fleet.OrderHeal, Machine: "web-4"}), c.want)
		})
	}
}

// What is refused for a brake names the person who put it on; the brake's own doing names none.
func TestARefusalForABrakeNamesWhoPutItOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		brake func(*tale)
		want  string
	}{
		"by hand": {func(tl *tale) { tl.give(fleet.Order{Kind: fleet.OrderBrakeOn}); tl.say(fleet.StandingDown, 3) },
			"alice"},
		"by itself": {func(tl *tale) { tl.say(fleet.StandingDown, 0, 1, 3); tl.pass(time.Minute) }, ""},
	} {
		tl := few(t, 10)
		tl.s.Spec.SharedFate.AtLeast = 0
		c.brake(tl)
		tl.want(name, tl.give(fleet.Order{Kind: fleet.OrderHeal, Machine: "web-4", By: "bob"}), fleet.ReasonBrake)
		tl.want(name, tl.give(fleet.Order{Kind: fleet.OrderRecover, By: "bob"}), "")
		told := 0
		for _, r := range tl.records {
			if r.Reason == fleet.ReasonBrake && (r.Kind == record.Order || r.Kind == record.Found) {
				told++
				if r.Braker != c.want {
					t.Errorf("%s: the record of kind %s names %q", name, r.Kind, r.Braker)
				}
			}
		}
		if told < 2 {
			t.Errorf("%s: %d records tell of the refusal", name, told)
		}
	}
}

// Nothing is known of a machine: it is left alone, and a person was told. That person's order stands for the look that
// says nothing, for every rung, and for an hour.
func TestL03AnOrderStandsForALookThatSaysNothing(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.say(fleet.StandingUnknown, 3)
	tl.pass(time.Hour)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBlind), 1)
	tl.want("heal", tl.give(fleet.Order{Kind: fleet.OrderHeal, Machine: "web-4"}), "")
	tl.wantCount("repairs", tl.repairs(), 1)
	tl.wantCount("calls without a look", tl.calls(), 0)
	tl.confirm()
	tl.decide()
	tl.wantCount("looks that the order stands for", tl.count(record.Look, fleet.ReasonOrdered), 1)
	tl.wantOnly(fleet.OpReboot, "after the look")
}

func TestL03ALookThatFindsItAliveEndsTheOrder(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.say(fleet.StandingFailing, 3)
	tl.want("heal", tl.give(fleet.Order{Kind: fleet.OrderHeal, Machine: "web-4"}), "")
	tl.say(fleet.StandingUp, 3)
	tl.confirm()
	tl.pass(time.Minute)
	tl.wantCount("calls", tl.calls(), 0)
	if m := tl.s.Machines[3].Machine; m.Wanted != nil || m.Incident != nil || m.Repair != nil {
		t.Errorf("left over: %+v, %+v, %+v", m.Wanted, m.Incident, m.Repair)
	}
}

// An order that the budget holds is followed in its turn, before its hour is over, and not later.
func TestAnOrderWaitsForTheBudgetAnHour(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		tl := few(t, 10)
		tl.s.Spec.SharedFate.AtLeast = 0
		tl.s.Spec.Limits.InRepair, tl.s.Spec.Repair.OnExternalStop, tl.s.Spec.Repair.ExternalStopHold = 1,
			policy.ExternalStopHoldThenPage, 5*time.Hour
		tl.say(fleet.StandingDown, 0)
		tl.pass(time.Minute) // in repair, waiting for its look
		tl.s.Spec.Repair.Steps = slices.DeleteFunc(slices.Clone(tl.s.Spec.Repair.Steps),
			func(s policy.Step) bool { return s.Kind.Revives() })
		tl.power(fleet.PowerOff, 3) // and is to be built anew
		tl.s.Machines[3].Seen[0].Instance.Stop = fleet.StopExternal
		tl.want("heal", tl.give(fleet.Order{Kind: fleet.OrderHeal, Machine: "web-4"}), "")
		if m := tl.s.Machines[3].Machine; m.Waiting != fleet.ReasonBudget {
			t.Errorf("it waits for %q", m.Waiting)
		}
		tl.pass(59 * time.Minute)
		if late {
			tl.pass(time.Minute)
		}
		tl.power(fleet.PowerRunning, 0)
		tl.say(fleet.StandingUp, 0)
		tl.pass(30 * time.Second)
		if healing := tl.s.Machines[3].Machine.Repair != nil; healing == late {
			t.Errorf("late: %v, and it is healed: %v", late, healing)
		}
		if late && tl.count(record.Order, fleet.ReasonExpired) != 1 {
			t.Error("nobody said that the order lapsed")
		}
	}
}

// More machines are ordered, and then one is named that is to go; hale hears of both at once. It obeys one after the
// other: the number of the one that goes is not taken again for the larger size.
func TestADeleteCountsOnTheSizeThatWasOrderedBefore(t *testing.T) {
	t.Parallel()
	tl := few(t, 4)
	wanted := tl.s.Spec
	tl.s.Wanted, tl.s.Whole.Ledger = &wanted, belief.OpenLedger(&wanted, 4)
	tl.s.Orders = []fleet.Order{
		{ID: "o1", Kind: fleet.OrderScale, Fleet: "web", By: "alice", Size: 6, At: tl.s.Now.Wall},
		{ID: "o2", Kind: fleet.OrderDelete, Fleet: "web", Machine: "web-2", By: "alice", At: tl.s.Now.Wall},
	}
	tl.decide()
	l := tl.s.Whole.Ledger
	if l.Size != 6 || l.Staying() != 5 || l.Asked(&wanted) != 5 || l.Removal("web-2") == nil {
		t.Fatalf("after both orders: %+v, and %d are asked for", l, l.Asked(&wanted))
	}
	i := slices.IndexFunc(tl.records, func(r record.Record) bool { return r.Reason == fleet.ReasonNamed })
	if r := tl.records[i]; r.Size != 5 || r.Limit != 6 {
		t.Errorf("a person is told that it will have %d machines, and not %d", r.Size, r.Limit)
	}
	if left := l.Without("web-2", tl.s.Now.Wall); left.Size != 5 || left.Asked(&wanted) != 5 ||
		!slices.Equal(left.Left, []int{2}) {
		t.Errorf("when it has gone: %+v", left)
	}
}

// What failed when a person took the brake off is excused: one more engages it again, and so does a later storm.
func TestS55TakenOffTheBrakeStaysOff(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.s.Spec.SharedFate.AtLeast = 0
	tl.say(fleet.StandingDown, 0, 1, 2)
	tl.pass(3 * time.Minute)
	if !tl.s.Brake.Engaged || tl.repairs() != 0 {
		t.Fatalf("%+v, %d repairs", tl.s.Brake, tl.repairs())
	}
	tl.want("off", tl.give(fleet.Order{Kind: fleet.OrderBrakeOff}), "")
	tl.wantCount("repairs", tl.repairs(), 2) // the budget
	tl.pass(time.Hour)
	if tl.s.Brake.On() {
		t.Error("it engaged again for what was excused")
	}
	tl.say(fleet.StandingDown, 3)
	tl.pass(3 * time.Minute)
	if !tl.s.Brake.Engaged || tl.s.Brake.Excused != 0 {
		t.Errorf("one more failure: %+v", tl.s.Brake)
	}
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBrake), 2)
	tl.want("off again", tl.give(fleet.Order{Kind: fleet.OrderBrakeOff}), "")
	tl.want("and again", tl.give(fleet.Order{Kind: fleet.OrderBrakeOff}), fleet.ReasonNotBraked)
}

// Who is told of the brake reads which machines fail: of many the first ten, by what their provider calls them.
func TestThePageOfTheBrakeNamesTheMachinesThatFail(t *testing.T) {
	t.Parallel()
	for want, failing := range map[string][]int{
		"web-1, web-2, db-main": {0, 1, 2},
		"web-1, web-2, db-main, web-4, web-5, web-6, web-7, web-8, web-9, web-10": {
			0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
		},
	} {
		tl := street(t, 3)
		tl.s.Spec.SharedFate.AtLeast, tl.s.Spec.Limits.Brake = 0, policy.Brake{AtLeast: 2}
		tl.s.Machines[2].Machine.Alias = "db-main"
		tl.say(fleet.StandingDown, failing...)
		tl.pass(3 * time.Minute)
		at := slices.IndexFunc(tl.records, func(r record.Record) bool {
			return r.Kind == record.Paged && r.Reason == fleet.ReasonBrake
		})
		var named []string
		for _, m := range tl.records[max(at, 0)].Of {
			named = append(named, cmp.Or(m.Alias, string(m.Machine)))
		}
		if got := strings.Join(named, ", "); at < 0 || got != want || tl.records[at].Failing != len(failing) {
			t.Errorf("%d fail, and the page is %+v", len(failing), tl.records[max(at, 0)])
		}
	}
}

// An excuse lapses when it was calm for long enough.
func TestAnExcuseLapses(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.s.Spec.SharedFate.AtLeast = 0
	tl.power(fleet.PowerOff, 0, 1, 2, 4)
	tl.pass(time.Minute)
	tl.give(fleet.Order{Kind: fleet.OrderBrakeOff})
	tl.s.Spec.Mode = policy.ModeObserve // nothing is to come of the repairs
	tl.power(fleet.PowerRunning, 0, 1, 2, 4)
	tl.say(fleet.StandingUp, 0, 1, 2, 4)
	for i := range tl.s.Machines {
		tl.s.Machines[i].Machine.Repair = nil
	}
	tl.pass(9 * time.Minute)
	if tl.s.Brake.Excused != 4 {
		t.Errorf("excused: %+v", tl.s.Brake)
	}
	tl.pass(3 * time.Minute)
	if tl.s.Brake != (belief.Brake{}) {
		t.Errorf("it was calm: %+v", tl.s.Brake)
	}
}

// What is down under a hold is no failure: no brake, no shared fate, no doubt, no page; and when the hold is over,
// nothing that lasted is told of before it lasted again.
func TestL10WhatIsHeldDoesNotFail(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*tale){
		"off":     func(tl *tale) { tl.power(fleet.PowerOff, tl.rack(0)...) },
		"silent":  func(tl *tale) { tl.say(fleet.StandingDown, tl.rack(0)...) },
		"unknown": func(tl *tale) { tl.say(fleet.StandingUnknown, tl.rack(0)...) },
		"stopped": func(tl *tale) {
			tl.power(fleet.PowerOff, tl.rack(0)...)
			for _, i := range tl.rack(0) {
				tl.s.Machines[i].Seen[0].Instance.Stop = fleet.StopExternal
			}
		},
		"out of reach": func(tl *tale) {
			tl.say(fleet.StandingDown, tl.rack(0)...)
			tl.s.Hosts[0].Up, tl.s.Hosts[1].Up = false, false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := street(t, 2)
			tl.s.Spec.Repair.OnExternalStop, tl.s.Spec.Repair.ExternalStopHold = policy.ExternalStopHoldThenPage,
				10*time.Minute
			tl.pass(time.Second)
			for _, h := range []fleet.HostName{"h00", "h01"} {
				tl.want("hold", tl.give(fleet.Order{Kind: fleet.OrderHold, Host: h, For: 2 * time.Hour}), "")
			}
			spoil(tl)
			tl.pass(2*time.Hour - time.Second)
			tl.wantCount("repairs", tl.repairs(), 0)
			tl.wantCount("pages", tl.count(record.Paged, ""), 0)
			tl.wantCount("parents", tl.count(record.ParentOpen, ""), 0)
			if tl.s.Brake.Engaged || tl.s.Whole.Doubt.Reason != "" {
				t.Errorf("%+v, %+v", tl.s.Brake, tl.s.Whole.Doubt)
			}
			told := tl.count(record.Paged, "")
			tl.pass(5 * time.Second)
			blind := tl.count(record.Paged, fleet.ReasonBlind) + tl.count(record.Paged,
				fleet.ReasonHoldExpired) + tl.count(record.Paged, fleet.ReasonHostDown)
			if told != 0 || blind != 0 || len(tl.s.Whole.Holds) != 0 {
				t.Errorf("%d pages, %d of what lasted, holds %+v", told, blind, tl.s.Whole.Holds)
			}
		})
	}
}

// L10: what came up after its build was given up is not even marked while a person holds it, and is as soon as the
// hold is over.
func TestAHoldKeepsWhatIsHealthyFromBeingCertified(t *testing.T) {
	t.Parallel()
	tl := few(t, 4)
	tl.want("hold", tl.give(fleet.Order{Kind: fleet.OrderHold, Machine: "web-4", For: time.Hour}), "")
	tl.s.Machines[3].Machine.Current.Certified, tl.s.Machines[3].Due = false, true
	tl.pass(30 * time.Minute)
	if m := tl.s.Machines[3].Machine; tl.calls() > 0 || m.Waiting != fleet.ReasonHold {
		t.Fatalf("%d calls under a hold, and it waits for %q", tl.calls(), m.Waiting)
	}
	tl.pass(31 * time.Minute)
	tl.wantOnly(fleet.OpCertify, "when the hold is over")
	if tl.calls() != 1 {
		t.Errorf("%d calls when the hold is over", tl.calls())
	}
}

// A hold in the middle of a repair: the step under way finishes, the next one does not begin, and the repair keeps no
// place in the budget from others.
func TestAHoldLetsTheStepFinish(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	tl.s.Spec.Limits.InRepair = 1
	tl.say(fleet.StandingDown, 3)
	tl.pass(time.Second)
	tl.confirm()
	tl.decide()
	tl.wantOnly(fleet.OpReboot, "after the look")
	tl.want("hold", tl.give(fleet.Order{Kind: fleet.OrderHold, Machine: "web-4", For: time.Hour}), "")
	tl.answer(fleet.OutcomeDone)
	tl.pass(time.Second)
	tl.say(fleet.StandingDown, 3)
	tl.pass(time.Minute) // the reboot did not help
	m := tl.s.Machines[3].Machine
	if m.Repair != nil || m.Waiting != fleet.ReasonHold || tl.count(record.RepairEnded, fleet.ReasonHold) != 1 {
		t.Fatalf("it waits for %q, with repair %+v", m.Waiting, m.Repair)
	}
	tl.power(fleet.PowerOff, 5)
	tl.pass(time.Second)
	if tl.s.Machines[5].Machine.Repair == nil {
		t.Error("another one waits for its place")
	}
}

// Nothing is built on a host that a person holds.
func TestNothingIsBuiltOnAHeldHost(t *testing.T) {
	t.Parallel()
	tl := street(t, 1)
	tl.want("hold", tl.give(fleet.Order{Kind: fleet.OrderHold, Host: "h01", For: time.Hour}), "")
	tl.power(fleet.PowerGone, 3)
	tl.s.Hosts[0].Up = true
	tl.pass(time.Second)
	for range 5 {
		tl.confirm()
		tl.pass(time.Second)
		if m := tl.s.Machines[3].Machine; m.Repair != nil && m.Repair.Intent != nil &&
			m.Repair.Intent.Op == fleet.OpDelete {
			tl.answer(fleet.OutcomeDone)
			tl.pass(time.Second)
		}
	}
	r := tl.s.Machines[3].Machine.Repair
	if r == nil || r.Next.Host != "h00" {
		t.Fatalf("built: %+v", r)
	}
	var s guard.Situation
	s.Whole = tl.s.Whole
	if !guard.HostHeld("h01", &s) || guard.HostHeld("h00", &s) || guard.HostHeld("", &s) {
		t.Error("which hosts are held")
	}
}

// Outside the window nothing begins and no further step does; a repair that waits keeps no place. At the edge
// everything goes on.
func TestOutsideTheWindowNothingBegins(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	start := tl.s.Now.Wall
	opens := start.Add(time.Hour).Truncate(time.Minute)
	tl.s.Spec.Repair.Windows = []policy.Window{{
		Minutes: 1 << opens.Minute(), Hours: 1 << opens.Hour(), Days: ^uint64(0), Months: ^uint64(0),
		Weekdays: ^uint64(0), For: 10 * time.Minute, Zone: time.UTC,
	}}
	tl.say(fleet.StandingDown, 3)
	tl.pass(opens.Add(-time.Nanosecond).Sub(tl.s.Now.Wall))
	if m := tl.s.Machines[3].Machine; m.Repair != nil || m.Waiting != fleet.ReasonWindow {
		t.Fatalf("it waits for %q, with repair %+v", m.Waiting, m.Repair)
	}
	tl.pass(time.Nanosecond)
	tl.wantCount("repairs at the edge", tl.repairs(), 1)
	tl.pass(10 * time.Minute) // the look has no answer
	if m := tl.s.Machines[3].Machine; m.Repair != nil || m.Waiting != fleet.ReasonWindow {
		t.Fatalf("after the window it waits for %q, with repair %+v", m.Waiting, m.Repair)
	}
	tl.want("heal", tl.give(fleet.Order{Kind: fleet.OrderHeal, Machine: "web-4"}), "")
	tl.wantCount("repairs by order", tl.repairs(), 2)
	tl.s.Machines[5].Machine = belief.Machine{Name: "web-6", Health: belief.Health{Verdict: belief.VerdictUnknown,
		Cause: belief.CauseMissing}}
	tl.s.Machines[5].Seen, tl.s.Machines[5].Due = nil, true
	tl.decide()
	if r := tl.s.Machines[5].Machine.Repair; r == nil || r.Kind != belief.RepairBuild {
		t.Errorf("what was never built is not built: %+v", r)
	}
}

// The answer to a delete is lost, and the instance is gone. Its disks may be there still, so it is deleted once more
// before its successor is built.
func TestADeleteWhoseAnswerIsLostIsOrderedAgain(t *testing.T) {
	t.Parallel()
	tl := street(t, 1)
	tl.power(fleet.PowerOff, 3)
	tl.pass(time.Second)
	deletes := 0
	for range 60 {
		r := tl.s.Machines[3].Machine.Repair
		switch {
		case r == nil || r.Intent == nil || r.Intent.Unknown:
		case r.Intent.Op == fleet.OpDelete:
			deletes++
			tl.power(fleet.PowerGone, 3)
			tl.answer(fleet.OutcomeUnknown)
		case r.Intent.Op != fleet.OpCreate:
			tl.answer(fleet.OutcomeUnsupported)
		}
		tl.confirm()
		tl.pass(time.Second)
	}
	tl.wantCount("deletes", deletes, 2)
	if r := tl.s.Machines[3].Machine.Repair; r == nil || r.Next.None() {
		t.Errorf("no successor is built: %+v", r)
	}
}
