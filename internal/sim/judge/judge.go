package judge

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/law"
	"hale/internal/sim/rollouts"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/sim/stored"
	"hale/internal/sim/world"
)

// Judge watches a run from the side of the truth. It shares no code with the judgement that it judges: what it needs to
// know of budgets, brakes and times it works out by itself, from the policy and from the world.
type Judge struct {
	world.Deaf
	w        *world.World
	store    *stored.Content
	score    *score.Score
	trace    *chronicle.Trace
	history  *chronicle.History
	options  Options
	spec     policy.Spec
	run      Run
	first    *Judge        // of the first hale, where this is the second's; nil: it is the first
	second   *Judge        // of the second hale that there is now; nil: there is none
	client   string        // what the provider knows the second hale by
	ended    *Judge        // of the last one that has ended
	truth    *law.Judge    // of machines and calls; one for both hales
	outages  []outage      // by ordinal-1
	down     int           // machines that do not serve now
	domains  int           // shared faults in force
	stirred  time.Duration // when one of them began or ended
	mass     bool          // so many are down, or were a moment ago, that the policy forbids to act
	crowds   int           // how often there were too many for the brake to be let go
	isShared map[world.Domain]int
	// instances that went down while their machines were beyond the fleet's size, by machine
	ignored  map[string]string
	pages    int // fleet-wide conditions that a person was told of and that last
	steps    map[string]*rung
	steady   map[string]time.Duration // before which a server that began afresh may disrupt nothing
	began    time.Duration            // when one last did
	inRepair int
	failing  int
	crowded  []beginning   // what this round began, as far as it is stored
	restless time.Duration // when more machines last came to fail, or more did than the brake allows
	// windowOpen says that the call being sent was held up between the reading of the lease and the sending.
	windowOpen bool
	held       map[*world.Call]bool // calls that were
	seen       map[lawCase]bool
	broke      []Violation
	plans
	trials   rollouts.Trials
	copies   map[copyMade]time.Duration
	provider bool            // a person was told that the provider does not answer
	told     int             // how many of brake and doubt a person was told of
	wishes   wishes          // the operator's
	waits    int             // fleets that come first and do not serve
	afresh   map[string]bool // machines with a verdict that was forgotten, as the owner's record says

	nights    []*night
	built     map[string]bool   // the instances that a hale built, whichever
	found     map[string]bool   // those that the store did not know until a person had the world believed
	rolled    bool              // the store has not always held what it held a moment before
	rolledAt  time.Duration     // since when it has
	forgot    map[copyMade]bool // copies of disks that are not in the store any more through no fault of hale's
	toldOlder bool              // a person was told that the store is older than the world
	recovered time.Duration     // when a person said what is
	// toldTwo are the hosts that show the machine, as a person was told; none since hale said that it is over.
	toldTwo  map[string]string
	struck   string // the plan's last event
	struckAt time.Duration
	waiting  []int // the machines that are down and that no step could cure so far
	moved    bool  // something changed since they were looked at
	stormy   bool  // the failure of many at once was counted as a cause
	spoiled  bool  // so was the template, where something needs to be built
	burden   burden
	sizes    *law.Sizes
	holds    *law.Holds
	brakedAt time.Duration // when hale put its own brake on; negative: it is not on
	// checks with a mistyped port: they succeed nowhere
	mistyped map[fleet.CheckName]bool
}

// Violation is a law that a run broke.
type Violation struct {
	At      time.Duration
	Law     string
	Machine string
	What    string
}

type lawCase struct{ law, machine string }

// rung is what the judge knows of the rung that a machine's repair is on.
type rung struct {
	id        string
	looked    time.Duration // when the last look began; 0: none
	answered  time.Duration // when the last call ended
	disrupted bool          // a disruptive call was sent on it
}

// New returns a judge of a run that begins.
func New(run Run, eyes Eyes, o Options) *Judge {
	j := &Judge{
		w: eyes.World, store: eyes.Store, score: eyes.Score, trace: eyes.Trace, history: eyes.History,
		options: o, spec: o.Spec, run: run, outages: make([]outage, o.Most),
		isShared: map[world.Domain]int{}, ignored: map[string]string{}, steps: map[string]*rung{},
		steady: map[string]time.Duration{}, held: map[*world.Call]bool{}, seen: map[lawCase]bool{},
		afresh: map[string]bool{}, copies: map[copyMade]time.Duration{}, built: map[string]bool{},
		found:  map[string]bool{},
		forgot: map[copyMade]bool{}, toldTwo: map[string]string{}, mistyped: map[fleet.CheckName]bool{}, brakedAt: -1,
		wishes: wishes{posted: map[fleet.OrderID]fleet.Order{}},
		plans:  newPlans(&o.Spec), trials: rollouts.New(o.Spec.Template.Image),
	}
	j.truth = law.New(room{j}, law.Fleet{Spec: &j.spec, Poll: o.Poll, Most: o.Most, Naive: o.Naive,
		Away: func() bool { return !run.LooksOn() }}, &eyes.Score.Tally)
	j.holds = law.NewHolds(room{j}, j.w, j.truth.Fleet, j.wishes.posted)
	j.sizes = law.NewSizes(room{j}, o.Spec.Sizing, &j.w.Demand, &eyes.Score.SizeTally)
	return j
}

// Broken books a broken law, each once per machine.
func (j *Judge) Broken(law, machine, what string) {
	if j.first != nil {
		j.first.Broken(law, machine, what)
		return
	}
	if law == "L1" || law == "L2" || law == "harm" {
		j.each(machine, func(n *night) { n.wrong = true })
	}
	j.score.LawsBroken++
	j.trace.Say(j.w.Now(), machine, "BROKEN "+law+" "+machine+": "+what)
	c := lawCase{law, machine}
	if j.seen[c] || len(j.broke) >= 100 {
		return
	}
	j.seen[c] = true
	j.broke = append(j.broke, Violation{At: j.w.Now(), Law: law, Machine: machine, What: what})
}

// Broke returns the laws that the run broke, each once per machine.
func (j *Judge) Broke() []Violation { return j.broke }

// called is the instance's name in the trace.
func (j *Judge) called(id string) fleet.InstanceID { return j.trace.Name(fleet.InstanceID(id)) }

// Address implements world.Watcher.
func (j *Judge) Address(netip.Addr) { j.moved = true }

// Copies implements world.Watcher.
func (j *Judge) Copies(machine string, n int) {
	j.truth.Crowded(law.Count(j.w, machine, n))
	j.Bear()
}

// StartedAfresh notes that a server knows nothing any more: until its checks could speak it may disrupt nothing (L9).
func (j *Judge) StartedAfresh(c Server) {
	j.began = j.w.Now()
	j.steady[c.Name] = j.began + law.Steady(&j.spec)
	for i := range j.store.Beliefs {
		j.afresh[string(j.spec.Name.Machine(i+1))] = true
	}
}

// TookOver notes that a server owns the fleet from now on, and has read no metrics.
func (j *Judge) TookOver(c Server) {
	j.StartedAfresh(c)
	j.sizes.Afresh(j.w.Now())
}

// WentOn notes that a server goes on after it stood still for so long.
func (j *Judge) WentOn(c Server, stood time.Duration) {
	j.StartedAfresh(c)
	if c.Owns { // else its metrics do not count
		j.sizes.Stood(stood, j.w.Now())
	}
}

// Looks notes that a look begins.
func (j *Judge) Looks(a situation.Action) {
	j.rungOf(string(a.Machine)).looked = j.w.Now()
}

// Answered notes that a call ended for its sender.
func (j *Judge) Answered(a situation.Action) {
	j.rungOf(string(a.Machine)).answered = j.w.Now()
}

func (j *Judge) rungOf(machine string) *rung {
	r := j.steps[machine]
	if r == nil {
		r = &rung{}
		j.steps[machine] = r
	}
	n, _ := fleet.MachineName(machine).Ordinal()
	if w := j.store.Beliefs[n-1].Repair; w != nil {
		if id := fmt.Sprintf("%s %d", w.ID, w.Rung); r.id != id {
			r.id, r.disrupted = id, false
		}
	}
	return r
}

// CommittedWhole judges a change of what is believed of the fleet as a whole.
func (j *Judge) CommittedWhole(c Server, before, after stored.Overall, records []record.Record) {
	j.sizes.Owned(c.Now.Wall)
	for i := range records { // an opinion may move what a change that is given up in the same round brought back
		j.moves(before, &records[i])
		j.Record(records[i])
	}
	if n := law.TakenBack(after.Whole.Ledger, &j.spec, records, j.asked); n != j.asked {
		j.said = n
		j.bind() // an edit may have cut the bounds since they were to go
	}
	j.chosen(before.Whole.Ledger, after.Whole.Ledger, after.Whole.Holds)
	j.stays(after.Whole.Ledger)
	j.tells(after)
	j.obeyed(before, after, records)
	was, is := before.Brake, after.Brake
	j.braking(is, j.w.Now())
	if was.Engaged != is.Engaged && !has(records, record.Brake) {
		j.Broken("L11", "", "the brake changed without a record")
	}
	if is.Engaged && !was.Engaged && !j.mass && j.domains == 0 && j.second == nil && !j.astray() {
		j.score.NeedlessBrakes++
	}
	switch {
	case is.Engaged && !was.Engaged:
		j.score.Brakes++
	case was.Engaged && !is.Engaged:
		if 2*j.failing > j.brakeLimit()+1 && !j.isSteady() && !j.tookOff(records) {
			j.Broken("L6", "", fmt.Sprintf("the brake released with %d machines failing", j.failing))
		}
	}
}

// noteRise notes when more machines came to fail, or more did than the brake allows.
func (j *Judge) noteRise(failed int) {
	if j.failing > failed || failed > j.brakeLimit() && j.failing != failed {
		j.restless = j.w.Now()
	}
}

// isSteady reports whether as many machines fail as may, and no further one has for as long as the brake waits for
// that.
func (j *Judge) isSteady() bool {
	return j.failing <= j.brakeLimit() && j.w.Now()-j.restless >= steadyTimes*j.spec.Limits.Brake.ReleaseAfter
}

// steadyTimes is how many times release_after no further machine may fail.
const steadyTimes = 10

// tells keeps count of what a person was told of that explains all outages: the brake and doubts, as long as they last.
func (j *Judge) tells(o stored.Overall) {
	n := 0
	if o.Brake.Paged {
		n++
	}
	if o.Whole.Doubt.Paged {
		n++
	}
	j.pages += n - j.told
	j.told = n
}

// brakeLimit is the policy's arithmetic, worked out once more. What has gone counts until hale hears of it, and books
// it.
func (j *Judge) brakeLimit() int {
	b := j.spec.Limits.Brake
	size := j.size + j.spec.Spares.Count
	if l := j.booked; l != nil {
		size = max(size, l.Size)
	}
	limit := b.Percent * size / 100
	if b.AtLeast > limit {
		limit = b.AtLeast
	}
	if size >= 3 && limit >= size {
		limit = size - 1
	}
	return limit
}

func has(records []record.Record, kind record.Kind) bool {
	for _, r := range records {
		if r.Kind == kind {
			return true
		}
	}
	return false
}

// Committed judges a change of what is believed of one machine, at the moment when it is stored.
func (j *Judge) Committed(c Server, was, is *belief.Machine, records []record.Record) {
	for i := range records {
		j.Record(records[i])
	}
	failed := j.failing
	j.tally(*was, -1)
	j.tally(*is, 1)
	j.noteRise(failed)
	j.verdicts(was, is, records)
	j.believes(was, is)
	j.repairs(c, was, is, records)
}

// believes checks that no repair begins for what a check says that can succeed nowhere, since its port is mistyped.
func (j *Judge) believes(was, is *belief.Machine) {
	if was.Repair == nil && is.Repair != nil && is.Repair.Kind == belief.RepairHeal && is.Wanted == nil &&
		is.Health.Cause == belief.CauseChecks && j.mistyped[is.Health.Check] {
		j.Broken("unproven", string(is.Name),
			"its repair begins by check "+string(is.Health.Check)+", which has a mistyped port")
	}
}

// Tally keeps the judge's own count of what hale takes for failing, and for being repaired.
func (j *Judge) tally(m belief.Machine, by int) {
	if m.Current.Adopted && !m.Current.Certified {
		return // it is not hale's yet
	}
	healing := m.Repair != nil && m.Repair.Kind == belief.RepairHeal
	wanted := m.Repair != nil && m.Repair.Wanted()
	if m.Repair == nil && j.isBeyond(string(m.Name)) {
		return // it is none of the fleet's
	}
	if (healing || wanted) && !m.Repair.Revives {
		j.inRepair += by
	}
	if wanted {
		return // it is no failure (L10)
	}
	if healing || m.Health.Verdict == belief.VerdictUnhealthy && !j.isAlone(&m) {
		j.failing += by
	}
}

// isAlone works out once more whether a machine that is not being repaired is left to a person, and counts as no
// failure.
func (j *Judge) isAlone(m *belief.Machine) bool {
	rescued := m.Health.Cause == belief.CauseRescued && (m.Incident == nil || m.Incident.Cause == belief.CauseRescued)
	apart := m.Repair == nil && (j.isHeld(m) || j.wishes.leaving[m.Name])
	return m.Health.Cause.Parked() || law.Left(&j.spec, m.Health.Cause) || rescued ||
		m.Quarantine != nil || apart
}

func (j *Judge) verdicts(was, is *belief.Machine, records []record.Record) {
	name := string(is.Name)
	began := was.Health.Verdict
	if began == "" || j.afresh[name] {
		delete(j.afresh, name)
		return // the first time that it is written
	}
	acted := was.Epoch != is.Epoch // then the act is the record
	left := slices.ContainsFunc(records, func(r record.Record) bool {
		return r.Kind == record.RepairEnded && r.Reason == fleet.ReasonRemoved // and what has left has no verdict
	})
	if began != is.Health.Verdict && !has(records, record.Verdict) && !acted && !left {
		j.Broken("L11", name, fmt.Sprintf("it is %s and was %s, without a record", is.Health.Verdict, began))
	}
	counted := is.Swung()
	for i := range records {
		counted += records[i].Again
	}
	if was.Waiting != is.Waiting && is.Waiting != "" && !has(records, record.Held) && counted <= was.Swung() &&
		is.Waiting != fleet.ReasonQuarantined {
		j.Broken("L11", name, fmt.Sprintf("it is held (%s) without a record", is.Waiting))
	}
}

func (j *Judge) repairs(c Server, was, is *belief.Machine, records []record.Record) {
	name := string(is.Name)
	ended := was.Repair != nil && (is.Repair == nil || is.Repair.ID != was.Repair.ID)
	if ended && !has(records, record.RepairEnded) {
		j.score.LostRepairs++
		j.Broken("L12", name, "repair "+was.Repair.ID+" is gone without an end")
	}
	if is.Repair != nil && (was.Repair == nil || is.Repair.ID != was.Repair.ID) {
		j.begun(c, is)
		if n, _ := is.Name.Ordinal(); is.Repair.Order.OfSpare() {
			j.outages[n-1].freed = j.w.Now() // until now it was off as it was to be
		}
	}
	if was.Repair != nil && was.Repair.Revives && is.Repair != nil && !ended && !is.Repair.Revives {
		j.takesPlace(is)
	}
	j.revives(was, is)
	j.newRung(was, is)
	j.orderly(was, is, records)
	j.letGo(was, is)
	j.truth.Believed(is)
	j.patience(c, was, records)
}

// newRung checks that no further rung begins while the brake is on, a person holds the machine, or a fleet that comes
// first does not serve.
func (j *Judge) newRung(was, is *belief.Machine) {
	name, ended := string(is.Name), was.Repair != nil && (is.Repair == nil || is.Repair.ID != was.Repair.ID)
	if was.Repair != nil && is.Repair != nil && !ended && was.Repair.Rung != is.Repair.Rung &&
		is.Repair.Phase == belief.PhaseAct {
		if j.store.Overall.Brake.On() && !is.Repair.Revives {
			j.Broken("L6", name, "a new rung is acted on while the brake is on")
		}
		if j.isHeld(was) {
			j.Broken("L10", name, "a new rung is acted on while a person holds it")
		}
		if j.waits > 0 && is.Repair.Kind == belief.RepairHeal && is.Wanted == nil {
			j.Broken("after", name, "a new rung is acted on while a fleet that comes first does not serve")
		}
	}
}

// Waits notes how many fleets that come first do not serve, or may not.
func (j *Judge) Waits(fleets int) { j.waits = fleets }

// begun checks that a repair may begin.
func (j *Judge) begun(c Server, is *belief.Machine) {
	name, spec := string(is.Name), j.spec
	j.truth.Begun(is, j.wishes.posted, j.booked, j.store.Beliefs)
	if is.Repair.Kind == belief.RepairHeal {
		j.score.Repairs++
	}
	j.takesPlace(is)
	if j.isHeld(is) || j.isHostHeld(is.Repair.Target.Host) || j.isHostHeld(is.Repair.Back.Host) {
		j.Broken("L10", name, "a repair begins while a person holds it")
	}
	if is.Repair.Kind == belief.RepairHeal && is.Wanted == nil && law.OutOfHours(&j.spec.Repair, c.Now.Wall) {
		j.Broken("windows", name, "a repair begins at a time when none may")
	}
	// else what stands is certified, and nothing is built
	builds := is.Repair.Kind == belief.RepairBuild && is.Current.None()
	if heals := is.Repair.Kind == belief.RepairHeal && is.Wanted == nil; j.waits > 0 && (heals || builds ||
		is.Repair.Kind == belief.RepairUpdate) {
		j.Broken("after", name, string(is.Repair.Kind)+" begins while a fleet that comes first does not serve")
	}
	if n, _ := is.Name.Ordinal(); builds && (j.left[name] || n > spec.Size+spec.Spares.Count && j.isBeyond(name)) {
		j.Broken("L13", name, "a machine beyond the fleet's size is built")
	}
	if builds && spec.Adopt.Selects() {
		j.Broken("L13", name, "a machine is built that existed never")
	}
}

// patience checks that no time was cut short that permits harm when it ends (L15): a step gets its whole time from its
// outcome, or from the take-over.
func (j *Judge) patience(c Server, was *belief.Machine, records []record.Record) {
	w := was.Repair
	if w == nil || w.Phase != belief.PhaseVerify {
		return
	}
	for _, r := range records {
		if r.Kind != record.StepFailed || r.Reason != fleet.ReasonNotVerified || belief.Cause(r.Detail).Stopped() {
			continue
		}
		least := j.spec.BuildWithin
		if !w.Step.Builds() {
			least = belief.CurrentStep(j.spec, *w).VerifyWithin
		}
		if waited := c.Now.Mono.Sub(w.Since); waited < least {
			j.Broken("L15", string(was.Name), fmt.Sprintf("given up %s after the step, and %s was allowed", waited,
				least))
		}
	}
}

// Record counts what hale says.
func (j *Judge) Record(r record.Record) {
	j.trace.Record(j.w.Now(), r)
	if err := r.Valid(); err != nil {
		j.Broken("L11", string(r.Machine), err.Error())
	}
	switch {
	case r.Kind == record.Change:
		j.changed(r)
	case r.Kind == record.Contest && r.Reason == fleet.ReasonReleased:
		delete(j.eldest().toldTwo, string(r.Machine))
	case r.Kind == record.Held:
		j.score.Held++
		j.heldBack(r)
	case r.Kind == record.Paged:
		j.paged(r)
	case r.Kind == record.Provider && r.Reason == fleet.ReasonUp && j.provider:
		j.provider = false
		j.pages--
	}
}

// paged counts that a person is told, and of what.
func (j *Judge) paged(r record.Record) {
	if sc := j.score; !r.Joined() {
		sc.Paged++
		sc.Page(string(r.Reason), 1)
	}
	if r.Reason == fleet.ReasonHostReboots {
		return // it is about what was, and explains nothing that fails now
	}
	j.warned(r)
	if r.Joint == "" || r.Joined() {
		j.eldest().tell(string(r.Machine), r.Parent, r.Reason)
	}
	if r.Reason == fleet.ReasonAccessBack || r.Reason == fleet.ReasonSecondRunning {
		j.truth.Told(string(r.Machine), j.w.Now())
	}
	switch told := j.eldest(); {
	case r.Joint != "" && !r.Joined(): // the machines' own records name them, or those of the domains
	case r.Reason == fleet.ReasonStoreOlder, r.Reason == fleet.ReasonInstallation: // until a person says what is
	case r.Machine != "", r.Reason == fleet.ReasonBrake, r.Reason == fleet.ReasonVantageIsolated,
		r.Reason == fleet.ReasonVantageDoubtful:
		told.page(string(r.Machine))
	case r.Reason == fleet.ReasonSharedFate:
		told.call(r.Parent)
	case !j.provider: // told twice of it, and once that it is over
		j.provider = true
		j.pages++
	}
}

// heldBack counts holds that the truth does not justify: the machine fails, and nothing else in the world is wrong.
func (j *Judge) heldBack(r record.Record) {
	n, ok := r.Machine.Ordinal()
	if !ok || n > len(j.outages) {
		return
	}
	doubts := []fleet.Reason{
		fleet.ReasonBrake, fleet.ReasonUnclear, fleet.ReasonProviderDown, fleet.ReasonProviderDoubtful,
		fleet.ReasonHostDown, fleet.ReasonNoHost, fleet.ReasonNoPlace, fleet.ReasonBlind,
		fleet.ReasonSharedFate, fleet.ReasonVantageIsolated, fleet.ReasonVantageDoubtful,
	}
	o := &j.outages[n-1]
	if o.open && o.healable && j.domains == 0 && !j.mass && slices.Contains(doubts, r.Reason) {
		j.score.NeedlessHolds++
	}
}

// Fault counts what the plan does.
func (j *Judge) Fault(e script.Event) {
	j.score.Faults++
	j.cause(e)
	j.struck, j.struckAt = e.Class(), j.w.Now()
	if n, ok := fleet.MachineName(e.Subject).Ordinal(); ok && n <= len(j.outages) {
		j.outages[n-1].strike(e)
	}
}

// shared notes that a shared fault is in force, until the returned function is called.
func (j *Judge) shared(d world.Domain) func() {
	j.domains++
	j.stirred = j.w.Now()
	j.isShared[d]++
	return func() {
		j.moved = true
		j.domains--
		j.stirred = j.w.Now()
		j.isShared[d]--
	}
}
