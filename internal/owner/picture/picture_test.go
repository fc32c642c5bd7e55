package picture_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/owner/picture"
)

// album is a picture of a fleet of three, web-1 to web-3 on hosts a, b and c, with what it told of its aims.
type album struct {
	*picture.Picture
	t     *testing.T
	spec  policy.Spec
	hosts []fleet.Host
	list  []fleet.Instance
	aims  []picture.Aim // in the order in which they were told
	fresh int
}

func at(d time.Duration) fleet.Instant { return fleet.Instant(time.Hour + d) }

func noon(d time.Duration) fleet.Now {
	return fleet.Now{Mono: at(d), Wall: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(d)}
}

func address(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}) }

// webs returns the beliefs in three machines that were built, and what the provider says of them.
func webs() (beliefs []belief.Machine, hosts []fleet.Host, list []fleet.Instance) {
	for n := 1; n <= 3; n++ {
		name, id, host := fleet.Name("web").Machine(n), fleet.InstanceID(fmt.Sprintf("id-%d", n)),
			fleet.HostName(rune('a'+n-1))
		beliefs = append(beliefs, belief.Machine{
			Name: name, Generation: 1, Epoch: 1, Current: belief.Incarnation{ID: id, Generation: 1, Host: host,
				Certified: true}, Address: address(n),
		})
		hosts = append(hosts, fleet.Host{Name: host, Up: true})
		list = append(list, fleet.Instance{
			ID: id, Host: host, Power: fleet.PowerRunning, Address: address(n),
			Mark: fleet.Mark{Fleet: "web", Machine: name, Generation: 1},
		})
	}
	return beliefs, hosts, list
}

func spec() policy.Spec {
	return policy.Spec{Name: "web", Size: 3, Checks: []policy.Check{
		{Name: "alive", Every: time.Second, Timeout: time.Second, DownAfter: 3},
		{Name: "page", Every: 2 * time.Second, Timeout: time.Second, DownAfter: 3},
	}}
}

// open opens an album at at(0).
func open(t *testing.T, change func(*picture.Options)) *album {
	t.Helper()
	beliefs, hosts, list := webs()
	a := &album{t: t, spec: spec(), hosts: hosts, list: list}
	o := picture.Options{
		Spec: a.spec, Installation: "here", Beliefs: beliefs, Epoch: 7,
		FreshID: func() fleet.InstanceID { a.fresh++; return fleet.InstanceID(fmt.Sprintf("fresh-%d", a.fresh)) },
		Aimed:   func(_ int, aim picture.Aim) { a.aims = append(a.aims, aim) },
	}
	if change != nil {
		change(&o)
	}
	a.Picture = picture.New(o, noon(0))
	return a
}

// shown opens an album that saw the provider's listing a second after its beginning.
func shown(t *testing.T) *album {
	t.Helper()
	a := open(t, nil)
	if doubts := a.see(time.Second); len(doubts) > 0 {
		t.Fatalf("what is listed is in doubt: %v", doubts)
	}
	return a
}

// see shows the album its list, as asked at at(d).
func (a *album) see(d time.Duration) []picture.Doubt {
	c := picture.NewCatalogue()
	c.Replace(slices.Clone(a.hosts), a.list, at(d))
	a.SetProvider(fleet.ProviderState{Standing: fleet.ProviderUp})
	return a.See(c, nil)
}

// settle ends a round in which nothing was decided that changes a belief.
func (a *album) settle() {
	for i := range a.Len() {
		a.Adopt(round.Decided{Index: i, Belief: a.View(i).Machine})
	}
	a.Settled()
}

// edge says that a check of web-2 went down.
func (a *album) edge() picture.Edge {
	return picture.Edge{
		Machine: "web-2", Check: "page", Epoch: a.Aim(1).Epoch, Standing: fleet.StandingDown,
		Result: fleet.ResultRefused, Since: at(5 * time.Second),
	}
}

func (a *album) wantPage(want fleet.Standing, result fleet.ResultReason, when string) {
	a.t.Helper()
	if c := a.View(1).Checks[1]; c.Standing != want || c.Result != result {
		a.t.Errorf("%s web-2's page is %s (%q), not %s (%q)", when, c.Standing, c.Result, want, result)
	}
}

func TestANewOwnerBeginsAfresh(t *testing.T) {
	t.Parallel()
	beliefs, _, _ := webs()
	beliefs[1].Health = belief.Health{Verdict: belief.VerdictHealthy, SinceMono: 1}
	far := beliefs[2]
	far.Name, far.Current.ID = "web-5", "id-5"
	a := open(t, func(o *picture.Options) {
		o.Beliefs = []belief.Machine{beliefs[1], far}
		o.Brake = belief.Brake{Engaged: true, CalmSince: 12}
	})
	var names []fleet.MachineName
	for i := range a.Len() {
		v := a.View(i)
		names = append(names, v.Machine.Name)
		if k, ok := a.Index(v.Machine.Name); !ok || k != i {
			t.Errorf("%s is at %d, and found at %d", v.Machine.Name, i, k)
		}
		if !v.Due || v.Machine.Health.Verdict != belief.VerdictUnknown || v.Machine.Health.SinceMono != at(0) {
			t.Errorf("%s is not judged afresh: due %v, %+v", v.Machine.Name, v.Due, v.Machine.Health)
		}
	}
	if got := fmt.Sprint(names); got != "[web-1 web-2 web-3 web-5]" {
		t.Errorf("the machines are %s: what is missing is to be added, and what is too many is to be kept", got)
	}
	if _, ok := a.Index("web-4"); ok {
		t.Error("web-4 was neither believed nor wanted")
	}
	if b := a.State().Brake; !b.Engaged || b.CalmSince != 0 {
		t.Errorf("the brake stays, its calm begins anew: %+v", b)
	}
	if want := at(guard.SettleTime(a.spec) + time.Second); !a.Dirty() || a.State().SteadyAt != want {
		t.Errorf("dirty %v, steady at %v, not %v", a.Dirty(), a.State().SteadyAt, want)
	}
}

// L7: while the next active server rests, calls of the last one may still be carried out.
func TestL07AFleetIsNotSteadyBeforeItsServerHasRested(t *testing.T) {
	t.Parallel()
	p := picture.New(picture.Options{Spec: spec(), Rest: time.Hour,
		FreshID: func() fleet.InstanceID { return "fresh" }}, noon(0))
	if is := p.Situation(noon(0)).State; is.SteadyAt < at(time.Hour) {
		t.Errorf("steady at %v, while the server rests for an hour", is.SteadyAt)
	}
}

func TestAFreshIDIsUsedOnce(t *testing.T) {
	t.Parallel()
	a := shown(t)
	before := a.View(0).FreshID
	a.settle()
	if a.View(0).FreshID != before {
		t.Error("an id that nobody took was thrown away")
	}
	m := a.View(0).Machine.Clone()
	m.Repair = &belief.Repair{Climb: belief.Climb{Next: belief.Incarnation{ID: before, Generation: 2}}}
	a.Adopt(round.Decided{Index: 0, Belief: m})
	if a.View(0).FreshID == before {
		t.Error("an id that was taken is offered again")
	}
}

func TestChecksFollowTheMachine(t *testing.T) {
	t.Parallel()
	a := shown(t)
	if got := a.Aim(1); got != (picture.Aim{Instance: "id-2", Address: address(2), Epoch: 9}) {
		t.Fatalf("web-2 is probed at %+v", got)
	}
	told := len(a.aims)
	a.see(2 * time.Second)
	a.settle()
	if len(a.aims) != told {
		t.Error("the aims changed although nothing did")
	}

	a.list[1].Address = address(22)
	a.Hear(a.edge())
	a.see(3 * time.Second)
	if got := a.Aim(1); got.Address != address(22) || got.Epoch != 11 {
		t.Errorf("web-2 moved, and is probed at %+v", got)
	}
	a.wantPage(fleet.StandingUnknown, fleet.ResultNone, "at its new address")

	m := a.View(1).Machine.Clone()
	m.Epoch++
	a.Adopt(round.Decided{Index: 1, Belief: m})
	if got := a.Aim(1).Epoch; got != 12 {
		t.Errorf("after an act the probe epoch is %d", got)
	}
	m.Acted, m.Address = at(4*time.Second), address(2)
	a.Adopt(round.Decided{Index: 1, Belief: m})
	if got := a.Aim(1).Address; got != address(2) {
		t.Errorf("what was seen before the last act says nothing of today, and web-2 is probed at %v", got)
	}
	m.Current = belief.Incarnation{}
	a.Adopt(round.Decided{Index: 1, Belief: m})
	if got := a.Aim(1); got != (picture.Aim{}) || a.aims[len(a.aims)-1] != got {
		t.Errorf("a machine without an instance is probed at %+v", got)
	}
}

func TestTheAddressOfAnotherIsNotProbed(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.list[0].Address = address(2) // the lease of web-2's address went to web-1
	a.list[1].Address = netip.Addr{}
	a.see(2 * time.Second)
	if got := a.Aim(1); got.Address.IsValid() || got.Epoch == 0 {
		t.Errorf("web-2 is probed at %+v, where web-1 answers", got)
	}
	a.list[0].Power = fleet.PowerOff
	a.see(3 * time.Second)
	if got := a.Aim(1).Address; got != address(2) {
		t.Errorf("nobody else runs there any more, and web-2's last address stays probed, not %v", got)
	}
}

func TestAnEdgeOfAnotherAimIsIgnored(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.settle()
	for name, spoil := range map[string]func(*picture.Edge){
		"an older epoch": func(e *picture.Edge) { e.Epoch-- }, "a later epoch": func(e *picture.Edge) { e.Epoch++ },
		"no epoch":         func(e *picture.Edge) { e.Epoch = 0 },
		"a machine beyond": func(e *picture.Edge) { e.Machine = "web-9" },
		"a check of old":   func(e *picture.Edge) { e.Check = "gone" },
	} {
		e := a.edge()
		spoil(&e)
		a.Hear(e)
		a.wantPage(fleet.StandingUnknown, fleet.ResultNone, "after an edge of "+name)
		if a.Dirty() {
			t.Errorf("%s is something to decide", name)
		}
	}
	a.Hear(a.edge())
	a.wantPage(fleet.StandingDown, fleet.ResultRefused, "after an edge")
	if v := a.View(1); !a.Dirty() || !v.Due || v.Checks[1].Since != at(5*time.Second) || a.View(0).Due {
		t.Errorf("web-2 alone is due, down since the edge: %+v", v.Checks)
	}
	again := a.edge()
	again.Result, again.Since = fleet.ResultTimeout, at(9*time.Second)
	a.Hear(again)
	if c := a.View(1).Checks[1]; c.Since != at(5*time.Second) || c.Result != fleet.ResultTimeout {
		t.Errorf("another reason for the same standing is no new standing: %+v", c)
	}
}

func TestADeafPictureForgetsTheChecks(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.Hear(a.edge())
	a.settle()
	a.Deafen(fleet.ResultLate)
	a.wantPage(fleet.StandingUnknown, fleet.ResultLate, "deaf")
	if !a.Dirty() || !a.View(0).Due || !a.Deaf() {
		t.Error("nothing follows from the deafness")
	}
	a.Hear(a.edge())
	a.wantPage(fleet.StandingUnknown, fleet.ResultLate, "still deaf")

	a.Listen(noon(time.Minute))
	if want := at(time.Minute + guard.SettleTime(a.spec)); a.State().SteadyAt != want || a.Deaf() {
		t.Errorf("deaf %v, steady at %v, not %v", a.Deaf(), a.State().SteadyAt, want)
	}
	a.Hear(a.edge())
	a.wantPage(fleet.StandingDown, fleet.ResultRefused, "listening again")
}

func TestAfterAGapNothingOldCounts(t *testing.T) {
	t.Parallel()
	a := shown(t)
	old := a.edge()
	a.Hear(old)
	a.settle()
	a.ClockSet(noon(time.Minute))
	a.wantPage(fleet.StandingUnknown, fleet.ResultNone, "after a gap")
	a.Hear(old)
	a.wantPage(fleet.StandingUnknown, fleet.ResultNone, "after an edge from before the gap")
	for i := range a.Len() {
		v := a.View(i)
		if !v.Due || v.Machine.Acted != at(time.Minute) || v.Machine.Health.Verdict != belief.VerdictUnknown {
			t.Errorf("%s is not judged afresh: %+v", v.Machine.Name, v.Machine)
		}
	}
	if want := at(time.Minute + guard.SettleTime(a.spec)); !a.Dirty() || a.State().SteadyAt != want {
		t.Errorf("dirty %v, steady at %v, not %v", a.Dirty(), a.State().SteadyAt, want)
	}
}

func TestWhatWasToldIsDecidedOnce(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.settle()
	a.TellOutcome(0, fleet.Outcome{Intent: "c1", Kind: fleet.OutcomeDone})
	gone := fleet.Sighting{Instance: fleet.Instance{ID: "id-2", Power: fleet.PowerGone}, Asked: at(4 * time.Second)}
	a.TellLook(1, fleet.Look{ID: "l1", Seen: gone})
	s := a.Situation(noon(5 * time.Second))
	if o, l := s.Machines[0].Outcome, s.Machines[1].Look; o == nil || o.Intent != "c1" || l == nil || l.ID != "l1" ||
		!a.Dirty() {
		t.Errorf("outcome %v, look %v, dirty %v", o, l, a.Dirty())
	}
	if s.Machines[1].Sighting("id-2") != gone {
		t.Errorf("what the look saw is not in the picture: %+v", s.Machines[1].Seen)
	}
	a.settle()
	if v, w := a.View(0), a.View(1); v.Outcome != nil || v.Due || w.Look != nil || w.Due || a.Dirty() {
		t.Error("what was decided is still to be decided")
	}
}

func TestWhatHoldsActsBackIsInTheSnapshot(t *testing.T) {
	t.Parallel()
	a := shown(t)
	a.SetActing(fleet.ReasonStoreFull)
	a.AdoptBrake(belief.Brake{Engaged: true})
	s := a.Situation(noon(0))
	if s.Acting != fleet.ReasonStoreFull || !s.Brake.Engaged || s.Provider.Standing != fleet.ProviderUp ||
		len(s.Hosts) != 3 || s.Installation != "here" {
		t.Errorf("%+v", s)
	}
	if a.State().Acting != s.Acting || a.State().Provider != s.Provider || len(a.State().Hosts) != 3 {
		t.Error("the picture says something else than its snapshot")
	}
}

func TestCopiesShareNothing(t *testing.T) {
	t.Parallel()
	a := shown(t)
	copies := a.Copies()
	a.Hear(a.edge())
	a.list[1].Power = fleet.PowerOff
	a.see(2 * time.Second)
	if c := copies[1]; c.Checks[1].Standing != fleet.StandingUnknown || c.Seen[0].Instance.Power != fleet.PowerRunning {
		t.Errorf("a copy follows the picture: %+v", c)
	}
}

// TestAProgramIsToldWhereItsMachineIs: a move, or other metadata, are followed as they are listed where a check's
// program is told them.
func TestAProgramIsToldWhereItsMachineIs(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]picture.Aim{
		"{host}": {Host: "elsewhere"}, "{meta.role}": {Metadata: "role=db\n"}, "{id}": {},
	} {
		a := open(t, func(o *picture.Options) {
			o.Spec.Checks[0].Kind = policy.CheckExec
			o.Spec.Checks[0].Exec = policy.ExecCheck{Command: []string{"ask", argument}}
		})
		a.see(time.Second)
		before := a.Aim(1)
		a.list[1].Host, a.list[1].Metadata = "elsewhere", "role=db\n"
		a.see(2 * time.Second)
		after := a.Aim(1)
		if after.Host != want.Host || after.Metadata != want.Metadata ||
			(after.Epoch != before.Epoch) != (argument != "{id}") {
			t.Errorf("%s: aimed at %+v, and then at %+v", argument, before, after)
		}
	}
}

// TestAnAgentIsAskedOnTheHostWhereTheInstanceIs: a move is followed as it is listed, and only by the checks of those
// that the provider asks.
func TestAnAgentIsAskedOnTheHostWhereTheInstanceIs(t *testing.T) {
	t.Parallel()
	for kind, want := range map[policy.CheckKind]fleet.HostName{policy.CheckAgent: "elsewhere", policy.CheckPing: ""} {
		a := open(t, func(o *picture.Options) { o.Spec.Checks[0].Kind = kind })
		a.see(time.Second)
		before := a.Aim(1)
		a.list[1].Host = "elsewhere"
		a.see(2 * time.Second)
		after := a.Aim(1)
		if after.Host != want || (after.Epoch != before.Epoch) != (kind == policy.CheckAgent) {
			t.Errorf("%s: aimed at %+v, and after the move at %+v", kind, before, after)
		}
	}
}
