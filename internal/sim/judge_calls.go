package sim

import (
	"fmt"
	"slices"

	"hale/internal/fleet"
	"hale/internal/sim/world"
	"hale/internal/tenure"
)

// Sent implements world.Watcher.
func (j *judge) Sent(c *world.Call) {
	if o := j.of(c.Client); o != j {
		o.Sent(c)
		return
	}
	if j.windowOpen {
		j.held[c] = true
	}
	j.strangers(c)
	j.untouched(c)
	if c.Copied && c.Op != world.Create {
		j.broken("L2", c.Mark.Machine, fmt.Sprintf("%s of %s, which a person copied, mark and all", c.Op,
			j.called(c.ID)))
	} else if c.Op.Disruptive() && c.Stranger {
		j.broken("L2", c.Mark.Machine, fmt.Sprintf("%s of %s, which is somebody else's", c.Op, j.called(c.ID)))
	}
	if c.Op == world.Create || c.Op == world.Certify || c.Op == world.DropSnapshot {
		return
	}
	j.touches(c)
	if !j.isNamed(c.Mark.Machine, c.ID) && j.personal[c.Mark.Machine] && !j.unread[c.Mark.Machine] &&
		j.s.spec.Repair.OnExternalStop != fleet.ExternalStopHeal && j.isCurrent(c) {
		j.broken("L10", c.Mark.Machine, fmt.Sprintf("%s of a machine that a person stopped", c.Op))
	}
}

// touches checks what is done to an instance that stands still with its memory intact, and did so before the last look
// at it: it may go on where it was, if nobody ordered the pause, or if the policy takes such an order for a failure,
// and never when a write to its disk would fail again. Only an unfinished build may go.
func (j *judge) touches(c *world.Call) {
	vm, heal := j.s.w.Definition(c.ID, c.Host), j.s.spec.Repair.OnExternalStop == fleet.ExternalStopHeal
	if vm == nil || j.s.rival != nil || !vm.Mark.Certified || j.isNamed(c.Mark.Machine, c.ID) {
		return
	}
	since, halted := vm.Halted()
	if !halted || since >= j.rungOf(c.Mark.Machine).looked {
		return
	}
	switch {
	case vm.Stop == world.StopIOError:
		j.broken("L10", c.Mark.Machine, fmt.Sprintf("%s of a machine whose disk cannot be written", c.Op))
	case vm.Stop == world.StopRescue:
		if c.Op != world.Rescue {
			j.broken("L10", c.Mark.Machine, fmt.Sprintf("%s of a machine that a person repairs", c.Op))
		}
	case c.Op != world.Resume:
		j.broken("L10", c.Mark.Machine, fmt.Sprintf("%s of a machine that is paused", c.Op))
	case vm.Stop != world.StopGuest && !heal:
		j.broken("L10", c.Mark.Machine, fmt.Sprintf("%s of a machine that a person paused", c.Op))
	}
}

func (j *judge) isCurrent(c *world.Call) bool {
	vm := j.s.w.Current(c.Mark.Machine)
	return vm != nil && vm.ID == c.ID && vm.Power == world.Off && // by whom, its host forgets when it boots
		(vm.Stop == world.StopExternal || vm.Stop == world.StopShutdown || vm.Stop == world.StopUnknown)
}

// takesAway reports whether the operation ends what runs, or its disks.
func takesAway(op world.Op) bool {
	return slices.Contains([]world.Op{world.PowerOff, world.Delete, world.Rebuild, world.Evacuate}, op)
}

// Acted implements world.Watcher.
func (j *judge) Acted(c *world.Call) {
	if o := j.of(c.Client); o != j {
		o.Acted(c)
		return
	}
	sc := j.s.score
	j.tellOdd(c)
	if c.Op == world.Fence && c.Effect {
		delete(j.given, c.Host)
	}
	if !c.Effect {
		delete(j.held, c)
		return
	}
	sc.Actions++
	j.tookEffect(c)
	if c.Op == world.Snapshot || c.Op == world.DropSnapshot {
		j.copied(c)
		return
	}
	j.disksOf(c)
	j.shelved(c)
	j.uncopied(c)
	if takesAway(c.Op) {
		j.mayDestroy(c)
		j.unborn(c)
	}
	if c.Op == world.Delete && j.leaving[c.Mark.Machine] == c.ID && j.isRemoved(c.Mark.Machine) {
		j.leaves(c.Mark.Machine)
	}
	wrong := j.wronged(c)
	delete(j.held, c)
	if n, ok := fleet.MachineName(c.Mark.Machine).Ordinal(); ok && n <= len(j.outages) {
		j.outages[n-1].acted = true
	}
	j.s.options.History.acted(c, wrong)
}

// wronged judges a call that took effect on something that served.
func (j *judge) wronged(c *world.Call) Wrong {
	sc := j.s.score
	switch {
	case !c.Op.Disruptive() && c.Op != world.Run || c.Again:
	case j.isOrdered(c):
	case j.held[c] && c.Serving:
		sc.WindowActs++
		return WrongWindow
	case c.Healthy:
		sc.HealthyDestroyed++
		j.broken("harm", c.Mark.Machine, fmt.Sprintf("%s of %s although it was healthy", c.Op, j.called(c.ID)))
		return WrongHealthy
	case c.Serving:
		sc.CaughtRecovering++
		return Recovering
	}
	return ""
}

// tookEffect notes what a call built, and what it took from an instance that another host runs.
func (j *judge) tookEffect(c *world.Call) {
	if c.Op == world.Create {
		j.built[c.ID] = true
		delete(j.personal, c.Mark.Machine) // what a person stopped is gone
	}
	if c.Op == world.Reboot {
		j.reset[c.ID] = j.s.w.Now()
	}
	if c.Robbed {
		j.s.score.HealthyDestroyed++
		j.broken("harm", c.Mark.Machine, fmt.Sprintf("%s of %s took the disk from under the one that another host runs",
			c.Op, j.called(c.ID)))
	}
}

// tellOdd tells of calls that the caller cannot know of: those that come late, or are carried out twice.
func (j *judge) tellOdd(c *world.Call) {
	var how string
	switch {
	case c.Again:
		how = "once more"
	case c.Late, j.held[c]:
		how = "only now"
	default:
		return
	}
	said := fmt.Sprintf("! the provider carries out the %s of %s %s", c.Op, j.called(c.ID), how)
	if !c.Effect {
		said = fmt.Sprintf("! the %s of %s reaches the provider %s, and changes nothing", c.Op, j.called(c.ID), how)
	}
	j.s.trace.say(j.s.w.Now(), c.Mark.Machine, said)
}

// mayDestroy checks that what goes is certified, or known to its builder as an expired build (L2).
func (j *judge) mayDestroy(c *world.Call) {
	if c.Certified || j.s.rival != nil {
		return
	}
	n, ok := fleet.MachineName(c.Mark.Machine).Ordinal()
	if !ok || n > len(j.s.store.beliefs) {
		return
	}
	m := j.s.store.beliefs[n-1]
	if string(m.Current.ID) == c.ID && !m.Current.Expired && !m.Current.Certified {
		j.broken("L2", c.Mark.Machine, fmt.Sprintf("%s of %s, which is neither certified nor expired", c.Op,
			j.called(c.ID)))
	}
}

// sends checks what must hold at the moment when a call leaves.
func (j *judge) sends(c *server, a fleet.Action) {
	now, op := j.s.w.Now(), a.Intent.Op
	if !op.Disruptive() && op != fleet.OpRun {
		return
	}
	j.spares(a)
	r := j.rungOf(string(a.Machine))
	if vm := j.s.w.Definition(string(a.Instance), string(a.Host)); op != fleet.OpPowerOff && takesAway(world.Op(op)) &&
		(vm == nil || vm.Power == world.Off) {
		return // the proof that it is off stands in for the look
	}
	if !r.disrupted && !j.windowOpen && j.unlooked(r, a) {
		j.broken("L3", string(a.Machine), fmt.Sprintf("%s without a look since the last outcome", op))
	}
	if op.Disruptive() && !j.windowOpen && !j.documented(a) {
		j.broken("evidence", string(a.Machine), fmt.Sprintf("%s before any evidence was gathered", op))
	}
	r.disrupted = true
	if now < j.steady[c] && !j.windowOpen {
		j.broken("L9", string(a.Machine), fmt.Sprintf("%s before a fresh verdict was possible", op))
	}
	if j.s.store.owner != c && !j.windowOpen {
		j.broken("L7", string(a.Machine), fmt.Sprintf("%s by %s, which does not own the fleet", op, c.name))
	}
	if !j.windowOpen && op.Disruptive() && c.lease.ends(now)-now <= min(a.Intent.Limit, tenure.DisruptiveLimit) {
		j.broken("L7", string(a.Machine), fmt.Sprintf("%s that may outlive the lease", op))
	}
}

// spares checks that no protected machine is disrupted, unless a person wants just that.
func (j *judge) spares(a fleet.Action) {
	n, _ := a.Machine.Ordinal()
	its := a.Mark.Certified || j.s.store.beliefs[n-1].Current.ID == a.Instance // and nothing that was left beside it
	if slices.Contains(j.s.spec.Protected, n) && its && !j.isNamed(string(a.Machine), string(a.Instance)) {
		j.broken("protect", string(a.Machine), fmt.Sprintf("%s of a machine that is never to be disrupted",
			a.Intent.Op))
	}
}

// unlooked reports whether neither a look since the last outcome nor a person's order stands behind the call.
func (j *judge) unlooked(r *rung, a fleet.Action) bool {
	return !j.isNamed(string(a.Machine), string(a.Instance)) && !j.swaps(string(a.Machine), string(a.Instance)) &&
		(r.looked == 0 || r.looked < r.answered)
}

// documented reports whether evidence was gathered on what is healed, or tried to be.
func (j *judge) documented(a fleet.Action) bool {
	n, _ := a.Machine.Ordinal()
	m := &j.s.store.beliefs[n-1]
	return j.s.spec.Evidence.Off || m.Repair == nil || m.Repair.Kind != fleet.RepairHeal || m.Incident == nil ||
		m.Incident.Evidence == a.Instance && m.Repair.Gather == ""
}
