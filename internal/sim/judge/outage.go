package judge

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
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
func (j *Judge) Serving(vm *world.VM) {
	n, ok := fleet.MachineName(vm.Machine()).Ordinal()
	if !ok || n > len(j.outages) || j.first != nil { // the first judge alone hears of what serves again
		return
	}
	defer j.Bear()
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
			open: true, from: j.w.Now(), struck: o.struck, struckAt: o.struckAt, queue: j.down,
			healable: j.healable(vm, o), unseen: !j.sees(vm),
			truth: truth{told: j.pages > 0 || j.knowsOfTwo(vm.Machine()), toldAt: j.w.Now(), why: j.why(o)},
		}
		if o.told {
			o.about = j.about(n)
		}
		j.moved, j.waiting = true, append(j.waiting, n)
		j.history.Down(n, o.from)
		j.down++
		j.each(vm.Machine(), func(n *night) { n.down = true })
		j.score.Outages++
		if o.healable {
			j.score.Healable++
		}
		j.crowd()
		if o.unseen {
			j.score.Unseen++
		} else {
			j.expect(n, o.from)
		}
	}
}

// crowd notices when so many are down that the policy forbids to act: then no outage is hale's to heal alone, until
// they were few for as long as the brake asks for.
func (j *Judge) crowd() {
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
			j.score.Healable--
		}
	}
}

// thin notices when the crowd is over.
func (j *Judge) thin() {
	if !j.mass || 2*j.down > j.brakeLimit() {
		return
	}
	crowds := j.crowds
	j.w.After(j.spec.Limits.Brake.ReleaseAfter+law.Detection(&j.spec, j.options.Poll), func() {
		if j.crowds == crowds {
			j.mass, j.stormy = false, false
		}
	})
}

// healable reports whether hale could and should heal the machine without a person: something is wrong with this
// machine alone, a step of the ladder cures it, and no more machines fail than the policy lets it act on.
func (j *Judge) healable(vm *world.VM, o *outage) bool {
	if n, _ := fleet.MachineName(vm.Mark.Machine).Ordinal(); j.restsByOrder(n) {
		return false
	}
	if j.inTwo(vm) || j.truth.Chore(vm.Mark.Machine) != "" || j.swaps(vm.Mark.Machine, vm.ID) || j.domains > 0 ||
		j.mass || j.isNamed(vm.Mark.Machine, vm.ID) || j.truth.Personal(vm.Mark.Machine) ||
		j.spec.Mode == policy.ModeObserve || !j.sees(vm) {
		return false
	}
	if vm.Power == world.Paused {
		return o.struckAt == j.w.Now() && j.resumable(vm)
	}
	if o.struckAt != j.w.Now() && o.struck != "" && vm.Power == world.Off {
		return o.struckAt == j.w.Now()
	}
	return j.cured(o.struck)
}

// cured reports whether a step of the ladder cures what struck the machine.
func (j *Judge) cured(struck script.Verb) bool {
	cures := map[fleet.StepKind]bool{}
	for _, step := range j.spec.Repair.Steps {
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
func (j *Judge) makesAnew() (rebuilds, recreates bool) {
	_, lost := j.spec.Template.DiskLost()
	keeps := slices.ContainsFunc(j.spec.Repair.Steps, func(s policy.Step) bool { return s.KeepOld > 0 })
	return j.spec.Repair.Has(fleet.StepRebuild), j.spec.Repair.Has(fleet.StepRecreate) && (!lost || keeps)
}

// resumable reports whether the policy is to let the paused machine go on.
func (j *Judge) resumable(vm *world.VM) bool {
	if !j.spec.Repair.Has(fleet.StepResume) || vm.Stop == world.StopIOError || vm.Stop == world.StopRescue {
		return false
	}
	return vm.Stop == world.StopGuest || j.spec.Repair.OnExternalStop == policy.ExternalStopHeal
}

// Over ends an outage in health.
func (j *Judge) over(n int, o *outage) {
	took := j.w.Now() - o.from
	late := o.healable && took > j.onePass(o.queue) && !o.paged
	sc := j.score
	sc.Lost(took)
	j.down--
	o.open = false
	j.measure(n, o, j.w.Now())
	j.history.Up(n, o.ended(j.w.Now(), late))
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
func (j *Judge) expect(n int, from time.Duration) {
	o := &j.outages[n-1]
	if j.spec.Mode == policy.ModeObserve {
		return // to heal was not the order
	}
	begun := j.w.Now()
	j.w.At(max(from, begun)+j.utmost(o.queue), func() {
		if o.open && o.from == from && (j.restsByOrder(n) || max(o.freed, j.recovered) > begun) {
			j.expect(n, from) // it is not missed now, or was not a while ago
			return
		}
		if o.open && o.from == from && !o.paged && !j.covered(n) {
			j.score.Unhealed++
			j.Broken("L8", string(j.spec.Name.Machine(n)), fmt.Sprintf("down for %s (%s), neither healed nor in a "+
				"person's hands", script.Span(j.w.Now()-from), o.struck))
		}
	})
}

// covered reports whether a person was told of something that explains the machine's outage.
func (j *Judge) covered(n int) bool {
	if j.pages > 0 || j.knowsOfTwo(string(j.spec.Name.Machine(n))) {
		return true
	}
	m := j.store.Beliefs[n-1]
	if j.truth.Personal(string(m.Name)) || m.Incident == nil {
		return j.truth.Personal(string(m.Name))
	}
	p := j.store.Overall.Whole.Parent(m.Incident.Parent)
	return m.Incident.Paged || p != nil && p.Paged
}

// onePass is law.OnePass, and utmost law.Utmost.
func (j *Judge) onePass(queue int) time.Duration { return law.OnePass(&j.spec, j.options.Poll, queue) }
func (j *Judge) utmost(queue int) time.Duration  { return law.Utmost(&j.spec, j.options.Poll, queue) }

// Finish judges what is left at the end.
func (j *Judge) Finish(end time.Duration) {
	sc := j.score
	j.Bear()
	j.history.Close(end)
	for _, n := range slices.Clone(j.nights) {
		j.dawn(n)
	}
	j.braking(belief.Brake{}, end)
	for i := range j.outages {
		o := &j.outages[i]
		if !o.open {
			continue
		}
		sc.Lost(end - o.from)
		j.measure(i+1, o, end)
		j.history.Up(i+1, o.ended(end, false))
		if o.healable {
			sc.HealablePaged++
		}
	}
	j.inspect()
	j.lasts(end)
	sc.Runs = 1
}
