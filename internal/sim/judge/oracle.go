package judge

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/score"
	"hale/internal/sim/world"
)

// promptly is how long what stands against a step may last so that hale is to wait for its end without a page: a host
// reboots in less.
const promptly = 5 * time.Minute

// truth is what is known of an outage from its truth alone.
type truth struct {
	told    bool // a person was told of it, or of what explains it
	about   string
	toldAt  time.Duration
	curable bool // there was a moment at which a step could be begun that cures it
	ready   time.Duration
	step    time.Duration // what the cheapest such step takes
	why     string        // what struck
}

// weigh looks for the first moment at which a step could be begun that cures the open outage of the machine.
func (j *Judge) weigh(n int) {
	o := &j.outages[n-1]
	if !o.open || o.curable || o.unseen {
		return
	}
	if takes, ok := j.remedy(n); ok {
		o.curable, o.ready, o.step = true, j.w.Now(), takes
	}
}

// WeighAll does so for all, after something changed.
func (j *Judge) WeighAll() {
	if !j.moved {
		return
	}
	j.moved = false
	j.waiting = slices.DeleteFunc(j.waiting, func(n int) bool {
		j.weigh(n)
		return !j.outages[n-1].open || j.outages[n-1].curable
	})
}

// remedy returns how long the cheapest step takes that would set the machine right if it were begun now, if there is
// one.
func (j *Judge) remedy(n int) (time.Duration, bool) {
	name := string(j.spec.Name.Machine(n))
	if j.spec.Mode == policy.ModeObserve || j.truth.Personal(name) || j.restsByOrder(n) || j.isBeyond(name) {
		return 0, false
	}
	vm, host := j.w.Current(name), ""
	if vm != nil {
		host = vm.Host
	}
	can := func(has bool, ops ...world.Op) bool {
		return has && !slices.ContainsFunc(ops, func(op world.Op) bool {
			if op == world.Create {
				return !j.w.Obeys("", op) // anywhere
			}
			return !j.w.Obeys(host, op)
		})
	}
	has, need := j.spec.Repair.Has, j.w.Needs(vm)
	call, boot := j.w.Pace()
	rebuilds, recreates := j.makesAnew()
	switch {
	case need == world.NeedsPower && can(has(fleet.StepStart), world.Start), need == world.NeedsReset &&
		can(has(fleet.StepReboot), world.Reboot):
		return call + boot, true
	case need == world.NeedsResume:
		return call, j.resumable(vm) && can(true, world.Resume)
	case need == world.NeedsConfig && has(fleet.StepRun):
		return call, true
	case need == world.NeedsNothing, need == world.NeedsWay, need == world.NeedsSomebody:
		return 0, false
	case need == world.NeedsUnlocked:
		j.locks(&j.outages[n-1])
		return 0, false
	case j.w.Spoiled(name):
		j.spoils()
		return 0, false
	case need == world.NeedsInstance:
		return call + boot, can(recreates, world.Create)
	case can(rebuilds, world.PowerOff, world.Rebuild):
		return 2*call + boot, true
	}
	return 3*call + boot, can(recreates, world.PowerOff, world.Delete, world.Create)
}

// measure counts an outage that lasted until the time, beside the oracle.
func (j *Judge) measure(n int, o *outage, to time.Duration) {
	took := to - o.from
	oracle := took
	if o.curable {
		oracle = min(oracle, o.ready-o.from+o.step)
	}
	if o.visited && o.told {
		oracle = min(oracle, to-o.toldAt)
	}
	j.score.Foresee(oracle)
	if !o.curable {
		return
	}
	c := score.Curable{
		Why: o.why, Lost: took, Oracle: oracle, Alone: !o.open && !o.told && !j.isTold(n),
		Prompt: o.ready-o.from <= promptly, Unaided: !o.open && !o.visited,
	}
	if !c.Alone {
		c.Told = cmp.Or(o.about, j.about(n))
	}
	j.score.Cure(c)
}

// about returns what a person knows that explains the machine's outage, if nothing was said of it since it began.
func (j *Judge) about(n int) string {
	switch {
	case j.provider:
		return "before: provider"
	case j.told > 0:
		return "before: brake or doubt"
	case j.knowsOfTwo(string(j.spec.Name.Machine(n))):
		return "before: two of one"
	case j.isTold(n):
		return "before: its incident"
	}
	if j.outages[n-1].open {
		return "not over"
	}
	return "before"
}

// why returns what the outage that begins now is put down to.
func (j *Judge) why(o *outage) string {
	switch now := j.w.Now(); {
	case j.struckAt == now && j.struck != "":
		return j.struck
	case o.struckAt == now && o.struck != "":
		return string(o.struck)
	}
	return "else"
}

// isTold reports whether a person was told of the machine's incident, or of the one that it is part of.
func (j *Judge) isTold(n int) bool {
	m := &j.store.Beliefs[n-1]
	if m.Incident == nil {
		return false
	}
	p := j.store.Overall.Whole.Parent(m.Incident.Parent)
	return m.Incident.Paged || p != nil && p.Paged
}

// tell notes that a person was told: of the machine, of a parent's children, or of something that may explain all that
// is down.
func (j *Judge) tell(machine, parent string, about fleet.Reason) {
	for i := range j.outages {
		o, m := &j.outages[i], &j.store.Beliefs[i]
		if !o.open || o.told {
			continue
		}
		if machine == string(j.spec.Name.Machine(i+1)) || machine == "" &&
			(parent == "" || m.Incident != nil && m.Incident.Parent == parent) {
			o.told, o.toldAt, o.about = true, j.w.Now(), string(about)
		}
	}
}

// braking keeps count of how long hale's own brake is on.
func (j *Judge) braking(is belief.Brake, now time.Duration) {
	on := is.Engaged && is.By == ""
	if j.brakedAt >= 0 && !on {
		j.score.Braked(now - j.brakedAt)
		j.brakedAt = -1
	}
	if on && j.brakedAt < 0 {
		j.brakedAt = now
	}
}
