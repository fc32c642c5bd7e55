package owner_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
	"hale/internal/owner"
	"hale/internal/owner/picture"
)

// driver is the least that drives an owner: a store that keeps what it is given, or takes nothing, and a provider that
// lists three machines.
type driver struct {
	*owner.Owner
	t      *testing.T
	now    time.Duration
	list   []fleet.Instance
	stored []owner.Write
	begun  []owner.Begin
	full   bool
	taken  func(owner.Write) bool // whether a write is stored; nil: it is
	after  func()                 // a round; nil: nothing
}

func spec() policy.Spec {
	return policy.Spec{
		Name: "web", Provider: "lab", Size: 3, Mode: policy.ModeAct, Grace: 20 * time.Second, BlindAfter: time.Minute,
		Checks: []policy.Check{{Name: "alive", Kind: policy.CheckPing, Every: time.Second, Timeout: time.Second,
			DownAfter: 3, UpAfter: 2}},
		UnhealthyWhen: policy.Condition{Op: policy.OpAny, Of: []policy.Condition{{Op: policy.OpTerm, Term: "alive"}}},
		Repair: policy.Repair{
			Steps:    []policy.Step{{Kind: fleet.StepStart, Timeout: 5 * time.Second, VerifyWithin: 10 * time.Second}},
			Attempts: 3, AttemptsIn: time.Hour, Backoff: 5 * time.Second,
		},
		Limits: policy.Limits{InRepair: 2, InBuild: 2, Brake: policy.Brake{AtLeast: 2, Percent: 20}},
	}
}

// drive begins a term with machines that run.
func drive(t *testing.T, change func(*owner.Options)) *driver {
	t.Helper()
	d := &driver{t: t}
	o := owner.Options{Options: picture.Options{Spec: spec(), Installation: "here"}}
	o.FreshID = func() fleet.InstanceID { return "fresh" }
	o.Aimed = func(int, picture.Aim) {}
	if change != nil {
		change(&o)
	}
	for n := 1; n <= o.Spec.Size; n++ {
		name, id := fleet.Name("web").Machine(n), fleet.InstanceID(fmt.Sprintf("id-%d", n))
		mark := fleet.Mark{
			Installation: "here",
			Fleet:        "web",
			Machine:      name,
			Generation:   1,
			Certified:    true,
			Instance:     id,
		}
		address := netip.AddrFrom4([4]byte{10, 0, 0, byte(n)})
		d.list = append(d.list, fleet.Instance{ID: id, Power: fleet.PowerRunning, Mark: mark, Address: address})
		o.Beliefs = append(o.Beliefs, belief.Machine{
			Name:       name,
			Generation: 1,
			Address:    address,
			Current:    belief.Incarnation{ID: id, Generation: 1, Certified: true},
		})
	}
	d.Owner = owner.New(o, d.at())
	d.pass(time.Minute) // of amnesty
	return d
}

func (d *driver) at() fleet.Now {
	return fleet.Now{
		Mono: fleet.Instant(time.Hour + d.now), Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(d.now),
	}
}

// pass lets the time pass, and the provider be listed and the owner be asked every second.
func (d *driver) pass(span time.Duration) {
	for end := d.now + span; d.now < end; d.now += time.Second {
		c := picture.NewCatalogue()
		c.Replace([]fleet.Host{{Up: true}}, d.list, d.at().Mono)
		d.SetProvider(fleet.ProviderState{Standing: fleet.ProviderUp}, d.at())
		d.See(c, nil, d.at())
		d.probe()
		d.round()
	}
}

// probe says that whatever runs answers.
func (d *driver) probe() {
	for i := range d.list {
		e := picture.Edge{Machine: d.list[i].Mark.Machine, Check: "alive", Epoch: d.Aim(i).Epoch, Since: d.at().Mono,
			Standing: fleet.StandingUp}
		if d.list[i].Power != fleet.PowerRunning {
			e.Standing, e.Result = fleet.StandingDown, fleet.ResultTimeout
		}
		if d.View(i).Checks[0].Standing != e.Standing {
			d.Hear(e)
		}
	}
}

func (d *driver) round() {
	if !d.Due(d.at()) {
		return
	}
	d.Decide(d.at())
	for w, ok := d.Ready(d.at()); ok; w, ok = d.Ready(d.at()) {
		if d.full {
			if !d.Refused(fault.New(fault.NoSpace, "", "", nil), d.at()) || d.Due(d.at()) {
				d.t.Error("a full store ends the term, or is tried again at once")
			}
			if d.Refused(fault.New(fault.Conflict, "", "", nil), d.at()) {
				d.t.Error("a term goes on that another server's has followed")
			}
			return
		}
		if d.taken != nil && !d.taken(w) {
			continue
		}
		d.stored = append(d.stored, w)
		for _, b := range d.Stored(d.at()) {
			d.begins(w, b)
		}
	}
	if d.after != nil {
		d.after()
	}
}

// begins checks that what begins is in the belief that was stored right before, and has it end well.
func (d *driver) begins(w owner.Write, b owner.Begin) {
	d.begun = append(d.begun, b)
	if len(w.Machines) != 1 || w.Machines[0].Index != b.Index {
		d.t.Errorf("%s begins for machine %d, and what was stored is %+v", b.Action.Kind, b.Index, w.Machines)
	}
	is := &w.Machines[0].Belief
	switch b.Action.Kind {
	case situation.ActionLook:
		d.TellLook(b.Index, fleet.Look{ID: b.Action.Look, Started: d.at().Mono,
			Seen: fleet.Sighting{Instance: d.list[b.Index], Asked: d.at().Mono}})
	case situation.ActionCall:
		if is.Repair == nil || is.Repair.Intent == nil || is.Repair.Intent.ID != b.Action.Intent.ID {
			d.t.Errorf("the call %s begins, and the stored repair is %+v", b.Action.Intent.Op, is.Repair)
		}
		d.list[b.Index].Power, d.list[b.Index].Stop = fleet.PowerRunning, ""
		d.TellOutcome(b.Index, fleet.Outcome{Intent: b.Action.Intent.ID, Kind: fleet.OutcomeDone})
	default:
	}
}

func (d *driver) crash(n int) { d.list[n-1].Power, d.list[n-1].Stop = fleet.PowerOff, fleet.StopCrash }

func (d *driver) calls() (n int) {
	for _, b := range d.begun {
		if b.Action.Kind == situation.ActionCall {
			n++
		}
	}
	return n
}

func (d *driver) records(kind record.Kind, reason fleet.Reason) (n int) {
	for _, w := range d.stored {
		for _, r := range w.Records {
			if r.Kind == kind && r.Reason == reason {
				n++
			}
		}
	}
	return n
}

func TestWhatBeginsIsStoredBefore(t *testing.T) {
	t.Parallel()
	d := drive(t, nil)
	d.crash(2)
	d.pass(time.Minute)
	if d.calls() != 1 || d.View(1).Machine.Repair != nil || d.View(1).Machine.Health.Verdict != belief.VerdictHealthy {
		t.Errorf("%d calls; web-2 is %+v", d.calls(), d.View(1).Machine)
	}
	for _, w := range d.stored {
		for _, r := range w.Records {
			if r.Fleet != "web" || r.Provider != "lab" && r.Machine == "" || r.At.IsZero() {
				t.Errorf("a record is not complete: %+v", r)
			}
		}
	}
}

// TestAFullStoreTakesASignOfLifeBeforeAnythingIsDecided has the store take nothing while a machine crashes: nothing
// begins. What was heard meanwhile is decided on when there is space again.
func TestAFullStoreTakesASignOfLifeBeforeAnythingIsDecided(t *testing.T) {
	t.Parallel()
	d := drive(t, nil)
	d.full = true
	d.crash(2)
	d.pass(10 * time.Second)
	if d.State().Acting != fleet.ReasonStoreFull || len(d.begun) > 0 {
		t.Fatalf("acting: %q; %d actions began", d.State().Acting, len(d.begun))
	}
	foreseen := d.Foresee(d.at())
	if len(foreseen) != 1 || foreseen[0].Belief.Health.Verdict != belief.VerdictUnhealthy {
		t.Errorf("foreseen is %+v, not that web-2 is unhealthy", foreseen)
	}
	d.full, d.stored = false, nil
	d.pass(time.Minute)
	if len(d.stored) == 0 || !d.stored[0].Alive || d.records(record.Owner, fleet.ReasonActing) != 1 {
		t.Errorf("what was stored first is %+v", d.stored)
	}
	if d.State().Acting != "" || d.calls() != 1 {
		t.Errorf("acting: %q; %d calls", d.State().Acting, d.calls())
	}
}

// TestWhatIsNotStoredIsToldAgain keeps a record until a write that has it is stored.
func TestWhatIsNotStoredIsToldAgain(t *testing.T) {
	t.Parallel()
	d := drive(t, nil)
	d.stored, d.full = nil, true
	d.ClockSet(d.at())
	d.pass(3 * time.Second)
	d.full = false
	d.pass(3 * time.Second)
	if n := d.records(record.Owner, fleet.ReasonClockStep); n != 1 {
		t.Errorf("the clock's step is recorded %d times", n)
	}
	if len(d.Noted()) > 0 {
		t.Errorf("left to be stored: %+v", d.Noted())
	}
}

// TestAnOrderLeavesTheInboxWithWhatFollowsFromIt tells an order and a letter that is none twice, as a watch may.
func TestAnOrderLeavesTheInboxWithWhatFollowsFromIt(t *testing.T) {
	t.Parallel()
	d := drive(t, nil)
	d.stored = nil
	o := fleet.Order{
		ID:      "1",
		Kind:    fleet.OrderBrakeOn,
		Fleet:   "web",
		By:      "ann",
		Reason:  "a look",
		At:      d.at().Wall,
		Expires: d.at().Wall.Add(time.Hour),
	}
	if !d.TellOrder(o) || d.TellOrder(o) || !d.TellVoid("2", "no JSON") || d.TellVoid("2", "no JSON") {
		t.Error("a letter is taken in twice")
	}
	d.pass(3 * time.Second)
	if d.TellOrder(o) {
		t.Error("an order that was taken up is taken in again")
	}
	d.pass(3 * time.Second)
	var rulings []fleet.Ruling
	for _, w := range d.stored {
		if len(w.Rulings) > 0 && !w.Brake.On() {
			t.Errorf("the order leaves, and the brake stored with it is %+v", w.Brake)
		}
		rulings = append(rulings, w.Rulings...)
	}
	if len(rulings) != 2 || rulings[0] != (fleet.Ruling{Order: "2", Refused: fleet.ReasonMalformed}) ||
		rulings[1].Order != "1" ||
		rulings[1].Refused != "" {
		t.Errorf("the rulings are %+v", rulings)
	}
	if b := d.State().Brake; !b.On() {
		t.Error("the brake is off")
	}
}

// TestALastPlaceThatAnotherFleetTookIsNotTakenTwice has another owner enter a repair between the decision and its
// write: this owner's repair does not begin, until the place is free.
func TestALastPlaceThatAnotherFleetTookIsNotTakenTwice(t *testing.T) {
	t.Parallel()
	d := drive(t, func(o *owner.Options) {
		o.Spec.Limits.Shared = []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 1}}
	})
	var other budget.Slots
	for n := range 40 { // as many starts as there may be
		name := fleet.Name("db").Machine(n + 1)
		other = other.With(budget.Slot{Machine: name, Repair: string(name) + "/r1", Provider: "lab", Start: true})
	}
	refused, overtaken := 0, false
	d.taken = func(w owner.Write) bool {
		if w.Slots == nil {
			return true
		}
		overtaken = true
		refused++
		if d.Overtaken(other); refused > 1 {
			t.Fatal("the same place is wanted again in the same round")
		}
		return false
	}
	d.after = func() {
		if overtaken && !d.Dirty() {
			t.Error("what came too late is not decided once more")
		}
		overtaken = false
	}
	d.crash(2)
	d.pass(20 * time.Second)
	if refused != 1 || d.View(1).Machine.Repair != nil || d.calls() > 0 {
		t.Fatalf("%d writes came too late, %d calls; web-2 is %+v", refused, d.calls(), d.View(1).Machine)
	}
	if m := d.View(1).Machine; m.Waiting != fleet.ReasonStarts {
		t.Errorf("web-2 waits for %q", m.Waiting)
	}

	d.taken = nil
	d.SetSlots(nil)
	d.pass(time.Minute)
	if d.calls() != 1 || len(d.State().Slots) > 0 {
		t.Errorf("%d calls; the book is %+v", d.calls(), d.State().Slots)
	}
}

// TestClaimsAreWhatIsInRepair gives back places of repairs that ended without the book, and no other fleet's.
func TestClaimsAreWhatIsInRepair(t *testing.T) {
	t.Parallel()
	d := drive(t, func(o *owner.Options) {
		o.Spec.Limits.Shared = []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 1}}
	})
	db := budget.Slot{Machine: "db-1", Repair: "db-1/r1"}
	d.SetSlots(budget.Slots{db, {Machine: "web-1", Repair: "web-1/r7"}, {Machine: "web-9", Repair: "web-9/r1"}})
	if got := d.Claims(); len(got) != 1 || got[0] != db {
		t.Errorf("the book is to be %+v", got)
	}
}

// TestWhatHasNoConsequenceIsStoredTogether has twelve of twenty machines crash at once: what is only to be written down
// is one transaction, as far as there is room, and what begins something has its own.
func TestWhatHasNoConsequenceIsStoredTogether(t *testing.T) {
	t.Parallel()
	const size, room, crashed = 20, 12, 12
	d := drive(t, func(o *owner.Options) {
		o.Spec.Size = size
		o.Spec.Limits = policy.Limits{InRepair: size, InBuild: size, Brake: policy.Brake{AtLeast: size}}
		o.Together = func(all []round.Decided) int { return min(len(all), room) }
	})
	most := 0
	for _, w := range d.stored {
		most = max(most, len(w.Machines))
	}
	if most != room {
		t.Errorf("at most %d beliefs are stored together, and there is room for %d", most, room)
	}
	for n := 1; n <= crashed; n++ {
		d.crash(n)
	}
	d.pass(2 * time.Minute)
	if d.calls() != crashed {
		t.Errorf("%d calls for %d machines that crashed", d.calls(), crashed)
	}
}
