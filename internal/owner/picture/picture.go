// Package picture is what the owner of one fleet knows: its beliefs joined with what was heard from the checks and seen
// at the provider. It turns evidence into the views of a situation, takes decisions in, and says where each machine is
// probed, and which absences are in doubt.
//
// It promises that evidence about another time, instance or address than the believed one never reaches a view, that
// silence (a host that cannot be asked, a watermark that is stale) becomes unknown and never a failure (L4), and that
// the cost of each piece of evidence is that of the machines it is about. It does no I/O, reads no clock, starts no
// goroutine and draws no random number: now and fresh ids are arguments. It does not decide and does not store. It is
// not safe for concurrent use.
package picture

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Options are what a Picture is made of.
type Options struct {
	Spec         policy.Spec
	Installation fleet.Installation
	// Beliefs are the machines as stored, sorted by ordinal. New makes them good for this owner
	// (belief.Machine.Restart) and adds what is missing up to Spec.Size.
	Beliefs []belief.Machine
	// Brake is the brake as stored; since when it was calm is forgotten.
	Brake belief.Brake
	// Whole is what else was stored of the fleet as a whole; New makes it good for this owner, too.
	Whole belief.Whole
	// Epoch is the highest probe epoch that was ever given, so that none is reused.
	Epoch uint64
	// Cannot are the operations that the provider is known not to have.
	Cannot []fleet.Op
	// FreshID returns an id that was never used.
	FreshID func() fleet.InstanceID
	// Rest is for how long calls of another server may be under way: until then nothing is begun (L7).
	Rest time.Duration
	// Aimed is told whenever a machine's aim changes, also when it is not probed any more (epoch 0). It may read the
	// picture and must not change it. May be nil.
	Aimed func(index int, a Aim)
}

// Picture is what is known of one fleet.
type Picture struct {
	is situation.State // as it was told last; its Now is that of the last situation
	// providerFails is when the trouble began that lasts, or that was over for a moment only.
	providerFails fleet.Instant
	providerTold  fleet.ProviderStanding // the trouble that a person was told of last
	shared        bool                   // the last listing had addresses that several running instances have
	providerUp    fleet.Instant          // when the provider last came up again
	// providerPaged says that a person was told of the trouble that lasts.
	providerPaged bool
	poolRevs      []uint64     // of what the pools said last
	wanted        *policy.Spec // as configured
	installation  fleet.Installation
	freshID       func() fleet.InstanceID
	aimed         func(index int, a Aim)

	made map[fleet.CheckName]fleet.Instant // when checks were made or edited in this term

	views  []situation.View
	byName map[fleet.MachineName]int
	aims   []aim
	epoch  uint64 // the last one given

	orders    []fleet.Order // not taken up yet, sorted by id
	others    []fleet.Hearing
	lots      []fleet.Lot
	inVain    []int                            // Situation.InVain
	catalogue *Catalogue                       // as last seen; nil: never
	asked     fleet.Instant                    // the listing last seen
	answered  map[fleet.HostName]fleet.Instant // what a silent host answered last
	dirty     bool                             // there is something to decide
	muted     uint64                           // the checks that were not heeded at the last situation
	deaf      bool                             // nothing is known by checks
	asking    map[fleet.InstanceID]bool        // asked for: are they really absent?

	open   openSet
	placed uint64 // Situation.Placed

	contested map[fleet.InstanceID]string // by which other fleet
	news      []record.Record

	needs  needs
	gauges gauges

	// Used again by each seeMachine.
	seen  []fleet.Sighting
	named []belief.Incarnation
	// Used again by each Open. Never nil.
	opened []int
}

// New returns the picture that a new owner begins with: everything is to be judged afresh, under an amnesty until the
// checks had the time to speak (L9).
func New(o Options, now fleet.Now) *Picture {
	spec := o.Whole.Ledger.Force(o.Spec)
	if spec.Adopt.Selects() {
		spec.Adopt.Left = o.Whole.Left()
		spec.Size = 0 // nothing is built: what it has, the beliefs say
	}
	p := &Picture{
		is: situation.State{
			Now: now, Spec: spec, Cannot: o.Cannot, Brake: o.Brake, Whole: o.Whole.Restart(now),
			Provider: fleet.ProviderState{Standing: fleet.ProviderUnknown},
			SteadyAt: now.Mono.Add(max(guard.SettleTime(spec), o.Rest) + time.Second),
		},
		wanted: &o.Spec, installation: o.Installation, freshID: o.FreshID, aimed: o.Aimed, epoch: o.Epoch,
		byName:   make(map[fleet.MachineName]int),
		asking:   make(map[fleet.InstanceID]bool),
		answered: make(map[fleet.HostName]fleet.Instant),
		made:     make(map[fleet.CheckName]fleet.Instant),
		dirty:    true,
		placed:   1,
		needs:    needsOf(spec.Asked()),
	}
	p.is.Brake.CalmSince, p.is.Brake.SteadySince = 0, 0
	beliefs := make(map[int]belief.Machine, len(o.Beliefs))
	top := spec.Top() // none, of a fleet that selects
	for _, m := range o.Beliefs {
		n, _ := m.Name.Ordinal()
		beliefs[n] = m.Restart(now, spec)
		top = max(top, n)
	}
	for n := 1; n <= top; n++ {
		m, known := beliefs[n]
		switch {
		case known:
			p.add(m)
		case n <= spec.Top():
			p.add(unbuilt(&spec, n, now))
		}
	}
	if p.is.Spec.Adopt.Selects() {
		p.is.Spec.Size = p.size()
	}
	p.aims = make([]aim, len(p.views))
	p.open, p.opened = newOpenSet(len(p.views)), []int{}
	for i := range p.views {
		p.due(i)
	}
	p.measure(now)
	return p
}

// unbuilt is what is believed of a machine that never was.
func unbuilt(spec *policy.Spec, ordinal int, now fleet.Now) belief.Machine {
	return belief.Machine{Name: spec.Name.Machine(ordinal), Health: belief.Health{Verdict: belief.VerdictUnknown,
		SinceMono: now.Mono}}
}

func (p *Picture) add(m belief.Machine) {
	p.byName[m.Name] = len(p.views)
	p.views = append(p.views, situation.View{
		Machine: m, Checks: unheard(p.is.Spec.Checks), Tells: unheard(p.is.Spec.Tells), FreshID: p.freshID(),
	})
}

// unheard are the checks before anything was heard of them.
func unheard(checks []policy.Check) []fleet.CheckState {
	if len(checks) == 0 {
		return nil
	}
	out := make([]fleet.CheckState, len(checks))
	for k, c := range checks {
		out[k] = fleet.CheckState{Check: c.Name, Standing: fleet.StandingUnknown}
	}
	return out
}

// Len returns the number of machines, those beyond the wanted size included.
func (p *Picture) Len() int { return len(p.views) }

// View returns what is known of one machine, to be read only. It stands until the picture changes.
func (p *Picture) View(i int) *situation.View { return &p.views[i] }

// Index returns the machine's index, and whether the picture has it.
func (p *Picture) Index(m fleet.MachineName) (int, bool) {
	i, ok := p.byName[m]
	return i, ok
}

// Dirty reports whether there is something to decide.
func (p *Picture) Dirty() bool { return p.dirty }

// Situation returns what a decision now rests on. It shares the views with the picture: decide before anything else is
// told.
func (p *Picture) Situation(now fleet.Now) situation.Situation {
	p.mute(now)
	orders := p.offered()
	p.is.Now, p.is.Gauges = now, p.Gauges()
	return situation.Situation{
		State: p.is, Installation: p.installation, Wanted: p.wanted, Others: p.others, Lots: p.lots,
		Machines: p.views, Open: p.Open(), Orders: orders[:min(len(orders), ordersAtOnce)], Placed: p.placed,
		InVain: p.inVain,
	}
}

// mute asks for a decision about the machines with a check that is down when other checks are heeded than at the last
// situation.
func (p *Picture) mute(now fleet.Now) {
	muted := health.Muted(p.is.Spec.Checks, now)
	if muted == p.muted {
		return
	}
	p.muted = muted
	for i := range p.views {
		if slices.ContainsFunc(p.views[i].Checks,
			func(c fleet.CheckState) bool { return c.Standing == fleet.StandingDown }) {
			p.due(i)
		}
	}
}

// Settled says that the decision on the last situation was adopted whole: there is nothing to decide until more is
// told, unless there were more orders than one decision takes up.
func (p *Picture) Settled() { p.dirty = len(p.offered()) > 0 }

// Adopt takes in what was decided for one machine. Call it once the belief is stored.
func (p *Picture) Adopt(m round.Decided) {
	v := &p.views[m.Index]
	if r := m.Belief.Repair; r != nil && r.Next.ID == v.FreshID {
		v.FreshID = p.freshID()
	}
	if was, is := v.Machine.Lies(), m.Belief.Lies(); is.Apart(&was) {
		p.placed++
	}
	selects := p.is.Spec.Adopt.Selects()
	cared := selects && !guard.Surplus(&v.Machine, &p.is.Spec)
	v.Machine, v.Due, v.Look, v.Outcome, v.Gathered = m.Belief, m.Ends(&v.Machine), nil, nil, nil
	switch cares := selects && !guard.Surplus(&v.Machine, &p.is.Spec); {
	case cares && !cared:
		p.is.Spec.Size++
	case cared && !cares:
		p.is.Spec.Size--
	}
	p.open.put(m.Index, v.Open())
	p.aim(m.Index)
}

// AdoptBrake takes in what was decided about the brake. Call it once the brake is stored.
func (p *Picture) AdoptBrake(b belief.Brake) { p.is.Brake = b }

// AdoptWhole takes in what else was decided about the fleet as a whole. Call it once it is stored. Where the ledger
// has more machines than before, the picture has them from now on: see Len.
func (p *Picture) AdoptWhole(w belief.Whole, now fleet.Now) {
	booked := w.Ledger != p.is.Whole.Ledger || !slices.EqualFunc(w.LetGo, p.is.Whole.LetGo, belief.LetGo.Equal)
	proven := !w.Book.SameProofs(p.is.Whole.Book)
	p.is.Whole = w
	if booked {
		p.force(now)
	}
	if proven {
		p.weighAnew()
	}
}

// weighAnew asks for a decision about the machines with a check that fails: whether that counts may be otherwise now.
func (p *Picture) weighAnew() {
	for i := range p.views {
		if slices.ContainsFunc(p.views[i].Checks, func(c fleet.CheckState) bool {
			return c.Standing == fleet.StandingDown || c.Standing == fleet.StandingFailing
		}) {
			p.due(i)
		}
	}
}

// SetVantage takes in how hale's own sight stands.
func (p *Picture) SetVantage(v fleet.Vantage) {
	p.dirty = p.dirty || v.Standing != p.is.Vantage.Standing
	p.is.Vantage = v
}

// SetRoll takes in what the notes at the provider's say of hale's starts.
func (p *Picture) SetRoll(r fleet.Roll) {
	if p.is.Roll.Equal(r) {
		return
	}
	for i := range p.views {
		p.due(i)
	}
	p.is.Roll, p.dirty = r, true
}

// SetActing says why nothing may be done, or, with an empty reason, that it may.
func (p *Picture) SetActing(r fleet.Reason) { p.is.Acting = r }

// State returns what is known of the fleet beside its machines, to be read only.
func (p *Picture) State() *situation.State { return &p.is }

// ClockSet forgets what was seen, as at a take-over: after a step of the clock, durations are not what they seem (L9).
func (p *Picture) ClockSet(now fleet.Now) {
	p.is.SteadyAt = max(p.is.SteadyAt, now.Mono.Add(guard.SettleTime(p.is.Spec)))
	p.is.Whole = p.is.Whole.ClockSet(now)
	p.forgetChecks(fleet.ResultNone)
	p.measureAnew(now)
	for i := range p.views {
		p.views[i].Machine = p.views[i].Machine.ClockSet(now, p.is.Spec)
		p.open.put(i, p.views[i].Open())
		p.aims[i].stale = true
		p.aim(i)
	}
	p.dirty = true
}

// Copies returns the views as they stand, sharing nothing that the picture changes.
func (p *Picture) Copies() []situation.View {
	views := slices.Clone(p.views)
	for i := range views {
		views[i].Machine = views[i].Machine.Clone()
		views[i].Checks = append([]fleet.CheckState(nil), views[i].Checks...)
		views[i].Tells = append([]fleet.CheckState(nil), views[i].Tells...)
		views[i].Seen = append([]fleet.Sighting(nil), views[i].Seen...)
	}
	return views
}
