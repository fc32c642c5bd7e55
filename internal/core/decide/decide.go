// Package decide is hale's judgement: one total, deterministic function from the situation of a fleet to new beliefs,
// the actions that follow, a record for each change, and the time to look again.
//
// It promises: no I/O, no clock, no randomness, no logging; equal situations give equal decisions; machines are decided
// in order, each isolated from the others' trouble; the laws are checked on entry and exit, and a belief that breaks
// one is left untouched with a record that says so.
package decide

import (
	"fmt"
	"slices"

	"hale/internal/core/adopting"
	"hale/internal/core/belief"
	"hale/internal/core/believing"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/inference"
	"hale/internal/core/ladder"
	"hale/internal/core/ledger"
	"hale/internal/core/orders"
	"hale/internal/core/proving"
	"hale/internal/core/record"
	"hale/internal/core/repair"
	"hale/internal/core/rollout"
	"hale/internal/core/round"
	"hale/internal/core/situation"
	"hale/internal/core/sizing"
	"hale/internal/core/telling"
)

// Decide runs one round.
func Decide(s situation.Situation) round.Decision { return new(Decider).Decide(s) }

// Decider decides round after round in the same memory: in a storm there are hundreds of rounds a second, with hundreds
// of machines each. The list of a decision's machines stands until the next one; nothing else in it is used again. The
// zero value is ready. It is not safe for concurrent use.
type Decider struct{ deciding deciding }

// Forget lets go of what the last decision's machines point to: their records alone are kilobytes of each. Call it when
// nothing of the decision is used any more.
func (d *Decider) Forget() { d.deciding.forget() }

// Decide runs one round, as the function does.
func (d *Decider) Decide(s situation.Situation) round.Decision {
	r := &d.deciding
	r.begin(s)
	defer r.end()
	return r.decide()
}

func (r *deciding) decide() round.Decision {
	r.forgetProofs()
	r.proveSilent()
	r.believing.IsOurs()
	r.orders.Heed()
	r.believing.ReadRoll()
	r.Tally.Rest = &r.Sit.Whole
	r.hearHosts()
	r.minuteHand()
	ledger.Book(&r.Round)
	if !r.believing.Believes() { // what the provider shows is taken up first: sizes are judged from the next round on
		ledger.Weigh(&r.Round, &r.sizes)
	}
	ledger.SelectAgain(&r.Round)
	adopting.Count(&r.Round)
	r.inference.HeedCanaries()
	proving.TestChecks(&r.Round, &r.defined)
	r.telling = telling.LosePatience(&r.S, &r.Sit, r.telling)
	r.warnings.Read(&r.Round)
	works := r.judgeAll()
	r.inference.FindParents(r.members)
	if r.inference.HeedProvider(r.members) {
		r.judgeAllAfresh(works)
	}
	if r.S.Whole.Doubt.Reason != "" && r.Sit.Whole.Doubt.Reason == "" {
		r.inference.FindParents(r.members) // hale trusts its eyes again, and nothing may begin before this is known
	}
	r.Record(telling.RemindOfDoubt(&r.Sit.Whole.Doubt, &r.S)...)
	r.shareFates(works)
	ledger.StandBy(&r.Round, r.believed(works))
	d := round.Decision{Brake: r.brake(works), Machines: roomFor(r.decided, awake(works))}
	r.Sit.Sights, r.Sit.Well = sights(r, works), r.countWell(works)
	r.goThrough(works, &d)
	tellReboots(r)
	ledger.HandOut(&r.Round, r.believed(works))
	d.Whole = r.Sit.Whole
	r.Record(telling.Jointly(&r.S, &d)...)
	r.Record(telling.WarnJointly(&r.S, &d)...)
	telling.SumUp(&r.Round, &d)
	d.Believes, d.Believed = r.believing.Trusted()
	d.Asks = r.Asks
	d.Records, d.Orders, r.decided = r.Records, r.Rulings, d.Machines
	if d.Next = r.next; r.Again {
		d.Next = r.S.Now.Mono + 1
	}
	return d
}

// believed returns what is believed of the machines, by their index, now that the round went through them.
func (r *deciding) believed(works []*work) func(int) *belief.Machine {
	return func(i int) *belief.Machine {
		if at, open := slices.BinarySearchFunc(works, i, func(w *work, i int) int { return w.Index - i }); open {
			return works[at].M
		}
		return &r.S.Machines[i].Machine
	}
}

// goThrough takes each machine's work as far as it gets, in their order. When to look again depends on what became of
// them.
func (r *deciding) goThrough(works []*work, d *round.Decision) {
	r.countServing(works)
	for _, w := range works {
		if r.sleepsOn(w) {
			continue
		}
		r.proceed(w)
		noteReboot(r, w)
		r.Again = r.Again || w.changed()
		if w.nothingFollows() {
			continue
		}
		w.decided = true
		d.Machines = append(d.Machines, round.Decided{
			Index: w.Index, Belief: *w.M, Actions: w.Actions, Records: w.Records, Orders: w.Rulings,
		})
	}
	for _, w := range works {
		if w.decided && !w.Broken && !w.M.Equal(&w.View.Machine) {
			r.lookAhead(w)
		}
	}
}

// countServing counts the machines that serve, where an update may not take away all of them.
func (r *deciding) countServing(works []*work) {
	l := r.Sit.Whole.Ledger
	r.serving = l != nil && (l.Update != nil || len(l.Surge) > 0) && guard.LeastServing(&r.S.Spec, l) > 0
	if !r.serving {
		return
	}
	at := 0
	for i := range r.S.Machines {
		m := &r.S.Machines[i].Machine
		if at < len(works) && works[at].Index == i {
			m = works[at].M
			at++
		}
		if guard.Served(m, &r.S.Machines[i], &r.S.Spec, l) {
			r.Sit.Serving++
		}
	}
}

// awake counts the works from which something may follow.
func awake(works []*work) int {
	n := 0
	for _, w := range works {
		if !w.Asleep {
			n++
		}
	}
	return n
}

// deciding is the state of one Decide.
type deciding struct {
	round.Round
	hosted map[fleet.HostName]int
	loader func() map[fleet.HostName]int // load, made once
	muted  uint64                        // the checks that are not heeded now
	next   fleet.Instant                 // see Decision.Next
	letGo  bool                          // a person took the brake off in this round
	// serving says that it is counted how many machines serve, since an update may not take away all of them.
	serving bool
	memory
}

// memory is what a round leaves to the next, to be used again.
type memory struct {
	works     []work
	owned     []belief.Machine // the beliefs that the round changes
	before    belief.Machine   // one of them, as it was before it was changed
	order     []*work
	decided   []round.Decided // the last decision's
	members   []*round.Member // of the works
	inference inference.Inference
	hours     hours
	sizes     sizing.Hours
	defined   proving.Definitions
	telling   telling.Impatience
	warnings  telling.Warnings
	orders    orders.Orders
	believing believing.Believing
}

func (r *deciding) begin(s situation.Situation) {
	if s.Open == nil {
		for i := range s.Machines {
			if s.Machines[i].Open() {
				s.Open = append(s.Open, i)
			}
		}
	}
	r.inference.Begin(&r.Round)
	s.Now = s.Now.Watched(&r.next)
	r.S = s
	r.orders.Begin(&r.Round, &r.believing)
	r.believing.Begin(&r.Round)
	if s.Whole.Ledger.Changing() {
		ledger.OpenChanging(&r.Round)
	}
	ledger.OpenSpares(&r.Round)
	s = r.S
	r.forget()
	n := len(s.Open) // pointers into works and owned must stand
	r.works, r.owned, r.order = roomFor(r.works, n), roomFor(r.owned, n), roomFor(r.order, n)
	r.loader = r.load
	r.muted = health.Muted(s.Spec.Checks, s.Now)
	r.Tally = guard.Tally{Size: s.Spec.Size}
	r.Sit = guard.Situation{State: s.State, Struck: guard.Struck(s.Hosts)}
	r.Sit.Brake, r.Sit.Whole = guard.Braked(s.Brake, &s.Whole), s.Whole.Clone()
}

// roomy is how many times too large a memory may be for a round, and small is what is no matter.
const (
	roomy = 8
	small = 64
)

// roomFor returns an empty slice with room for n: the same memory, unless a round that had much more to do left it.
func roomFor[T any](memory []T, n int) []T {
	if cap(memory) > max(small, roomy*n) {
		return make([]T, 0, n)
	}
	return slices.Grow(memory[:0], n)
}

// forget lets go of the last decision's machines.
func (m *memory) forget() {
	clear(m.decided)
	m.decided = m.decided[:0]
}

// end lets go of everything but the memory.
func (r *deciding) end() {
	for i := range r.works {
		if w := &r.works[i]; w.decided {
			*w.M = belief.Machine{} // what it points to belongs to the decision
		}
	}
	clear(r.works)
	clear(r.order)
	clear(r.members)
	r.works, r.owned, r.order, r.members = r.works[:0], r.owned[:0], r.order[:0], r.members[:0]
	*r = deciding{memory: r.memory}
}

type work struct {
	repair.Work
	round.Member
	decided bool                // its belief is in the decision
	chosen  bool                // it is to be built from another template now
	power   fleet.OrderKind     // what is to be done with a spare's
	telling *telling.Impatience // the round's
}

// nothingFollows reports whether the machine was looked at for nothing: no evidence waits to be taken note of, and all
// stays as it is.
func (w *work) nothingFollows() bool {
	v := w.View
	return !v.Due && v.Look == nil && v.Outcome == nil && v.Gathered == nil && len(w.Actions) == 0 &&
		len(w.Records) == 0 && len(w.Rulings) == 0 &&
		w.M.Equal(&v.Machine)
}

// load counts the fleet's instances per host, as they were believed before this round.
func (r *deciding) load() map[fleet.HostName]int {
	if r.hosted != nil {
		return r.hosted
	}
	r.hosted = make(map[fleet.HostName]int)
	for i := range r.S.Machines {
		if host, somewhere := r.S.Machines[i].Machine.Takes(); somewhere {
			r.hosted[host]++
		}
	}
	return r.hosted
}

func (r *deciding) judgeAll() []*work {
	for _, i := range r.S.Open {
		v := &r.S.Machines[i]
		asleep := r.asleep(v)
		if m := &v.Machine; asleep && m.Health.Verdict == belief.VerdictUnknown && r.S.Whole.Doubt.Reason == "" {
			if r.inference.CannotAnswer(m) {
				r.Mute++
			}
			continue // for nothing else it counts, but that it is judged afresh when a doubt ends
		}
		r.works = append(r.works, work{Member: round.Member{Index: i, Site: -1, Asleep: asleep}})
		w := &r.works[len(r.works)-1]
		w.M, w.View = &v.Machine, r.heeded(v)
		w.On = &w.Chart
		if asleep {
			r.Tally.Add(w.M, &r.S.Spec)
		} else {
			r.judgeOne(w)
		}
		r.order, r.members = append(r.order, w), append(r.members, &w.Member)
	}
	return r.order
}

// asleep reports whether nothing was heard of the machine since it was judged, and it is either held, or not well and
// nobody's business yet: it only counts, until the reason for holding it changes or its time is over. In a storm this
// is what most machines do.
func (r *deciding) asleep(v *situation.View) bool {
	m := &v.Machine
	if telling.SomeLost(m, &r.S, &r.telling) {
		return false
	}
	switch {
	case telling.Reminds(m, &r.S.Spec, r.S.Now):
		return false
	case r.orders.Stirs(m), ledger.IsChanging(&r.Round, m), m.Wanted != nil, m.Marked != nil,
		m.Health.Cause == belief.CauseMarked, r.Afresh, r.Retested,
		v.Due, m.Repair != nil, m.Contest != nil, len(m.Strays) > 0, m.Health.Grace != 0,
		// what its checks said counts no more
		r.S.Vantage.Standing == fleet.VantageIsolated && m.Health.Verdict != belief.VerdictUnknown,
		len(v.Seen) > 1 || len(v.Seen) == 1 && v.Seen[0].Instance.ID != m.Current.ID:
		return false
	case m.Incident == nil:
		return m.Waiting == "" && !m.Current.None() && (m.Health.Verdict == belief.VerdictSuspect ||
			m.Health.Verdict == belief.VerdictUnknown)
	}
	return m.Health.Verdict == belief.VerdictUnhealthy && m.Incident.HoldUntil.IsZero() &&
		!guard.LeftAlone(m.Health.Cause, &r.S.Spec) && m.Waiting != "" && m.Waiting != fleet.ReasonLawBroken
}

// sleepsOn reports whether the machine is held for the same reason as before. If not, it is woken.
func (r *deciding) sleepsOn(w *work) bool {
	if !w.Asleep {
		return false
	}
	if r.Sit.Provider.Standing == fleet.ProviderUnknown || w.M.Incident == nil {
		return true
	}
	r.see(w, r.Tally)
	if held, _ := ladder.Admit(w.M, &r.Sit); held == w.M.Waiting && held != "" {
		return true
	}
	r.wake(w)
	return false
}

// wake lets the machine be judged, and its belief be changed.
func (r *deciding) wake(w *work) {
	if w.Asleep {
		w.Asleep = false
		r.own(w)
	}
}

func (r *deciding) judgeOne(w *work) {
	r.own(w)
	m := w.M
	if r.orders.IsFreed(m) {
		orders.Free(&w.Chart)
	}
	if err := m.Check(); err != nil {
		w.breakLaw(err)
	} else {
		if r.Afresh && m.Health.Verdict != belief.VerdictHealthy {
			m.Afresh(r.S.Now, r.S.Spec)
		}
		w.judge()
		r.believing.ReadMarks(&w.Chart)
	}
	r.Tally.Follow(&r.S.Machines[w.Index].Machine, m, &r.S.Spec)
	if m.Quarantine != nil && len(r.orders.To(m)) > 0 {
		r.Tally.Freed++
	}
}

// own gives the work a belief of its own, to be changed.
func (r *deciding) own(w *work) {
	r.owned = r.owned[:len(r.owned)+1]
	own := &r.owned[len(r.owned)-1]
	w.M.CopyTo(own)
	w.M, w.Situation, w.Installation, w.Load = own, &r.Sit, r.S.Installation, r.loader
	w.telling = &r.telling
	w.chosen = len(r.Chosen) > 0 && rollout.IsChosen(&r.Round, own)
}

// see lets the guard see the machine, among those that are counted.
func (r *deciding) see(w *work, counted guard.Tally) {
	r.Sit.Tally, r.Sit.Fated, r.Sit.Unasked, r.Sit.View = counted, w.Fated, w.Unasked, w.View
	r.Sit.Near = w.Near
}

// proceed takes the machine's work as far as evidence and guard allow.
func (r *deciding) proceed(w *work) {
	if w.Broken {
		r.orders.RefuseAll(&w.Chart)
		return
	}
	w.M.CopyTo(&r.before)
	w.power = r.power(w.M)
	judged := len(w.Records)
	r.see(w, r.Tally) // the machine itself, too
	r.Tally.Remove(w.M, &r.S.Spec)
	if err := w.advanceSafely(r); err != nil {
		*w.M = r.before.Clone()
		w.Actions, w.Records, w.Rulings = nil, w.Records[:judged], nil
		w.breakLaw(err)
		r.orders.RefuseAll(&w.Chart)
	}
	r.Tally.Add(w.M, &r.S.Spec)
	l := r.Sit.Whole.Ledger
	if r.serving && guard.Served(&r.before, w.View, &r.S.Spec, l) && !guard.Serves(w.M, &r.S.Spec, l) {
		r.Sit.Serving--
	}
	guard.TakeSlot(w.M, &r.Sit)
	guard.CountRepair(r.before.Repair, w.M.Repair, &r.Sit)
}

// advanceSafely advances the machine and checks the laws. A defect that panics is one machine's trouble, not
// everybody's.
func (w *work) advanceSafely(r *deciding) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: a defect: %v", w.M.Name, p)
		}
	}()
	believes := r.believing.Believes()
	if believes {
		r.believing.Believe(&w.Work)
	}
	r.orders.Obey(&w.Chart)
	// What follows is for the next round. The brake did not count a machine that was freed (L6). What else bears the
	// mark of a machine of which the provider's word was just taken is found only then, and it is not to leave before.
	freed := func() bool { return r.before.Quarantine != nil && w.M.Quarantine == nil }
	if !believes && !freed() {
		goOn(w)
	}
	r.Again = r.Again || believes || freed()
	r.warnings.Warn(&w.Chart)
	return w.M.Check()
}

// goOn takes the machine's work as far as it gets, and tells people what is not to wait any longer.
func goOn(w *work) {
	w.advance()
	if telling.Lost(&w.Chart, telling.WithHeld, w.telling) {
		w.M.Incident.Paged = false // that its host was turned off does not say that it has nowhere to go
		w.Page(w.M.Waiting)
	}
	telling.Remind(&w.Chart)
}

func (w *work) breakLaw(err error) {
	w.Broken = true
	if w.M.Waiting == fleet.ReasonLawBroken {
		return
	}
	w.M.Waiting = fleet.ReasonLawBroken
	w.Record(record.Record{Kind: record.Held, Reason: fleet.ReasonLawBroken, Detail: err.Error()})
	w.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonLawBroken, Detail: err.Error()})
}
