package sim

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/law"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// outage is one time during which a machine does not serve its users, by truth.
type outage struct {
	open     bool
	from     time.Duration
	struckAt time.Duration
	struck   script.Verb
	healable bool
	paged    bool          // a person was told of it, or of something that covers it
	pagedAt  time.Duration // when
	queue    int           // machines that were down before it
	unseen   bool          // the policy does not call it a failure
	acted    bool          // a call of hale's took effect since
	visited  bool          // the operator mended it
	locked   bool          // its provider refuses whatever would change it
	freed    time.Duration // until when it rested by a person's order
	truth
}

// ended is the outage as the history has it, when it ends or the run does.
func (o *outage) ended(to time.Duration, late bool) chronicle.Outage {
	out := chronicle.Outage{To: to, Open: o.open, Healable: o.healable, Unseen: o.unseen, Late: late, Paged: o.paged,
		PagedAt: o.pagedAt}
	switch {
	case o.open:
		out.Ended = chronicle.NotEnded
	case o.visited:
		out.Ended = chronicle.EndedByPerson
	case o.acted:
		out.Ended = chronicle.EndedByHale
	default:
		out.Ended = chronicle.EndedByItself
	}
	return out
}

// Strike notes what was done to the machine last.
func (o *outage) strike(e script.Event) { o.struck, o.struckAt = e.Verb, e.At }

// Serving implements world.Watcher.
func (j *judge) Serving(vm *world.VM) {
	n, ok := fleet.MachineName(vm.Machine()).Ordinal()
	if !ok || n > len(j.outages) {
		return
	}
	o := &j.outages[n-1]
	switch {
	case !o.open && !vm.Serving() && j.goes(vm.Mark.Machine, vm.ID): // a person wants it to go
	case !o.open && !vm.Serving() && j.isBeyond(vm.Machine()):
		j.ignored[vm.Machine()] = vm.ID
	case vm.Serving():
		j.truth.WantedOn(vm.Mark.Machine)
		if o.open {
			j.over(n, o)
		}
	case !o.open:
		*o = outage{
			open: true, from: j.s.w.Now(), struck: o.struck, struckAt: o.struckAt, queue: j.down,
			healable: j.healable(vm, o), unseen: !j.s.sees(vm),
			truth: truth{told: j.pages > 0 || j.knowsOfTwo(vm.Machine()), toldAt: j.s.w.Now(), why: j.why(o)},
		}
		if o.told {
			o.about = j.about(n)
		}
		j.moved, j.waiting = true, append(j.waiting, n)
		j.s.options.History.Down(n, o.from)
		j.down++
		j.each(vm.Machine(), func(n *night) { n.down = true })
		j.s.score.Outages++
		if o.healable {
			j.s.score.Healable++
		}
		j.crowd()
		if o.unseen {
			j.s.score.Unseen++
		} else {
			j.expect(n, o.from)
		}
	}
}

// crowd notices when so many are down that the policy forbids to act: then no outage is hale's to heal alone, until
// they were few for as long as the brake asks for.
func (j *judge) crowd() {
	if 2*j.down > j.brakeLimit() {
		j.crowds++
	}
	if j.down <= j.brakeLimit() {
		return
	}
	j.mass = true
	j.storms()
	for i := range j.outages {
		if o := &j.outages[i]; o.open && o.healable {
			o.healable = false
			j.s.score.Healable--
		}
	}
}

// thin notices when the crowd is over.
func (j *judge) thin() {
	if !j.mass || 2*j.down > j.brakeLimit() {
		return
	}
	crowds := j.crowds
	j.s.w.After(j.s.spec.Limits.Brake.ReleaseAfter+law.Detection(&j.s.spec, j.s.options.Poll), func() {
		if j.crowds == crowds {
			j.mass, j.stormy = false, false
		}
	})
}

// healable reports whether hale could and should heal the machine without a person: something is wrong with this
// machine alone, a step of the ladder cures it, and no more machines fail than the policy lets it act on.
func (j *judge) healable(vm *world.VM, o *outage) bool {
	if n, _ := fleet.MachineName(vm.Mark.Machine).Ordinal(); j.restsByOrder(n) {
		return false
	}
	if j.inTwo(vm) || j.swaps(vm.Mark.Machine, vm.ID) || j.domains > 0 || j.mass ||
		j.isNamed(vm.Mark.Machine, vm.ID) || j.truth.Personal(vm.Mark.Machine) ||
		j.s.spec.Mode == fleet.ModeObserve || !j.s.sees(vm) {
		return false
	}
	if vm.Power == world.Paused {
		return o.struckAt == j.s.w.Now() && j.resumable(vm)
	}
	if o.struckAt != j.s.w.Now() && o.struck != "" && vm.Power == world.Off {
		return o.struckAt == j.s.w.Now()
	}
	return j.cured(o.struck)
}

// cured reports whether a step of the ladder cures what struck the machine.
func (j *judge) cured(struck script.Verb) bool {
	cures := map[fleet.StepKind]bool{}
	for _, step := range j.s.spec.Repair.Steps {
		cures[step.Kind] = true
	}
	rebuilds, recreates := j.makesAnew()
	anew := rebuilds || recreates
	switch struck {
	case verbs.Vanishes:
		return recreates
	case verbs.LosesDisk:
		return anew
	default:
	}
	if struck == verbs.LosesConfig {
		return cures[fleet.StepRun] || anew
	}
	if struck == verbs.Crashes || struck == verbs.ShutsDown {
		return cures[fleet.StepStart] || anew
	}
	return cures[fleet.StepReboot] || anew
}

// makesAnew reports whether the ladder gives an instance another disk, and whether it makes another instance in spite
// of what is on its disks.
func (j *judge) makesAnew() (rebuilds, recreates bool) {
	_, lost := j.s.spec.Template.DiskLost()
	keeps := slices.ContainsFunc(j.s.spec.Repair.Steps, func(s fleet.Step) bool { return s.KeepOld > 0 })
	return j.s.spec.Repair.Has(fleet.StepRebuild), j.s.spec.Repair.Has(fleet.StepRecreate) && (!lost || keeps)
}

// resumable reports whether the policy is to let the paused machine go on.
func (j *judge) resumable(vm *world.VM) bool {
	if !j.s.spec.Repair.Has(fleet.StepResume) || vm.Stop == world.StopIOError || vm.Stop == world.StopRescue {
		return false
	}
	return vm.Stop == world.StopGuest || j.s.spec.Repair.OnExternalStop == fleet.ExternalStopHeal
}

// Over ends an outage in health.
func (j *judge) over(n int, o *outage) {
	took := j.s.w.Now() - o.from
	late := o.healable && took > j.s.onePass(o.queue) && !o.paged
	sc := j.s.score
	sc.Lost(took)
	j.down--
	o.open = false
	j.measure(n, o, j.s.w.Now())
	j.s.options.History.Up(n, o.ended(j.s.w.Now(), late))
	j.thin()
	if !o.healable {
		return
	}
	sc.Healed(took)
	switch {
	case o.paged:
		sc.HealablePaged++
	default:
		sc.HealedAlone++
	}
	if late {
		sc.LateHeals++
	}
}

// expect looks after the outage when it should be over, or in a person's hands.
func (j *judge) expect(n int, from time.Duration) {
	o := &j.outages[n-1]
	if j.s.spec.Mode == fleet.ModeObserve {
		return // to heal was not the order
	}
	begun := j.s.w.Now()
	j.s.w.At(max(from, begun)+j.s.utmost(o.queue), func() {
		if o.open && o.from == from && (j.restsByOrder(n) || o.freed > begun) {
			j.expect(n, from) // it is not missed now, or was not a while ago
			return
		}
		if o.open && o.from == from && !o.paged && !j.covered(n) {
			j.s.score.Unhealed++
			j.broken(
				"L8",
				string(j.s.spec.Name.Machine(n)),
				"down for "+script.Span(
					j.s.w.Now()-from,
				)+" ("+string(
					o.struck,
				)+"), neither healed nor in a person's hands",
			)
		}
	})
}

// covered reports whether a person was told of something that explains the machine's outage.
func (j *judge) covered(n int) bool {
	if j.pages > 0 || j.knowsOfTwo(string(j.s.spec.Name.Machine(n))) {
		return true
	}
	m := j.s.store.beliefs[n-1]
	if j.truth.Personal(string(m.Name)) || m.Incident == nil {
		return j.truth.Personal(string(m.Name))
	}
	p := j.s.store.overall.Whole.Parent(m.Incident.Parent)
	return m.Incident.Paged || p != nil && p.Paged
}

// onePass is law.OnePass, and utmost law.Utmost.
func (s *stage) onePass(queue int) time.Duration { return law.OnePass(&s.spec, s.options.Poll, queue) }
func (s *stage) utmost(queue int) time.Duration  { return law.Utmost(&s.spec, s.options.Poll, queue) }

// page notes that a person was told: of a machine, or of the whole fleet.
func (j *judge) page(machine string) {
	now := j.s.w.Now()
	for i := range j.outages {
		o := &j.outages[i]
		if o.open && !o.paged && (machine == "" || string(j.s.spec.Name.Machine(i+1)) == machine) {
			o.paged, o.pagedAt = true, now
		}
	}
	if j.s.options.Operator > 0 {
		j.s.w.After(j.s.between(j.s.options.Operator/2, j.s.options.Operator*3/2), func() {
			j.visit(machine)
			j.unbrake()
		})
	}
}

// unbrake lets the person who came take hale's own brake off.
func (j *judge) unbrake() {
	b := j.s.store.overall.Brake
	if !j.s.options.Unbrakes || !b.Engaged || b.By != "" {
		return
	}
	if o, err := (script.Event{Subject: script.Operator, Verb: script.Unbrakes}).Order(
		j.s.spec.Name,
		j.s.options.Hosts,
	); err == nil {
		j.s.trace.Say(j.s.w.Now(), "", "! operator "+string(script.Unbrakes))
		j.s.post(o)
	}
}

// retry lets the person who came have hale build once more what it gave up: there is nothing that they could start.
func (j *judge) retry(machine string) {
	if !j.s.options.Unbrakes {
		return
	}
	o, err := (script.Event{Subject: script.Operator, Verb: script.Retries, Arg: machine}).Order(
		j.s.spec.Name,
		j.s.options.Hosts,
	)
	if err == nil {
		j.s.trace.Say(j.s.w.Now(), machine, "! operator "+string(script.Retries)+" "+machine)
		j.s.post(o)
	}
}

// call notes that a person was told of a parent incident: some time later he mends its children.
func (j *judge) call(parent string) {
	if j.s.options.Operator <= 0 {
		return
	}
	j.s.w.After(j.s.between(j.s.options.Operator/2, j.s.options.Operator*3/2), func() {
		for i := range j.s.store.beliefs {
			if m := &j.s.store.beliefs[i]; m.Incident != nil && m.Incident.Parent == parent {
				j.visit(string(m.Name))
			}
		}
	})
}

// visit lets a person mend what hale left to him: start what is off, reset what hangs, with whatever that needs.
func (j *judge) visit(machine string) {
	for i := range j.outages {
		name := string(j.s.spec.Name.Machine(i + 1))
		if !j.outages[i].open || machine != "" && name != machine {
			continue
		}
		m := j.s.store.beliefs[i]
		vm := j.s.w.Current(name)
		if vm == nil && m.Quarantine != nil {
			j.retry(name)
		}
		if vm == nil || m.Repair != nil || j.truth.Personal(name) {
			continue
		}
		j.s.score.Visits++
		j.outages[i].visited = true
		j.s.trace.Say(j.s.w.Now(), name, "! a person mends "+name)
		j.s.w.PowerOn(vm)
	}
}

// finish judges what is left at the end.
func (j *judge) finish(end time.Duration) {
	sc := j.s.score
	j.s.options.History.Close(end)
	for _, n := range slices.Clone(j.nights) {
		j.dawn(n)
	}
	j.braking(fleet.Brake{}, end)
	for i := range j.outages {
		o := &j.outages[i]
		if !o.open {
			continue
		}
		sc.Lost(end - o.from)
		j.measure(i+1, o, end)
		j.s.options.History.Up(i+1, o.ended(end, false))
		if o.healable {
			sc.HealablePaged++
		}
	}
	j.inspect()
	sc.MachineDays = float64(j.s.spec.Size) * (j.s.options.Horizon + j.s.options.Calm).Hours() / 24
	sc.Runs = 1
}
