package law

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/world"
)

// run is a hook that was run by a hale: one of provisioning for an instance, each other in one repair.
type run struct {
	hook, of string
	second   bool
}

// runOf names the run of the hook.
func runOf(d *Deed) run {
	if fleet.HookID(d.Hook).Moment() == fleet.MomentProvision {
		return run{d.Hook, d.ID, d.Second}
	}
	return run{d.Hook, d.Repair, d.Second}
}

// ending is how a run ended.
type ending struct {
	done      bool
	forgotten bool // hale's store lost it since, or may have
}

// runs is what was run; which instances were built meanwhile; which are new, or have a new disk, and are still to be
// what they are to be; and which were certified since.
type runs struct {
	ended             map[run]ending
	built, raw, whole map[string]bool
}

func newRuns() runs {
	return runs{map[run]ending{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

// Forgets has the judge know that hale's store lost what it held: hale may do again what it does not know of, and
// does not know what the provider forgot, too.
func (j *Judge) Forgets() {
	for key, e := range j.runs.ended {
		j.runs.ended[key] = ending{e.done, true}
	}
	for machine := range j.lost {
		j.unread[machine] = true
	}
}

// runsHook judges that a hook is run: one that does not bear it is not run twice (L12).
func (j *Judge) runsHook(d *Deed) {
	if d.Hook == "" {
		return
	}
	key := runOf(d)
	if e, before := j.runs.ended[key]; before && !e.forgotten && d.Once {
		j.court.Broken("L12", d.Machine, "hook "+d.Hook+" is run a second time for "+j.court.Called(d.ID)+
			", and does not bear that")
	}
	j.runs.ended[key] = ending{}
}

// Ended judges how a call ended, whether or not it changed anything.
func (j *Judge) Ended(d *Deed) {
	switch {
	case d.Hook != "" && (d.End == world.Transient || d.End == world.Invalid): // nothing was done
		delete(j.runs.ended, runOf(d))
	case d.Hook != "":
		was := j.runs.ended[runOf(d)] // done: by another run, which hale began while it knew nothing of this one
		j.runs.ended[runOf(d)] = ending{was.done || d.End == world.Done, was.forgotten}
	case d.Op == world.Create && d.Effect:
		j.runs.built[d.ID], j.runs.raw[d.ID] = true, len(j.Spec.Provision) > 0
	case d.Op == world.Rebuild && d.Effect: // its disk is new
		delete(j.runs.whole, d.ID)
		j.runs.raw[d.ID] = len(j.Spec.Provision) > 0
		for key := range j.runs.ended {
			if key.of == d.ID {
				delete(j.runs.ended, key)
			}
		}
	case d.Op == world.Certify && d.Effect:
		j.provisioned(d)
		j.runs.whole[d.ID] = true
		delete(j.runs.raw, d.ID)
	}
}

// finished notes that hale believes the machine's instance to be what it is to be: from then on it serves. It does not
// know that any more once its store lost how the hooks ended; what was certified serves all the same.
func (j *Judge) finished(m *belief.Machine) {
	id := string(m.Current.ID)
	if !m.Current.Raw {
		delete(j.runs.raw, id)
		return
	}
	for key, e := range j.runs.ended {
		if key.of == id && e.forgotten && !j.runs.whole[id] {
			j.runs.raw[id] = true
		}
	}
}

// provisioned checks that what is certified is what it is to be (S14): each hook of its provisioning that it cannot do
// without is done.
func (j *Judge) provisioned(d *Deed) {
	if !j.runs.built[d.ID] || j.Naive {
		return
	}
	for i := range j.Spec.Provision {
		h := &j.Spec.Provision[i]
		hook := string(fleet.MomentProvision.Hook(h.Name))
		done := j.runs.ended[run{hook, d.ID, false}].done || j.runs.ended[run{hook, d.ID, true}].done
		if h.OnFailure == policy.HookStop && h.Kind != policy.HookWait && !done {
			j.broken("S14", d, "for which hook "+hook+" is not done")
		}
	}
}

// Second says that it is the second of two hales.
type Second bool

// Leaves judges that hale sends the operation to the machine's instance, in the repair that it believes in: when that
// takes it away, the hooks for a machine that leaves are over (S61), and those that are said to be done were run.
func (j *Judge) Leaves(m *belief.Machine, op fleet.Op, instance fleet.InstanceID, second Second) {
	if m == nil || m.Repair == nil || !op.Disruptive() {
		return
	}
	r := m.Repair
	if r.Target.ID != instance || !r.Target.Certified && !r.Target.Adopted ||
		r.Kind == belief.RepairHeal && !r.Step.Interrupts() {
		return
	}
	for i := range j.Spec.Hooks.Leave {
		h := &j.Spec.Hooks.Leave[i]
		id := fleet.MomentLeave.Hook(h.Name)
		why, over := r.Hooks.Ended(id)
		_, ran := j.runs.ended[run{string(id), r.ID, bool(second)}]
		switch {
		case !over:
			j.court.Broken("S61", string(m.Name), "it is interrupted before hook "+string(id)+" is over")
		case why == "" && !ran && h.Kind != policy.HookWait:
			j.court.Broken("S61", string(m.Name), "hook "+string(id)+" is said to be done, and was never run")
		}
	}
}
