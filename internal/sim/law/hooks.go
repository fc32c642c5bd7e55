package law

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/world"
)

// run is a hook that was run: one of provisioning for an instance, each other in one repair.
type run struct{ hook, of string }

// runOf names the run of the hook.
func runOf(hook, repair, instance string) run {
	if fleet.HookID(hook).Moment() == fleet.MomentProvision {
		return run{hook, instance}
	}
	return run{hook, repair}
}

// runs is what was run, and whether it was done; which instances were built meanwhile; and which are new, or have a new
// disk, and are still to be what they are to be.
type runs struct {
	done       map[run]bool
	built, raw map[string]bool
}

func newRuns() runs { return runs{map[run]bool{}, map[string]bool{}, map[string]bool{}} }

// Forgets has the judge know that hale's store lost what it held: hale may do again what it does not know of.
func (j *Judge) Forgets() { j.runs = newRuns() }

// runsHook judges that a hook is run: one that does not bear it is not run twice (L12).
func (j *Judge) runsHook(d *Deed) {
	if d.Hook == "" {
		return
	}
	key := runOf(d.Hook, d.Repair, d.ID)
	if _, before := j.runs.done[key]; before && d.Once {
		j.court.Broken("L12", d.Machine, "hook "+d.Hook+" is run a second time for "+j.court.Called(d.ID)+
			", and does not bear that")
	}
	j.runs.done[key] = false
}

// Ended judges how a call ended, whether or not it changed anything.
func (j *Judge) Ended(d *Deed) {
	switch {
	case d.Hook != "" && d.End == world.Transient: // nothing was done
		delete(j.runs.done, runOf(d.Hook, d.Repair, d.ID))
	case d.Hook != "":
		j.runs.done[runOf(d.Hook, d.Repair, d.ID)] = d.End == world.Done
	case d.Op == world.Create && d.Effect:
		j.runs.built[d.ID], j.runs.raw[d.ID] = true, len(j.Spec.Provision) > 0
	case d.Op == world.Rebuild && d.Effect: // its disk is new
		j.runs.raw[d.ID] = len(j.Spec.Provision) > 0
		for key := range j.runs.done {
			if key.of == d.ID {
				delete(j.runs.done, key)
			}
		}
	case d.Op == world.Certify && d.Effect:
		j.provisioned(d)
		delete(j.runs.raw, d.ID)
	}
}

// finished notes that hale believes the machine's instance to be what it is to be: from then on it serves.
func (j *Judge) finished(m *belief.Machine) {
	if !m.Current.Raw {
		delete(j.runs.raw, string(m.Current.ID))
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
		if h.OnFailure == policy.HookStop && h.Kind != policy.HookWait && !j.runs.done[runOf(hook, "", d.ID)] {
			j.broken("S14", d, "for which hook "+hook+" is not done")
		}
	}
}

// Leaves judges that hale sends the operation to the machine's instance, in the repair that it believes in: when that
// takes it away, the hooks for a machine that leaves are over (S61), and those that are said to be done were run.
func (j *Judge) Leaves(m *belief.Machine, op fleet.Op, instance fleet.InstanceID) {
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
		_, ran := j.runs.done[run{string(id), r.ID}]
		switch {
		case !over:
			j.court.Broken("S61", string(m.Name), "it is interrupted before hook "+string(id)+" is over")
		case why == "" && !ran && h.Kind != policy.HookWait:
			j.court.Broken("S61", string(m.Name), "hook "+string(id)+" is said to be done, and was never run")
		}
	}
}
