package decide_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

const ours fleet.Installation = "ours"

func spec(size int) policy.Spec {
	return policy.Spec{
		Name: "web", Provider: "lab", Size: size, Mode: policy.ModeAct,
		Checks: []policy.Check{{Name: "page", Kind: policy.CheckHTTP, Every: time.Second,
			Timeout: 500 * time.Millisecond, DownAfter: 3, UpAfter: 2}},
		UnhealthyWhen: policy.Condition{Op: policy.OpAny, Of: []policy.Condition{{Op: policy.OpTerm, Term: "page"}}},
		Repair: policy.Repair{
			Steps: []policy.Step{
				{Kind: fleet.StepStart, Timeout: 5 * time.Second, VerifyWithin: 10 * time.Second},
				{Kind: fleet.StepReboot, Timeout: 5 * time.Second, VerifyWithin: 10 * time.Second},
				{Kind: fleet.StepRecreate, Timeout: 5 * time.Second, OnDeleteFailure: policy.DeleteFailureContinue},
			},
			Fence: fleet.Fence{Proof: fleet.ProofConfirmedOff}, Attempts: 3, AttemptsIn: time.Hour,
			Backoff:        5 * time.Second,
			OnExternalStop: policy.ExternalStopHeal,
		},
		Limits: policy.Limits{InRepair: 2, InBuild: 2, Brake: policy.Brake{AtLeast: 2, Percent: 20,
			ReleaseAfter: 10 * time.Second}},
		Grace: 20 * time.Second, BuildWithin: 20 * time.Second, BlindAfter: time.Minute,
	}
}

// chaos is a fleet with evidence of any kind: true, late, contradictory. The decisions must be lawful whatever it is.
type chaos struct {
	t       *rapid.T
	s       situation.Situation
	decider decide.Decider // with the memory of all rounds before
	looks   map[int]situation.Action
	gathers map[int]situation.Action
	calls   map[int]situation.Action
	ids     int
	older   bool // the last decision holds the fleet for that
	// orderly: most machines are well, but for those on the afflicted host.
	orderly   bool
	afflicted fleet.HostName
	// moved are the machines that were migrated, not by hale.
	moved map[fleet.MachineName]fleet.HostName
}

func newChaos(t *rapid.T, size int) *chaos {
	c := &chaos{t: t, looks: map[int]situation.Action{}, gathers: map[int]situation.Action{},
		calls: map[int]situation.Action{},
		moved: map[fleet.MachineName]fleet.HostName{}}
	c.s = situation.Situation{
		State: situation.State{
			Now:      fleet.Now{Mono: fleet.Instant(time.Second), Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
			Spec:     spec(size),
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			SteadyAt: 1,
			Hosts: []fleet.Host{{Name: "h1", Up: true, Place: fleet.Place{Rack: "r1"}}, {Name: "h2", Up: true},
				{Name: "h3", Up: true}},
		},
		Installation: ours,
		Placed:       1,
	}
	c.s.Spec.SharedFate = policy.SharedFate{AtLeast: 3, Wait: 10 * time.Second, Then: rapid.SampledFrom(
		[]policy.FateAnswer{policy.FateWait, policy.FatePage, policy.FateEvacuate}).Draw(t, "then")}
	c.s.Spec.Tells = tells
	for n := 1; n <= size; n++ {
		c.s.Machines = append(c.s.Machines, situation.View{
			Machine: belief.Machine{Name: c.s.Spec.Name.Machine(n)},
			Checks:  []fleet.CheckState{{Check: "page", Standing: fleet.StandingUnknown}},
			Tells:   []fleet.CheckState{{Check: "disk", Standing: fleet.StandingUnknown}},
		})
	}
	return c
}

// stir lets something happen.
func (c *chaos) stir() {
	d := time.Duration(rapid.IntRange(0, 8000).Draw(c.t, "ms")) * time.Millisecond
	c.s.Now.Mono, c.s.Now.Wall = c.s.Now.Mono.Add(d), c.s.Now.Wall.Add(d)
	provider, vantage := c.s.Provider.Standing, c.s.Vantage.Standing
	c.s.Acting = rapid.SampledFrom([]fleet.Reason{"", "", "", "", "", fleet.ReasonStoreFull}).Draw(c.t, "acting")
	c.s.Provider.Standing = rapid.SampledFrom([]fleet.ProviderStanding{
		fleet.ProviderUp, fleet.ProviderUp, fleet.ProviderUp, fleet.ProviderUp, fleet.ProviderDown,
		fleet.ProviderDoubtful}).Draw(c.t, "provider")
	c.s.Vantage = fleet.Vantage{Since: c.s.Now.Mono,
		Standing: rapid.SampledFrom(append(slices.Repeat([]fleet.VantageStanding{""}, 30),
			fleet.VantageOK, fleet.VantageUnknown, fleet.VantageIsolated)).Draw(c.t, "vantage")}
	if c.orderly {
		c.s.Acting, c.s.Provider.Standing, c.s.Vantage = "", fleet.ProviderUp, fleet.Vantage{}
	}
	if rapid.IntRange(0, 9).Draw(c.t, "affliction") == 0 {
		c.afflicted = rapid.SampledFrom([]fleet.HostName{"", "h1", "h2"}).Draw(c.t, "afflicted")
	}
	if rapid.IntRange(0, 4).Draw(c.t, "migration") == 0 {
		i := rapid.IntRange(0, len(c.s.Machines)-1).Draw(c.t, "migrated")
		c.moved[c.s.Machines[i].Machine.Name] = rapid.SampledFrom([]fleet.HostName{"h1", "h2", "h3"}).Draw(c.t, "to")
	}
	c.silence()
	c.order()
	news := provider != c.s.Provider.Standing || vantage != c.s.Vantage.Standing
	for i := range c.s.Machines {
		c.ids++
		c.s.Machines[i].FreshID = fleet.InstanceID("id" + strconv.Itoa(c.ids))
		if !news && rapid.Bool().Draw(c.t, "quiet") {
			continue
		}
		c.stirMachine(i)
	}
}

// silence lets a host fall silent, or speak again.
func (c *chaos) silence() {
	c.s.Silent, c.s.Hosts = nil, slices.Clone(c.s.Hosts)
	dead := rapid.IntRange(0, 5).Draw(c.t, "silent host") == 0
	last := &c.s.Hosts[len(c.s.Hosts)-1]
	if last.Up = !dead; dead {
		c.s.Silent = []fleet.Silence{{Host: last.Name, Answered: fleet.Instant(rapid.IntRange(0,
			int(c.s.Now.Mono)).Draw(c.t, "answered"))}}
	}
}

// checkSleep: a machine that is not well, and was not heard, is decided as if it had been judged anew.
func (c *chaos) checkSleep(d round.Decision) {
	awake := c.s
	awake.Machines = slices.Clone(c.s.Machines)
	for i := range awake.Machines {
		v := &awake.Machines[i]
		v.Due = v.Due || v.Machine.Health.Verdict != belief.VerdictHealthy
	}
	all := decide.Decide(awake)
	if !reflect.DeepEqual(d.Brake, all.Brake) || !d.Whole.Equal(all.Whole) ||
		!reflect.DeepEqual(d.Records, all.Records) {
		c.t.Fatalf("asleep, the fleet is decided otherwise:\n%+v\n%+v", d, all)
	}
	decided := map[int]round.Decided{}
	for _, m := range d.Machines {
		decided[m.Index] = m
	}
	for _, m := range all.Machines {
		slept, ok := decided[m.Index]
		if !ok {
			slept = round.Decided{Index: m.Index, Belief: c.s.Machines[m.Index].Machine}
		}
		if stored(c.t, m) != stored(c.t, slept) {
			c.t.Fatalf("asleep, %s is decided otherwise:\n%+v %+v\n%+v %+v", m.Belief.Name, slept,
				slept.Belief.Incident, m, m.Belief.Incident)
		}
	}
}

func (c *chaos) stirMachine(i int) {
	v := &c.s.Machines[i]
	v.Due, v.Epoch = true, v.Machine.Epoch
	v.Checks[0].Standing = rapid.SampledFrom(c.standings(v.Machine.Name)).Draw(c.t, "standing")
	c.stirTells(v)
	v.Seen = nil
	for _, id := range c.interesting(i) {
		v.Seen = append(v.Seen, c.sighting(v.Machine.Name, id))
	}
	if rapid.Bool().Draw(c.t, "ran") {
		v.Ran = fleet.Ran{Instance: v.Machine.Lies().ID, Host: c.hostOf(v.Machine.Name),
			At: fleet.Instant(rapid.IntRange(1, int(c.s.Now.Mono)).Draw(c.t, "ran at"))}
	}
	if a, ok := c.looks[i]; ok && rapid.Bool().Draw(c.t, "looked") {
		v.Look = &fleet.Look{ID: a.Look, Started: c.s.Now.Mono, Seen: c.sighting(v.Machine.Name, a.Instance),
			Checks: []fleet.CheckState{
				{Check: "page", Standing: rapid.SampledFrom([]fleet.Standing{fleet.StandingUp, fleet.StandingDown,
					fleet.StandingUnknown}).Draw(c.t, "look")}}}
		delete(c.looks, i)
	}
	if a, ok := c.gathers[i]; ok && rapid.Bool().Draw(c.t, "gathered") {
		v.Gathered = &situation.Gathered{ID: a.Gather}
		delete(c.gathers, i)
	}
	if a, ok := c.calls[i]; ok && rapid.Bool().Draw(c.t, "answered") {
		v.Outcome = &fleet.Outcome{Intent: a.Intent.ID, Kind: rapid.SampledFrom([]fleet.OutcomeKind{
			fleet.OutcomeDone, fleet.OutcomeDone, fleet.OutcomeDone, fleet.OutcomeUnknown, fleet.OutcomeRetry,
			fleet.OutcomeConflict, fleet.OutcomeNotFound,
			fleet.OutcomeRefused, fleet.OutcomeUnsupported, fleet.OutcomeFailed, fleet.OutcomeNotSent}).Draw(c.t,
			"outcome")}
		delete(c.calls, i)
	}
}

// standings are those that the machine's check may have, the likely ones more often.
func (c *chaos) standings(m fleet.MachineName) []fleet.Standing {
	whatever := []fleet.Standing{fleet.StandingUp, fleet.StandingDown, fleet.StandingFailing, fleet.StandingUnknown}
	switch {
	case !c.orderly:
		return whatever
	case c.hostOf(m) == c.afflicted:
		return []fleet.Standing{fleet.StandingDown, fleet.StandingDown, fleet.StandingDown, fleet.StandingFailing}
	}
	return append(slices.Repeat([]fleet.Standing{fleet.StandingUp}, 30), whatever...)
}

// powers are those that the provider may say of the machine.
func (c *chaos) powers() []fleet.Power {
	whatever := []fleet.Power{fleet.PowerRunning, fleet.PowerRunning, fleet.PowerOff, fleet.PowerPaused,
		fleet.PowerCrashed,
		fleet.PowerError, fleet.PowerGone, fleet.PowerUnknown}
	if c.orderly {
		return append(slices.Repeat([]fleet.Power{fleet.PowerRunning}, 60), whatever...)
	}
	return whatever
}

func (c *chaos) interesting(i int) []fleet.InstanceID {
	m := c.s.Machines[i].Machine
	ids := []fleet.InstanceID{m.Current.ID, "stray"}
	if m.Repair != nil {
		ids = append(ids, m.Repair.Target.ID, m.Repair.Next.ID)
	}
	var out []fleet.InstanceID
	seen := map[fleet.InstanceID]bool{"": true}
	for _, id := range ids {
		if !seen[id] && rapid.IntRange(0, 3).Draw(c.t, "seen") > 0 {
			out = append(out, id)
		}
		seen[id] = true
	}
	return out
}

func (c *chaos) sighting(m fleet.MachineName, id fleet.InstanceID) fleet.Sighting {
	back := fleet.Instant(rapid.IntRange(0, 3000).Draw(c.t, "age")) * fleet.Instant(time.Millisecond)
	return fleet.Sighting{
		Asked: max(1, c.s.Now.Mono-back),
		Instance: fleet.Instance{
			ID: id, Host: c.hostOf(m), Network: "default", Address: netip.MustParseAddr("10.0.0.1"),
			Power: rapid.SampledFrom(c.powers()).Draw(c.t, "power"),
			Mark: fleet.Mark{Installation: c.marker(id), Fleet: "web", Machine: m, Generation: c.generation(m),
				Certified: rapid.Bool().Draw(c.t, "certified")},
			Also: rapid.SampledFrom(append(slices.Repeat([]fleet.HostName{""}, 60), "h1")).Draw(c.t, "also"),
		},
	}
}

// marker is the installation in the instance's mark: seldom that of another hale, and never where this one knows it.
func (c *chaos) marker(id fleet.InstanceID) fleet.Installation {
	if id == "stray" && rapid.IntRange(0, 40).Draw(c.t, "theirs") == 0 {
		return "theirs"
	}
	return ours
}

// generation is one that was allotted; hardly ever, one that was not.
func (c *chaos) generation(m fleet.MachineName) fleet.Generation {
	at := slices.IndexFunc(c.s.Machines, func(v situation.View) bool { return v.Machine.Name == m })
	allotted := int(c.s.Machines[at].Machine.Generation)
	if rapid.IntRange(0, 300).Draw(c.t, "never allotted") == 0 {
		return fleet.Generation(allotted + 1)
	}
	return fleet.Generation(rapid.IntRange(0, allotted).Draw(c.t, "gen"))
}

// stored returns the decision as a store would keep it: an empty list and none are the same there.
func stored(t *rapid.T, m round.Decided) string {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`"Actions":[]`, `"Actions":null`, `"Records":[]`, `"Records":null`).Replace(string(text))
}

// hostOf spreads the machines evenly.
func (c *chaos) hostOf(m fleet.MachineName) fleet.HostName {
	if h, ok := c.moved[m]; ok {
		return h
	}
	n, _ := m.Ordinal()
	return c.s.Hosts[n%len(c.s.Hosts)].Name
}

// decide runs a round, checks it, and adopts it.
func (c *chaos) decide() {
	before := c.s
	d := c.decider.Decide(c.s)
	again := decide.Decide(c.s)
	if len(again.Machines) == 0 {
		again.Machines = d.Machines[:0] // no list and an empty one are the same
	}
	if !reflect.DeepEqual(d, again) {
		c.t.Fatal("equal snapshots gave different decisions")
	}
	c.older = d.Whole.Older != nil
	c.checkSleep(d)
	c.checkTells(d)
	c.checkOrders(before, d)
	for _, m := range d.Machines {
		c.checkMachine(before, d, m)
	}
	for _, m := range d.Machines {
		v := &c.s.Machines[m.Index]
		if was, is := v.Machine.Lies(), m.Belief.Lies(); is.Apart(&was) {
			c.s.Placed++
		}
		v.Machine, v.Look, v.Outcome, v.Gathered, v.Due = m.Belief, nil, nil, nil, m.Ends(&v.Machine)
		for _, a := range m.Actions {
			switch a.Kind {
			case situation.ActionLook:
				c.looks[m.Index] = a
			case situation.ActionCall:
				c.calls[m.Index] = a
			case situation.ActionGather:
				c.gathers[m.Index] = a
			case situation.ActionObserve:
			}
		}
	}
	c.checkParents(before, d)
	c.s.Brake, c.s.Whole = d.Brake, d.Whole
	if n := guard.Count(c.s.Spec, nil, c.s.Machines).InRepair; n > c.s.Spec.Limits.InRepair {
		c.t.Fatalf("L5: %d in repair, budget %d", n, c.s.Spec.Limits.InRepair)
	}
	if rapid.IntRange(0, 20).Draw(c.t, "restart") == 0 {
		c.restart()
	}
}

func (c *chaos) restart() {
	for i := range c.s.Machines {
		c.s.Machines[i].Machine, c.s.Machines[i].Due = c.s.Machines[i].Machine.Restart(c.s.Now, c.s.Spec), true
	}
	c.s.Whole = c.s.Whole.Restart(c.s.Now)
	clear(c.looks)
	clear(c.gathers)
	clear(c.calls)
}

// lasts reports whether the machine fails under the parent for longer than a host boots, and nothing has begun for it.
func lasts(m *belief.Machine, parent string, s *situation.Situation) bool {
	i := m.Incident
	return i != nil && i.Parent == parent && !s.Now.Wall.Before(i.Opened.Add(fleet.HostBoot)) &&
		guard.Counts(m, &s.Spec) &&
		m.Health.Cause == belief.CauseChecks && m.Waiting != fleet.ReasonStarts && !m.Repair.Starts()
}

// checkParents: a parent without a page is young (L8), or all that fails there passes by itself, and its silent
// children are left alone until it is time to evacuate.
func (c *chaos) checkParents(s situation.Situation, d round.Decision) {
	shared := s.Spec.SharedFate
	for _, p := range d.Whole.Parents {
		if p.Paged || s.Now.Wall.Before(p.Opened.Add(max(shared.Wait, 2*time.Minute))) {
			continue
		}
		if n := slices.IndexFunc(c.s.Machines, func(v situation.View) bool {
			return lasts(&v.Machine, p.ID,
				&s)
		}); n >= 0 {
			c.t.Fatalf("L8: parent %s is open since %s without a page, and %s fails", p.ID, p.Opened,
				c.s.Machines[n].Machine.Name)
		}
	}
	for _, m := range d.Machines {
		was, is := s.Machines[m.Index].Machine.Repair, m.Belief.Repair
		if m.Belief.Incident == nil || is == nil || was != nil || is.Kind != belief.RepairHeal {
			continue
		}
		p := d.Whole.Parent(m.Belief.Incident.Parent)
		evacuating := p != nil && shared.Then == policy.FateEvacuate && s.Now.Due(p.Since.Add(shared.Wait))
		if p != nil && m.Belief.Health.Cause == belief.CauseChecks && !evacuating {
			c.t.Fatalf("%s: a repair began under parent %s", m.Belief.Name, p.ID)
		}
		if s.Vantage.Standing == fleet.VantageIsolated {
			c.t.Fatalf("L4: %s: a repair began although hale is cut off", m.Belief.Name)
		}
	}
}

func (c *chaos) checkMachine(s situation.Situation, d round.Decision, m round.Decided) {
	was := s.Machines[m.Index].Machine
	if err := m.Belief.Check(); err != nil {
		c.t.Fatal(err)
	}
	if m.Belief.Generation < was.Generation || m.Belief.Epoch < was.Epoch {
		c.t.Fatalf("%s: generation or epoch went back", was.Name)
	}
	c.checkActions(s, m)
	c.checkRecords(d, was, m)
	c.checkWorld(d, was, m)
}

// checkWorld: while the store is older than the world nothing is called, and no first instance is built beside another
// hale's (L1).
func (c *chaos) checkWorld(d round.Decision, was belief.Machine, m round.Decided) {
	called := slices.ContainsFunc(m.Actions, func(a situation.Action) bool { return a.Kind == situation.ActionCall })
	if d.Whole.Older != nil && called {
		c.t.Fatalf("L1: %s: a call although the store is older than the world: %+v", was.Name, m.Actions)
	}
	r := m.Belief.Repair
	first := r != nil && r.Kind == belief.RepairBuild && was.Current.None()
	ordered := called && slices.ContainsFunc(m.Actions,
		func(a situation.Action) bool { return a.Intent.Op == fleet.OpCreate })
	if len(d.Whole.Foreign) > 0 && first && (was.Repair == nil || ordered) {
		c.t.Fatalf("L1: %s: a first build beside another installation's", was.Name)
	}
}

// checkEvidence: what a heal destroys, evidence was gathered of before, or was to be.
func (c *chaos) checkEvidence(m belief.Machine, a situation.Action) {
	if r := m.Repair; r != nil && r.Kind == belief.RepairHeal && a.Intent.Op.Disruptive() && m.Incident != nil &&
		(m.Incident.Evidence != a.Instance || r.Gather != "") {
		c.t.Fatalf("%s: %s of %s without evidence (%q, %q)", m.Name, a.Intent.Op, a.Instance, m.Incident.Evidence,
			r.Gather)
	}
}

// checkActions: nothing is asked or called while it may not be, at most one call, and only the stored one.
func (c *chaos) checkActions(s situation.Situation, m round.Decided) {
	name, calls := m.Belief.Name, 0
	for _, a := range m.Actions {
		if a.Kind == situation.ActionObserve {
			continue
		}
		if s.Acting != "" || s.Provider.Standing != fleet.ProviderUp {
			c.t.Fatalf("%s %s although acting=%q, provider %s", a.Kind, a.Intent.Op, s.Acting, s.Provider.Standing)
		}
		if a.Kind == situation.ActionCall {
			calls++
			c.checkPlace(s, m, a)
			c.checkEvidence(m.Belief, a)
			if m.Belief.Repair == nil || m.Belief.Repair.Intent == nil || *m.Belief.Repair.Intent != a.Intent {
				c.t.Fatalf("%s: a call that is not the stored intent: %+v", name, a.Intent)
			}
		}
	}
	if calls > 1 {
		c.t.Fatalf("%s: %d calls at once", name, calls)
	}
}

// checkPlace: nothing is called of a machine with an instance on two hosts, nor, of what does not run, while a host is
// silent that is not excused; and nothing at all by a store that is older than the world.
func (c *chaos) checkPlace(s situation.Situation, m round.Decided, a situation.Action) {
	v := &s.Machines[m.Index]
	if slices.ContainsFunc(v.Seen, func(x fleet.Sighting) bool { return x.Instance.Contested() }) {
		c.t.Fatalf("L1: %s: %s while two hosts show an instance of it", m.Belief.Name, a.Intent.Op)
	}
	if c.older {
		c.t.Fatalf("L1: %s: %s by a store that is older than the world", m.Belief.Name, a.Intent.Op)
	}
	runs := v.Sighting(a.Instance).Instance.Power == fleet.PowerRunning
	for _, h := range s.Silent {
		lies := m.Belief.Lies()
		excused := v.Ran.Instance != "" && v.Ran.At > h.Answered || lies.Host == h.Host ||
			h.Answered != 0 && a.Intent.Op == fleet.OpCreate
		if slices.Contains(a.Excused, h.Host) && !excused {
			c.t.Fatalf("L1: %s: %s with %s excused, which answered at %d; it ran %+v", m.Belief.Name, a.Intent.Op,
				h.Host, h.Answered, v.Ran)
		}
		if !slices.Contains(a.Excused, h.Host) && !runs && !v.Machine.Lies().None() &&
			v.Sighting(v.Machine.Lies().ID).Instance.Power != fleet.PowerRunning {
			c.t.Fatalf("L1: %s: %s while %s may have it", m.Belief.Name, a.Intent.Op, h.Host)
		}
	}
}

func (c *chaos) checkRecords(d round.Decision, was belief.Machine, m round.Decided) {
	for _, r := range m.Records {
		if r.Kind == record.Held && r.Reason == fleet.ReasonLawBroken {
			c.t.Fatalf("%s: %s", was.Name, r.Detail)
		}
		only := r.Cause.Stopped() // then it only starts it
		if d.Brake.Engaged && r.Kind == record.RepairStarted && r.Reason == fleet.Reason(belief.RepairHeal) &&
			!only {
			c.t.Fatalf("L6: %s: a repair began under the brake", was.Name)
		}
	}
	if changed(was, m.Belief) && len(m.Records) == 0 {
		c.t.Fatalf("L11: %s: changed without a record\nwas %+v\nis  %+v", was.Name, was, m.Belief)
	}
}

// changed reports whether a verdict, an incident or a plan changed. A verdict that a step sets to starting is part of
// the step's own record.
func changed(a, b belief.Machine) bool {
	verdict := a.Health.Verdict != b.Health.Verdict && b.Health.Verdict != belief.VerdictStarting
	incident := (a.Incident == nil) != (b.Incident == nil)
	plan := b.Repair != nil && (a.Repair == nil || a.Repair.ID != b.Repair.ID || a.Repair.Step != b.Repair.Step)
	return verdict || incident || plan || (a.Quarantine == nil && b.Quarantine != nil)
}

func TestWhateverTheEvidenceTheLawsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t, rapid.IntRange(1, 6).Draw(t, "size"))
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			c.stir()
			c.decide()
		}
	})
}

// L1: while its store is older than the world, a fleet makes no call at all, whatever else there is, as long as no
// person has the world believed.
func TestL1NothingIsCalledWhileTheStoreIsOlder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t, rapid.IntRange(1, 6).Draw(t, "size"))
		for round := range rapid.IntRange(1, 60).Draw(t, "rounds") {
			c.stir()
			c.s.Orders = slices.DeleteFunc(c.s.Orders, func(o fleet.Order) bool { return o.Believe })
			if round >= 20 && c.s.Whole.Older == nil {
				c.s.Whole.Older = &belief.Older{Machine: "web-1", Instance: "newer", Generation: 9, Since: c.s.Now.Wall}
			}
			c.decide()
			if round >= 20 && c.s.Whole.Older == nil {
				t.Fatal("it was forgotten")
			}
		}
	})
}

// L1: while another installation's mark was seen, no first instance is built, whatever else there is.
func TestL1NoFirstBuildBesideAnotherInstallation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t, rapid.IntRange(1, 6).Draw(t, "size"))
		from := rapid.IntRange(0, 20).Draw(t, "from")
		for round := range rapid.IntRange(1, 60).Draw(t, "rounds") {
			c.stir()
			c.s.Orders = slices.DeleteFunc(c.s.Orders, func(o fleet.Order) bool { return o.Believe })
			if round >= from && len(c.s.Whole.Foreign) == 0 {
				c.s.Whole.Foreign = []belief.Foreign{{Installation: "another", Machine: "web-1", Instance: "other",
					Since: c.s.Now.Wall}}
			}
			c.decide()
			if round >= from && len(c.s.Whole.Foreign) == 0 {
				t.Fatal("it was forgotten")
			}
		}
	})
}

func TestWhateverFailsTogetherTheLawsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t, 12)
		c.orderly = true
		for i := range c.s.Machines {
			m := &c.s.Machines[i].Machine
			m.Generation, m.Current = 1, belief.Incarnation{ID: fleet.InstanceID("first-" + strconv.Itoa(i)),
				Generation: 1, Host: c.hostOf(m.Name), Certified: true}
		}
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			c.stir()
			c.decide()
		}
	})
}

func TestDueMeansNotBefore(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: fleet.Instant(time.Minute)}
	for at, due := range map[fleet.Instant]bool{0: false, now.Mono - 1: true, now.Mono: true, now.Mono + 1: false} {
		if now.Due(at) != due {
			t.Errorf("due(%v) = %v at %v", time.Duration(at), !due, time.Duration(now.Mono))
		}
	}
}
