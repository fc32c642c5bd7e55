package judge

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/core/tenure"
	"hale/internal/sim/law"
	"hale/internal/sim/world"
)

// Sent implements world.Watcher.
func (j *Judge) Sent(c *world.Call) {
	if o := j.of(c.Client); o != j {
		o.Sent(c)
		return
	}
	if j.windowOpen {
		j.held[c] = true
	}
	j.untouched(c)
	d := law.Saw(j.w, c)
	if c.Op != world.Create && !j.options.Naive {
		d.Looked = j.rungOf(d.Machine).looked
	}
	d.Held, d.Second = j.windowOpen, j.isSecond(c)
	j.truth.Sent(d)
}

// Acted implements world.Watcher.
func (j *Judge) Acted(c *world.Call) {
	if o := j.of(c.Client); o != j {
		o.Acted(c)
		return
	}
	j.tellOdd(c)
	d := law.Saw(j.w, c)
	d.Held, d.Second = j.held[c], j.isSecond(c)
	delete(j.held, c)
	j.truth.Ended(d)
	if !c.Effect {
		return
	}
	j.built[c.ID] = j.built[c.ID] || c.Op == world.Create
	if c.Op == world.Snapshot || c.Op == world.DropSnapshot {
		j.truth.Acted(d)
		j.copied(c)
		return
	}
	j.uncopied(c)
	if law.TakesAway(c.Op) {
		j.mayDestroy(c)
		j.unborn(c)
	}
	if c.Op == world.Delete && j.leaving[c.Mark.Machine] == c.ID && j.isRemoved(c.Mark.Machine) {
		j.leaves(c.Mark.Machine)
	}
	wrong := j.truth.Acted(d)
	if n, ok := fleet.MachineName(c.Mark.Machine).Ordinal(); ok && n <= len(j.outages) {
		j.outages[n-1].acted = true
	}
	j.history.Acted(c, wrong)
}

// room tells the judge of the truth what only the simulator knows.
type room struct{ j *Judge }

// of is the judge of the hale that sent the deed's call: it may have ended since.
func (r room) of(d *law.Deed) *Judge {
	if o := r.j.of(d.Client); o != r.j || r.j.ended == nil || r.j.ended.client != d.Client {
		return o
	}
	return r.j.ended
}

// Broken implements law.Court.
func (r room) Broken(law, machine, what string) { r.j.Broken(law, machine, what) }

// Called implements law.Court.
func (r room) Called(id string) string { return string(r.j.called(id)) }

// Named implements law.Court.
func (r room) Named(d *law.Deed) bool { return r.of(d).isNamed(d.Machine, d.ID) }

// Swapped implements law.Court.
func (r room) Swapped(d *law.Deed) bool { return r.of(d).swaps(d.Machine, d.ID) }

// Undone implements law.Court.
func (r room) Undone(d *law.Deed) bool { return r.of(d).undoing(d.Machine) }

// InCare implements law.Court.
func (r room) InCare(d *law.Deed) bool { return r.of(d).inCare(d.Machine, d.ID) }

// SaidOff implements law.Court.
func (r room) SaidOff(host string) bool { return r.j.saidOff(host) }

// Apart implements law.Court.
func (r room) Apart(d *law.Deed) time.Duration { return spread(r.of(d).run.Skews()) }

// Excused implements law.Court.
func (room) Excused(*law.Deed) bool { return false }

// tellOdd tells of calls that the caller cannot know of: those that come late, or are carried out twice.
func (j *Judge) tellOdd(c *world.Call) {
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
	j.trace.Say(j.w.Now(), c.Mark.Machine, said)
}

// mayDestroy checks that what goes is certified, or known to its builder as an expired build (L2).
func (j *Judge) mayDestroy(c *world.Call) {
	if c.Certified || j.options.Naive {
		return
	}
	n, ok := fleet.MachineName(c.Mark.Machine).Ordinal()
	if !ok || n > len(j.store.Beliefs) {
		return
	}
	m := j.store.Beliefs[n-1]
	if string(m.Current.ID) == c.ID && !m.Current.Expired && !m.Current.Certified {
		j.Broken("L2", c.Mark.Machine, fmt.Sprintf("%s of %s, which is neither certified nor expired", c.Op,
			j.called(c.ID)))
	}
}

// Sends checks what must hold at the moment when a call leaves.
func (j *Judge) Sends(c Server, a situation.Action) {
	now, op := j.w.Now(), a.Intent.Op
	if op == fleet.OpCreate {
		j.sizes.Orders(string(a.Instance), a.Intent.At)
	}
	if !op.Disruptive() && op != fleet.OpRun {
		return
	}
	j.spares(a)
	r := j.rungOf(string(a.Machine))
	if vm := j.w.Definition(string(a.Instance), string(a.Host)); op != fleet.OpPowerOff &&
		law.TakesAway(world.Op(op)) && (vm == nil || vm.Power == world.Off) {
		return // the proof that it is off stands in for the look
	}
	if !r.disrupted && !j.windowOpen {
		j.thins(a)
		j.looked(r, a)
		j.truth.Leaves(j.belief(string(a.Machine)), a.Intent.Op, a.Instance, law.Second(j.first != nil))
	}
	if op.Disruptive() && !j.windowOpen && !j.documented(a) {
		j.Broken("evidence", string(a.Machine), fmt.Sprintf("%s before any evidence was gathered", op))
	}
	r.disrupted = true
	if now < j.steady[c.Name] && !j.windowOpen {
		j.Broken("L9", string(a.Machine), fmt.Sprintf("%s before a fresh verdict was possible", op))
	}
	if !c.Owns && !j.windowOpen {
		j.Broken("L7", string(a.Machine), fmt.Sprintf("%s by %s, which does not own the fleet", op, c.Name))
	}
	if !j.windowOpen && op.Disruptive() && c.Lease <= min(a.Intent.Limit, tenure.DisruptiveLimit) {
		j.Broken("L7", string(a.Machine), fmt.Sprintf("%s that may outlive the lease", op))
	}
}

// Window notes that what is sent was held up between the reading of the lease and the sending.
func (j *Judge) Window(send func()) {
	j.windowOpen = true
	send()
	j.windowOpen = false
}

// spares checks that no protected machine is disrupted, unless a person wants just that.
func (j *Judge) spares(a situation.Action) {
	n, _ := a.Machine.Ordinal()
	its := a.Mark.Certified || j.store.Beliefs[n-1].Current.ID == a.Instance // and nothing that was left beside it
	if slices.Contains(j.spec.Protected, n) && its && !j.isNamed(string(a.Machine), string(a.Instance)) {
		j.Broken("protect", string(a.Machine), fmt.Sprintf("%s of a machine that is never to be disrupted",
			a.Intent.Op))
	}
}

// looked checks that a look since the last outcome, or a person's order, stands behind the call.
func (j *Judge) looked(r *rung, a situation.Action) {
	name, id := string(a.Machine), string(a.Instance)
	wanted := j.isNamed(name, id) || j.swaps(name, id) || j.truth.Chore(name) != ""
	if !wanted && (r.looked == 0 || r.looked < r.answered) {
		j.Broken("L3", name, fmt.Sprintf("%s without a look since the last outcome", a.Intent.Op))
	}
}

// documented reports whether evidence was gathered on what is healed, or tried to be.
func (j *Judge) documented(a situation.Action) bool {
	n, _ := a.Machine.Ordinal()
	m := &j.store.Beliefs[n-1]
	return j.spec.Evidence.Off || m.Repair == nil || m.Repair.Kind != belief.RepairHeal || m.Incident == nil ||
		m.Incident.Evidence == a.Instance && m.Repair.Gather == ""
}

// Noted checks that hale builds and destroys only where its start is noted, and does nothing where one is that its
// store does not know (L1).
func (j *Judge) Noted(c Server, a situation.Action) {
	if j.windowOpen {
		return
	}
	harmless := []fleet.Op{
		fleet.OpStart, fleet.OpReboot, fleet.OpSoftReboot, fleet.OpResume, fleet.OpRun, fleet.OpHook, fleet.OpSnapshot,
		fleet.OpCertify,
	}
	own := slices.Contains(harmless, a.Intent.Op) || j.spec.Adopt.Selects() && !j.spec.Adopt.Replaceable
	for _, n := range j.w.Noted(j.options.Installation) {
		own = own || n == string(c.Start)
		if !j.store.Starts.Noted[fleet.StartName(n)] {
			what := fmt.Sprintf("%s by %s, which does not know start %s", a.Intent.Op, c.Name, n)
			j.Broken("L1", string(a.Machine), what)
		}
	}
	if !own {
		j.Broken("L1", string(a.Machine), fmt.Sprintf("%s by %s, which has noted no start", a.Intent.Op, c.Name))
	}
}
