package decide_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// tale is a fleet that is decided on round by round: what it believes is adopted, what it asks for is noted and
// answered only if the tale says so.
type tale struct {
	*testing.T
	s       situation.Situation
	records []record.Record
	actions []situation.Action
	rulings []fleet.Ruling
	asked   []int // on demand
	unheard bool  // nothing comes of those questions
}

// street is a fleet of healthy machines, ten on each host and two hosts in each rack.
func street(t *testing.T, racks int) *tale {
	t.Helper()
	tl := &tale{T: t}
	size := racks * 20
	tl.s = crowd(size, 0)
	tl.s.Hosts = nil
	for h := range racks * 2 {
		tl.s.Hosts = append(tl.s.Hosts, fleet.Host{Name: hostNamed(h), Up: true,
			Place: fleet.Place{Rack: fmt.Sprintf("r%d", h/2)}})
	}
	for i := range tl.s.Machines {
		v := &tl.s.Machines[i]
		v.Machine.Current.Host, v.Seen[0].Instance.Host = hostNamed(i/10), hostNamed(i/10)
		v.Seen[0].Instance.Network, v.Due = "default", true
	}
	tl.s.Spec.SharedFate = policy.SharedFate{Then: policy.FatePage, AtLeast: 3, Wait: 10 * time.Minute}
	return tl
}

func hostNamed(n int) fleet.HostName { return fleet.HostName(fmt.Sprintf("h%02d", n)) }

// rack returns the indices of the rack's machines.
func (tl *tale) rack(n int) []int {
	var out []int
	for i := n * 20; i < (n+1)*20; i++ {
		out = append(out, i)
	}
	return out
}

// pass lets time pass and decides, as often as the decisions ask for; each second the provider is heard.
func (tl *tale) pass(d time.Duration) {
	tl.Helper()
	for end := tl.s.Now.Mono.Add(d); ; {
		next := tl.decide()
		if tl.s.Now.Mono >= end {
			return
		}
		at := min(end, tl.s.Now.Mono.Add(time.Second))
		if next > tl.s.Now.Mono {
			at = min(at, next)
		}
		gone := at.Sub(tl.s.Now.Mono)
		tl.s.Now.Mono, tl.s.Now.Wall = at, tl.s.Now.Wall.Add(gone)
	}
}

// decide runs one round and adopts it.
func (tl *tale) decide() fleet.Instant {
	tl.Helper()
	for i := range tl.s.Machines {
		v := &tl.s.Machines[i]
		v.FreshID = fleet.InstanceID(fmt.Sprintf("fresh-%d-%d", i, len(tl.records)))
		for k := range v.Seen {
			v.Seen[k].Asked = tl.s.Now.Mono
		}
	}
	d := decide.Decide(tl.s)
	tl.s.Brake, tl.s.Whole = d.Brake, d.Whole
	tl.rulings = append(tl.rulings, d.Orders...)
	tl.records = append(tl.records, d.Records...)
	for _, m := range d.Machines {
		v := &tl.s.Machines[m.Index]
		if v.Machine.Epoch != m.Belief.Epoch { // its checks begin anew
			v.Epoch, v.Due = m.Belief.Epoch, true
			v.Checks[0].Standing = fleet.StandingUnknown
		} else {
			v.Due = false
		}
		v.Machine, v.Look, v.Outcome, v.Gathered = m.Belief, nil, nil, nil
		tl.rulings = append(tl.rulings, m.Orders...)
		tl.records, tl.actions = append(tl.records, m.Records...), append(tl.actions, m.Actions...)
	}
	tl.s.Orders = nil
	tl.ask(d.Asks)
	return d.Next
}

// ask has machines say on demand at once what their check hears by now, suspect or not.
func (tl *tale) ask(machines []int) {
	tl.asked, tl.s.InVain = append(tl.asked, machines...), slices.Clone(tl.s.InVain)
	for _, i := range machines {
		v := &tl.s.Machines[i]
		if v.Asking = tl.s.Now.Mono; tl.unheard {
			continue
		}
		is := v.Checks[0].Standing
		v.Asked = situation.Asked{At: v.Asking, Down: is == fleet.StandingFailing || is == fleet.StandingDown,
			Heard: is == fleet.StandingUp}
		if v.Asking = 0; v.Asked.Down {
			tl.s.InVain = append(tl.s.InVain, i)
		}
	}
}

// say sets what the page check says of machines.
func (tl *tale) say(standing fleet.Standing, machines ...int) {
	for _, i := range machines {
		v := &tl.s.Machines[i]
		v.Checks[0] = fleet.CheckState{Check: "page", Standing: standing, Result: fleet.ResultTimeout}
		v.Epoch, v.Due = v.Machine.Epoch, true
	}
}

// power sets what the provider says of machines.
func (tl *tale) power(p fleet.Power, machines ...int) {
	for _, i := range machines {
		v := &tl.s.Machines[i]
		v.Seen[0].Instance.Power, v.Due = p, true
		if p == fleet.PowerRunning {
			v.Seen[0].Instance.Stop = fleet.StopUnknown
		}
	}
}

// keep says that the evidence is kept that was asked for since the last time, and lets that have its effect.
func (tl *tale) keep() {
	asked := tl.take(situation.ActionGather)
	for _, a := range asked {
		v := tl.view(a.Machine)
		v.Gathered, v.Due = &situation.Gathered{ID: a.Gather}, true
	}
	if len(asked) > 0 {
		tl.decide()
	}
}

// confirm answers the looks that were asked for since the last time: the machine is as the provider and the check say.
func (tl *tale) confirm() {
	tl.take(situation.ActionCall)
	tl.keep()
	for _, a := range tl.take(situation.ActionLook) {
		v := tl.view(a.Machine)
		l := fleet.Look{ID: a.Look, Started: tl.s.Now.Mono, Seen: v.Seen[0], Checks: slices.Clone(v.Checks)}
		v.Look, v.Due = &l, true
	}
}

// take returns the actions of the kind, and takes them off the list.
func (tl *tale) take(kind situation.ActionKind) (taken []situation.Action) {
	var left []situation.Action
	for _, a := range tl.actions {
		if a.Kind == kind {
			taken = append(taken, a)
		} else {
			left = append(left, a)
		}
	}
	tl.actions = left
	return taken
}

func (tl *tale) view(m fleet.MachineName) *situation.View {
	return &tl.s.Machines[slices.IndexFunc(tl.s.Machines, func(v situation.View) bool { return v.Machine.Name == m })]
}

func (tl *tale) count(kind record.Kind, why fleet.Reason) int {
	n := 0
	for _, r := range tl.records {
		if r.Kind == kind && (why == "" || r.Reason == why) {
			n++
		}
	}
	return n
}

func (tl *tale) wantCount(what string, got, want int) {
	tl.Helper()
	if got != want {
		tl.Errorf("%s: %d, want %d", what, got, want)
	}
}

// children counts the machines with an incident under an open parent.
func (tl *tale) children() int {
	n := 0
	for i := range tl.s.Machines {
		if in := tl.s.Machines[i].Machine.Incident; in != nil && tl.s.Whole.Parent(in.Parent) != nil {
			n++
		}
	}
	return n
}

func (tl *tale) calls() int {
	n := 0
	for _, a := range tl.actions {
		if a.Kind == situation.ActionCall {
			n++
		}
	}
	return n
}

func (tl *tale) repairs() int { return tl.count(record.RepairStarted, "") }

// S74: one root cause (a switch is down, 20 machines fall silent): one incident with 20 children, one page, and nothing
// is done.
func TestS74ASwitchIsDown(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.pass(time.Second)
	tl.say(fleet.StandingFailing, tl.rack(4)...)
	tl.pass(time.Second)
	for _, i := range tl.rack(4) { // the checks are spread over their interval
		tl.say(fleet.StandingDown, i)
		tl.pass(50 * time.Millisecond)
	}
	tl.pass(time.Hour)
	tl.wantCount("parents", tl.count(record.ParentOpen, ""), 1+tl.count(record.ParentClosed,
		fleet.ReasonSuperseded))
	if p := tl.s.Whole.Parents; len(p) != 1 || p[0].Domain != (fleet.Domain{Kind: fleet.DomainRack, Name: "r4"}) {
		t.Errorf("open parents: %+v", p)
	}
	tl.wantCount("children", tl.children(), 20)
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
	tl.wantCount("pages of the parent", tl.count(record.Paged, fleet.ReasonSharedFate), 1)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.wantCount("looks and calls", len(tl.actions), 0)
	for _, i := range tl.rack(4) {
		if m := tl.s.Machines[i].Machine; m.Waiting != fleet.ReasonSharedFate {
			t.Errorf("%s waits for %q", m.Name, m.Waiting)
		}
	}
}

func TestS74AStrangerIsHealedMeanwhile(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.say(fleet.StandingDown, tl.rack(4)...)
	tl.pass(time.Minute)
	tl.say(fleet.StandingDown, 0)
	tl.pass(time.Minute)
	if m := tl.s.Machines[0].Machine; m.Repair == nil || m.Incident.Parent != "" {
		t.Errorf("the stranger: %+v, waiting for %q", m.Repair, m.Waiting)
	}
	tl.wantCount("repairs", tl.repairs(), 1)
}

func TestS74WhenTheSwitchIsBackEachChildIsJudgedAfresh(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	rack := tl.rack(4)
	tl.say(fleet.StandingDown, rack...)
	tl.pass(time.Minute)
	tl.say(fleet.StandingUp, rack[1:]...) // all but one
	tl.pass(time.Second)
	if len(tl.s.Whole.Parents) != 1 {
		t.Fatal("released before it was calm for a while")
	}
	epoch := tl.s.Machines[rack[0]].Machine.Epoch
	tl.pass(tl.s.Spec.Limits.Brake.ReleaseAfter)
	tl.wantCount("open parents", len(tl.s.Whole.Parents), 0)
	tl.wantCount("released children", tl.count(record.ChildReleased, ""), 1)
	m := tl.s.Machines[rack[0]].Machine
	if m.Epoch != epoch+1 || m.Health.Verdict != belief.VerdictUnknown || m.Repair != nil || m.Incident == nil ||
		m.Incident.Parent != "" {
		t.Errorf("the child is not judged afresh: %+v", m)
	}
	tl.pass(5 * time.Second)
	tl.wantCount("repairs on old evidence", tl.repairs(), 0)
	tl.say(fleet.StandingDown, rack[0])
	tl.pass(5 * time.Second)
	tl.wantCount("repairs on fresh evidence", tl.repairs(), 1)
}

// A host lost power and came back: its machines are off, and what is off may be started under the parent.
func TestS74WhatTheCauseLeftStoppedIsStarted(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	host := tl.rack(4)[:10]
	tl.s.Hosts[8].Up = false
	tl.say(fleet.StandingDown, host...)
	tl.pass(time.Minute)
	tl.wantCount("children", tl.children(), 10)
	tl.wantCount("repairs of machines on a host that is down", tl.repairs(), 0)
	tl.s.Hosts[8].Up = true
	tl.power(fleet.PowerOff, host...)
	tl.pass(time.Second)
	tl.wantCount("repairs, as many as a host may start at once", tl.repairs(), 8)
	tl.confirm()
	tl.pass(time.Second)
	tl.wantCount("starts", tl.calls(), 8)
	for _, a := range tl.actions {
		if a.Kind == situation.ActionCall && a.Intent.Op != fleet.OpStart {
			t.Errorf("%s of %s", a.Intent.Op, a.Machine)
		}
	}
	if len(tl.s.Whole.Parents) != 1 {
		t.Error("the parent is gone")
	}
}

// A start that fails leads to a recreate on the ladder, which a parent forbids: the machine waits and is tried again
// later, and there is no page for it.
func TestS74AStartInVainDestroysNothing(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.s.Spec.Repair.Attempts = 1
	host := tl.rack(4)[:10]
	tl.power(fleet.PowerOff, host...)
	for range 40 {
		tl.pass(5 * time.Second)
		tl.answer(fleet.OutcomeFailed)
	}
	if n := tl.repairs(); n < 4 || n > 60 {
		t.Errorf("%d repairs in 200 s", n)
	}
	tl.wantCount("quarantines", tl.count(record.Quarantined, ""), 0)
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
	tl.wantOnly(fleet.OpStart, "under a parent")
}

// answer confirms each look, and lets each call end so, without effect.
func (tl *tale) answer(how fleet.OutcomeKind) {
	for _, a := range tl.actions {
		i := slices.IndexFunc(tl.s.Machines, func(v situation.View) bool { return v.Machine.Name == a.Machine })
		if a.Kind == situation.ActionCall {
			tl.s.Machines[i].Outcome, tl.s.Machines[i].Due = &fleet.Outcome{Intent: a.Intent.ID, Kind: how}, true
		}
	}
	tl.confirm()
}

// wantOnly checks that no other call was made.
func (tl *tale) wantOnly(op fleet.Op, when string) {
	tl.Helper()
	for _, r := range tl.records {
		if r.Kind == record.Intent && r.Op != op {
			tl.Errorf("%s of %s %s", r.Op, r.Machine, when)
		}
	}
}

func TestS74ARestartKeepsTheParent(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	rack := tl.rack(4)
	tl.say(fleet.StandingDown, rack...)
	tl.pass(time.Minute)
	id := tl.s.Whole.Parents[0].ID
	tl.restart()
	tl.pass(time.Minute) // longer than a calm takes: nothing is known of the children, and that is no calm
	if p := tl.s.Whole.Parents; len(p) != 1 || p[0].ID != id {
		t.Errorf("open parents after the restart: %+v", p)
	}
	tl.say(fleet.StandingDown, rack...)
	tl.pass(time.Minute)
	tl.wantCount("children", tl.children(), 20)
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
	tl.wantCount("repairs", tl.repairs(), 0)
	if since := tl.s.Whole.Parents[0].Since; tl.s.Now.Mono.Sub(since) > 3*time.Minute {
		t.Error("its time did not begin anew")
	}
}

// restart lets another owner take over.
func (tl *tale) restart() {
	tl.s.Whole = tl.s.Whole.Restart(tl.s.Now)
	tl.s.Brake.CalmSince, tl.s.Brake.SteadySince = 0, 0
	tl.s.SteadyAt = tl.s.Now.Mono.Add(guard.SettleTime(tl.s.Spec))
	for i := range tl.s.Machines {
		v := &tl.s.Machines[i]
		v.Machine, v.Due = v.Machine.Restart(tl.s.Now, tl.s.Spec), true
		if v.Checks[0].Standing != fleet.StandingUp {
			v.Checks[0].Standing = fleet.StandingUnknown
		}
	}
}

// An owner that has only just begun to look does not know yet what of an incident is over: it sends no page before it
// does, and then of what is left.
func TestS74ATakeOverTellsOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	for left, pages := range map[fleet.Standing]int{fleet.StandingUp: 0, fleet.StandingDown: 1} {
		tl := street(t, 10)
		tl.say(fleet.StandingDown, tl.rack(4)...)
		tl.pass(time.Minute)
		tl.s.Now.Mono, tl.s.Now.Wall = tl.s.Now.Mono.Add(5*time.Minute), tl.s.Now.Wall.Add(5*time.Minute)
		tl.restart()
		tl.say(fleet.StandingDown, tl.rack(4)...)
		tl.pass(0)
		tl.wantCount("pages before it knows", tl.count(record.Paged, ""), 0)
		tl.say(left, tl.rack(4)...)
		tl.pass(time.Minute)
		tl.wantCount("pages when they are "+string(left), tl.count(record.Paged, ""), pages)
	}
}

func TestS74WhenToPageIsThePolicys(t *testing.T) {
	t.Parallel()
	for then, within := range map[policy.FateAnswer]time.Duration{
		policy.FatePage: 2 * time.Minute, policy.FateWait: 10 * time.Minute, policy.FateEvacuate: 10 * time.Minute,
	} {
		tl := street(t, 10)
		tl.s.Spec.SharedFate.Then = then
		tl.say(fleet.StandingDown, tl.rack(4)...)
		tl.pass(0)
		opened := tl.s.Now.Mono
		for tl.count(record.Paged, "") == 0 && tl.s.Now.Mono.Sub(opened) < time.Hour {
			tl.pass(time.Second)
		}
		if got := tl.s.Now.Mono.Sub(opened).Truncate(2 * time.Second); got != within {
			t.Errorf("%s: paged after %v, want %v", then, got, within)
		}
	}
}

func TestS74AnEvacuationAvoidsTheDomain(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.s.Spec.SharedFate.Then, tl.s.Spec.Repair.Silence = policy.FateEvacuate, policy.SilenceActs
	rack := tl.rack(4)
	tl.say(fleet.StandingDown, rack...)
	tl.pass(9 * time.Minute)
	tl.wantCount("repairs before the wait is over", tl.repairs(), 0)
	tl.pass(2 * time.Minute)
	tl.wantCount("repairs within the budget", tl.repairs(), tl.s.Spec.Limits.InRepair)
	var built []fleet.HostName
	for range 60 {
		built = append(built, tl.obey()...)
		tl.pass(time.Second)
	}
	if len(built) < 4 {
		t.Errorf("%d were built anew", len(built))
	}
	for _, h := range built {
		if h == hostNamed(8) || h == hostNamed(9) {
			t.Errorf("built on %s, in the rack that fails", h)
		}
	}
	for _, r := range tl.records {
		if r.Kind == record.Intent && r.Op == fleet.OpReboot {
			t.Error("a reboot on the spot is no evacuation")
		}
	}
}

// obey lets every call succeed, and returns the hosts of what was built.
func (tl *tale) obey() (built []fleet.HostName) {
	for _, a := range tl.actions {
		i := slices.IndexFunc(tl.s.Machines, func(v situation.View) bool { return v.Machine.Name == a.Machine })
		v := &tl.s.Machines[i]
		if a.Kind != situation.ActionCall {
			continue
		}
		v.Outcome, v.Due = &fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeDone}, true
		switch a.Intent.Op {
		case fleet.OpPowerOff:
			v.Seen[0].Instance.Power = fleet.PowerOff
		case fleet.OpDelete:
			v.Seen[0].Instance.Power = fleet.PowerGone
		case fleet.OpCreate:
			built = append(built, a.Host)
			v.Seen = []fleet.Sighting{{Asked: tl.s.Now.Mono + 1, Instance: fleet.Instance{
				ID: a.Instance, Host: a.Host, Power: fleet.PowerRunning, Network: "default", Mark: a.Mark}}}
		case fleet.OpCertify:
			v.Seen[0].Instance.Mark.Certified = true
		case fleet.OpStart, fleet.OpReboot:
		}
		v.Checks[0].Standing, v.Epoch = fleet.StandingUnknown, v.Machine.Epoch
	}
	tl.confirm()
	for i := range tl.s.Machines {
		v := &tl.s.Machines[i]
		if r := v.Machine.Repair; r != nil && r.Phase == belief.PhaseVerify && v.Machine.Current.Generation > 1 {
			tl.say(fleet.StandingUp, i)
		}
	}
	return built
}

func TestS74WithoutProofNothingIsEvacuated(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.s.Spec.SharedFate.Then = policy.FateEvacuate
	rack := tl.rack(4)
	tl.say(fleet.StandingDown, rack...)
	tl.s.Hosts[8].Up, tl.s.Hosts[9].Up = false, false // their control plane is in the rack, too
	tl.pass(2 * time.Hour)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
	tl.s.Hosts[8].Up, tl.s.Hosts[9].Up = true, true
	for range 120 { // the calls to power off are taken, and the machines run on
		tl.pass(5 * time.Second)
		tl.answer(fleet.OutcomeDone)
	}
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
	tl.wantCount("quarantines", tl.count(record.Quarantined, ""), 0)
	tl.wantOnly(fleet.OpPowerOff, "without proof")
}

// The failures of a power cut in a room become known one after the other: the narrow parents give way to the wide one.
func TestS74AFailureThatGrowsIsBlamedOnTheWiderDomain(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	rack := tl.rack(4)
	tl.say(fleet.StandingDown, rack[:10]...)
	tl.pass(time.Second)
	if p := tl.s.Whole.Parents; len(p) != 1 || p[0].Domain.Kind != fleet.DomainHost {
		t.Fatalf("open parents: %+v", p)
	}
	tl.say(fleet.StandingDown, rack[10:]...)
	tl.pass(time.Second)
	if p := tl.s.Whole.Parents; len(p) != 1 || p[0].Domain.Kind != fleet.DomainRack {
		t.Fatalf("open parents: %+v", p)
	}
	tl.wantCount("superseded", tl.count(record.ParentClosed, fleet.ReasonSuperseded), 1)
	tl.wantCount("children", tl.children(), 20)
}

// Two machines that fail already turn out to lie where others fail: the round that sees it blames the host. If it
// cannot be stored, the next round with the same memory finds the same.
func TestAMoveCanShowASharedFate(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.say(fleet.StandingDown, 40, 41, 42, 43, 100, 101)
	tl.pass(time.Minute)
	tl.wantCount("open parents", len(tl.s.Whole.Parents), 0)
	for _, i := range []int{100, 101} {
		tl.s.Machines[i].Seen[0].Instance.Host, tl.s.Machines[i].Due = hostNamed(4), true
	}
	tl.s.Placed = 1
	var decider decide.Decider
	for range 2 {
		d := decider.Decide(tl.s)
		if p := d.Whole.Parents; len(p) != 1 || p[0].Domain.Name != "h04" || p[0].Failing != 6 || p[0].Members != 12 {
			t.Errorf("open parents: %+v", p)
		}
	}
}

// Hosts that turn out to share a storage share its fate, though no machine moved.
func TestALabelCanShowASharedFate(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.s.Spec.SharedFate.AtLeast, tl.s.Placed = 10, 1
	tl.decide()
	for _, host := range []int{0, 6, 12} {
		tl.say(fleet.StandingDown, 10*host, 10*host+1, 10*host+2, 10*host+3, 10*host+4)
	}
	var decider decide.Decider
	if p := decider.Decide(tl.s).Whole.Parents; len(p) != 0 {
		t.Errorf("open parents: %+v", p)
	}
	for _, host := range []int{0, 6, 12} {
		tl.s.Hosts[host].Place.Storage = "nas"
	}
	if p := decider.Decide(tl.s).Whole.Parents; len(p) != 1 || p[0].Domain != (fleet.Domain{Kind: fleet.DomainStorage,
		Name: "nas"}) {
		t.Errorf("open parents: %+v", p)
	}
}

// A machine that was heard of is in the decision, though nothing follows: otherwise it would be decided again and
// again.
func TestWhoeverWasHeardOfIsDecided(t *testing.T) {
	t.Parallel()
	tl := street(t, 1)
	tl.decide()
	tl.s.Machines[7].Due = true
	if d := decide.Decide(tl.s); len(d.Machines) != 1 || d.Machines[0].Index != 7 || len(d.Machines[0].Records) != 0 {
		t.Errorf("decided: %+v", d.Machines)
	}
}

// Two racks that go at nearly the same time are two incidents, and one page, one reminder and one message when the last
// of them is back.
func TestS74TwoRacksAreTwoIncidentsAndOnePage(t *testing.T) {
	t.Parallel()
	tl := street(t, 20)
	tl.s.Spec.Notify.RemindEvery = time.Hour
	tl.say(fleet.StandingDown, tl.rack(9)...)
	tl.pass(10 * time.Second)
	tl.say(fleet.StandingDown, tl.rack(4)...)
	tl.pass(3 * time.Minute)
	tl.wantCount("open parents", len(tl.s.Whole.Parents), 2)
	tl.wantCount("children", tl.children(), 40)
	tl.wantMessages("after the pause", "pages of 40")
	tl.pass(time.Hour)
	tl.wantMessages("when it lasts", "pages of 40", "reminders of 40")
	tl.say(fleet.StandingUp, tl.rack(9)...)
	tl.pass(10 * time.Minute)
	tl.wantCount("open parents when one is back", len(tl.s.Whole.Parents), 1)
	tl.wantMessages("when one is back", "pages of 40", "reminders of 40")
	tl.say(fleet.StandingUp, tl.rack(4)...)
	tl.pass(10 * time.Minute)
	tl.wantMessages("when both are back", "pages of 40", "reminders of 40", "healed")
}

// Two racks that go far apart in time are two pages: a person reads the first of them at once.
func TestS74RacksThatGoOneAfterTheOtherAreTwoPages(t *testing.T) {
	t.Parallel()
	tl := street(t, 20)
	tl.say(fleet.StandingDown, tl.rack(9)...)
	tl.pass(time.Minute)
	tl.say(fleet.StandingDown, tl.rack(4)...)
	tl.pass(5 * time.Minute)
	tl.wantMessages("after both", "pages", "pages")
}

// The brake may engage beside the parent; then the parent's page is the one that tells of it, as long as it explains
// the failures.
func TestTheParentsPageSparesTheBrakes(t *testing.T) {
	t.Parallel()
	tl := street(t, 4) // the brake's limit is 16 of 80
	tl.say(fleet.StandingDown, tl.rack(1)...)
	tl.pass(3 * time.Minute)
	if !tl.s.Brake.Engaged {
		t.Fatal("the brake does not count the children")
	}
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
	for _, rack := range []int{0, 2, 3} {
		for _, host := range []int{0, 10} {
			tl.say(fleet.StandingDown, tl.rack(rack)[host:host+3]...)
		}
	}
	tl.pass(time.Second)
	tl.wantCount("pages of the brake when more fails than that", tl.count(record.Paged, fleet.ReasonBrake), 1)
	tl.pass(time.Minute)
	tl.wantCount("pages of the brake", tl.count(record.Paged, fleet.ReasonBrake), 1)
}

func TestAPersonsStopsAndFirstBuildsShareNoFate(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.s.Spec.Repair.OnExternalStop, tl.s.Spec.Repair.ExternalStopHold = policy.ExternalStopHoldThenPage, time.Hour
	for _, i := range tl.rack(4) {
		tl.s.Machines[i].Seen[0].Instance.Stop = fleet.StopExternal
	}
	tl.power(fleet.PowerOff, tl.rack(4)...)
	for _, i := range tl.rack(5) {
		m := &tl.s.Machines[i].Machine
		m.Current.Certified, m.Current.Expired = false, true
		m.Incident = &belief.Incident{ID: string(m.Name) + "/1", Cause: belief.CauseBuild}
		tl.say(fleet.StandingDown, i)
	}
	tl.pass(time.Minute)
	tl.wantCount("parents", tl.count(record.ParentOpen, ""), 0)
}

func TestWithoutPolicyNobodysFateIsShared(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.s.Spec.SharedFate = policy.SharedFate{}
	rack := tl.rack(4)
	tl.say(fleet.StandingDown, append(rack[:9:9], rack[10:19]...)...) // one on each host bears witness
	tl.pass(time.Minute)
	tl.wantCount("parents", tl.count(record.ParentOpen, ""), 0)
	if tl.repairs() == 0 {
		t.Error("nothing is repaired")
	}
}

func TestAPolicyThatWasTakenAwayReleasesItsChildren(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.say(fleet.StandingDown, tl.rack(4)...)
	tl.pass(time.Minute)
	tl.s.Spec.SharedFate = policy.SharedFate{}
	tl.pass(time.Minute)
	tl.wantCount("open parents", len(tl.s.Whole.Parents), 0)
	tl.wantCount("children", tl.children(), 0)
	tl.wantCount("released children", tl.count(record.ChildReleased, ""), 20)
}

// A listing that shows what was may be asked later than a look that shows what is: nothing is done on the listing's
// word.
func TestL10ALookThatSeesAStopIsBelievedAgainstAStaleListing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop fleet.Stop
		acts bool
	}{
		"stopped by a person": {fleet.StopExternal, false},
		"off by itself":       {fleet.StopGuest, false},
		"it runs":             {fleet.StopUnknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := street(t, 5)
			tl.pass(time.Second)
			tl.say(fleet.StandingDown, 3)
			for range 20 {
				tl.pass(5 * time.Second)
				look := slices.IndexFunc(tl.actions,
					func(a situation.Action) bool { return a.Kind == situation.ActionLook })
				if look < 0 {
					continue
				}
				v := &tl.s.Machines[3]
				l := fleet.Look{ID: tl.actions[look].Look, Started: tl.s.Now.Mono, Seen: v.Seen[0],
					Checks: slices.Clone(v.Checks)}
				if !c.acts {
					l.Seen.Instance.Power, l.Seen.Instance.Stop = fleet.PowerOff, c.stop
				}
				v.Look, v.Due, tl.actions = &l, true, nil
			}
			tl.decide()
			calls := tl.count(record.Intent, "")
			if (calls > 0) != c.acts {
				t.Errorf("%d calls", calls)
			}
		})
	}
}
