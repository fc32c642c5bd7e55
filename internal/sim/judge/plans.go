package judge

import (
	"cmp"
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/sim/law"
	"hale/internal/sim/rollouts"
	"hale/internal/sim/world"
)

// plans is what the judge knows of wanted changes: what the person was shown, and what became of it by truth.
type plans struct {
	shown   map[fleet.OrderID]change.Plan
	leaving map[string]string // the instances that a confirmed plan removes, by machine
	renewed map[string]string // that one replaces
	// renewing is which plan it was: what that names may be gone when its turn comes
	renewing map[string]fleet.OrderID
	left     map[string]bool // machines that have gone so
	size     int             // in force, of those that serve
	filed    int             // what the configuration says; 0: nothing
	said     int             // by the last word on it, whatever the bounds; 0: there was none
	asked    int             // by that word, within the bounds, or as many as there are
	most     int             // that was asked for with the orders that were taken up last, one after the other
	// machines that the operator named, and asked as it was stated then: they go, whichever instance they have
	going  map[string]int
	stated int             // how often a size was stated
	away   map[string]bool // adopted instances that the operator wants let go
	booked *belief.Ledger  // as stored
	// unplanned are those of leaving that no plan names.
	unplanned map[string]bool
	surged    rollouts.Surged // of the size in force
}

func newPlans(spec *policy.Spec) plans {
	return plans{
		filed: spec.Said(), said: spec.Said(), asked: spec.Size, size: spec.Size,
		shown:   map[fleet.OrderID]change.Plan{},
		leaving: map[string]string{}, renewed: map[string]string{}, renewing: map[string]fleet.OrderID{},
		left: map[string]bool{}, unplanned: map[string]bool{}, going: map[string]int{}, away: map[string]bool{},
		surged: rollouts.Surged{},
	}
}

// Shown notes what the operator was shown and confirmed by the order: a plan, and the image that it is about.
func (j *Judge) Shown(by fleet.OrderID, p change.Plan, image string) {
	j.shown[by] = p
	j.trials.Shown(by, image)
}

// Mistyped notes that the check has a mistyped port until the returned function is called: it succeeds nowhere.
func (j *Judge) Mistyped(check fleet.CheckName) (corrected func()) {
	j.mistyped[check] = true
	return func() { delete(j.mistyped, check) }
}

// Resized notes that the configuration asks for another size, within these bounds.
func (j *Judge) Resized(n int, bounds *policy.Sizing) {
	j.sizes.Policy, j.filed, j.said = bounds, n, n
	j.sizes.Stated()
	j.asksFor(bounds.Bound(n))
}

// asksFor notes how many machines are asked for from now on. They are in force once hale says so: of several orders
// that are taken up together, only what the last one leaves is.
func (j *Judge) asksFor(n int) {
	j.lasts(j.w.Now())
	j.asked = n
	j.stated++
}

// Ruled notes which plans hale took up: what they name may go, and nothing else.
func (j *Judge) Ruled(rulings []fleet.Ruling) {
	j.most = j.asked
	for _, r := range rulings {
		if r.Refused != "" {
			continue
		}
		for _, t := range j.shown[r.Order].Remove {
			j.leaving[string(t.Machine)] = string(t.Instance)
		}
		j.renews(r.Order, j.shown[r.Order].Replace)
		o := j.wishes.posted[r.Order]
		j.holds.Obeyed(r.Order)
		j.takesWorld(&o)
		switch o.Kind {
		case fleet.OrderScale:
			size, anew := j.sizes.ByOrder(&o, j.moment(false))
			if anew {
				j.said = size
			}
			j.asks(size)
		case fleet.OrderDelete:
			j.sentAway(string(o.Machine))
		case fleet.OrderRolloutMend:
			j.mends(r.Order)
		default:
		}
	}
}

// absent is the instance of a machine that had none as a change of the fleet's template was confirmed.
const absent = "none yet"

// renews notes which instances a confirmed change of the template replaces. Machines that get their first instance
// meanwhile may get it from the former template, and then the change takes them, too; and those that are to go, if they
// stay after all.
func (j *Judge) renews(by fleet.OrderID, replaced []change.Touched) {
	if len(replaced) == 0 {
		return
	}
	for _, t := range replaced {
		j.renewed[string(t.Machine)], j.renewing[string(t.Machine)] = string(t.Instance), by
	}
	for i := range j.outages {
		name := string(j.spec.Name.Machine(i + 1))
		switch vm := j.w.Current(name); {
		case vm == nil, j.isBeyond(name):
			j.renewed[name], j.renewing[name] = absent, by
		case j.isToGo(name):
			j.renewed[name], j.renewing[name] = vm.ID, by
		}
	}
}

// sentAway notes that hale took up the order to remove the machine, or to let go of what it adopted.
func (j *Judge) sentAway(machine string) {
	n, _ := fleet.MachineName(machine).Ordinal()
	o := &j.outages[n-1]
	if o.open && o.healable { // it is not to be healed
		o.healable = false
		j.score.Healable--
	}
	if j.spec.Adopt.Selects() {
		j.away[string(j.store.Beliefs[n-1].Current.ID)] = true
		return
	}
	if j.isBeyond(machine) || j.isToGo(machine) {
		return // it was so already
	}
	since := settled
	if j.asked >= j.staying() {
		j.lowers(-1)
		since = j.stated
	}
	j.going[machine] = since
}

// lowers notes that a machine that a person named changes by so many how many are asked for.
func (j *Judge) lowers(by int) {
	j.lasts(j.w.Now())
	j.said = cmp.Or(j.said, j.asked) + by
	j.asked = j.sizes.Policy.Bound(j.said)
}

// settled stands for a machine that was one of those that were too many already.
const settled = -1

// staying is how many machines are left when all that are to go have gone.
func (j *Judge) staying() int {
	n := j.size
	for i := range j.outages {
		if name := string(j.spec.Name.Machine(i + 1)); j.isToGo(name) || j.surged[name] != "" {
			n--
		}
	}
	return n
}

// comeBack forgets which machines went: more are asked for, and their numbers are taken again. Which those are, the
// ledger says that is booked with it. A removal goes on until hale has booked it, though its instance is gone.
func (j *Judge) comeBack() {
	for machine := range j.left {
		if j.booked.Removal(fleet.MachineName(machine)) == nil {
			delete(j.leaving, machine)
		}
	}
	clear(j.left)
}

// isBack counts a machine again whose instance was removed, where it has another one by now: a hale with another store
// built that, and this one did not know it until a person had it believe what there is.
func (j *Judge) isBack(machine string) {
	if vm := j.w.Current(machine); j.left[machine] && vm != nil && j.found[vm.ID] {
		delete(j.left, machine)
		j.size++
	}
}

// books notes what hale holds to be in force, and looks after what has become one of the fleet's machines.
func (j *Judge) books(l *belief.Ledger) {
	if j.booked == l {
		return
	}
	j.booked = l
	for _, machine := range j.surged.Kept(l) {
		delete(j.going, machine)
	}
	for i := range j.outages {
		name := string(j.spec.Name.Machine(i + 1))
		vm := j.w.Current(name)
		if id := j.ignored[name]; id == "" || j.isBeyond(name) {
			continue
		} else if delete(j.ignored, name); vm != nil && vm.ID == id && !vm.Serving() {
			j.Serving(vm)
		}
	}
}

// isBeyond reports whether the machine is none of the fleet's: it left, or its number is higher than those that are in
// force. A store that was put back to a smaller size knows of no order to have it: hale holds it and says so, and what
// becomes of it is for a person to say.
func (j *Judge) isBeyond(machine string) bool {
	n, ok := fleet.MachineName(machine).Ordinal()
	if !ok || j.spec.Adopt.Selects() {
		return false
	}
	size, l := j.size+j.spec.Spares.Count, j.booked
	booked := law.Unbooked(l, n)
	switch {
	case j.left[machine]:
		return true
	case l != nil && l.Size >= size: // how many there are to be is known here; which numbers, hale chooses
		return booked // before a removal is booked, nothing that was beyond comes back by it
	}
	return n > size+len(j.left)
}

// Asked is how many machines are asked for.
func (j *Judge) Asked() int { return j.asked }

// IsOfFleet reports whether the machine is one of the fleet's.
func (j *Judge) IsOfFleet(machine string) bool { return !j.isBeyond(machine) }

// grows checks that hale builds no more machines than it was asked for.
func (j *Judge) grows(size int) {
	if size > max(j.asked, j.most) { // the larger of two sizes may be in force for a moment
		j.Broken("L13", "", fmt.Sprintf("the fleet grows to %d machines, and %d are asked for", size, j.asked))
	}
	if size += len(j.surged); size > j.size {
		j.size = size
		j.comeBack()
	}
}

// isNamed reports whether a confirmed plan names the instance, or it is what is left of a machine that has gone.
func (j *Judge) isNamed(machine, id string) bool {
	_, goes := j.going[machine]
	remains := j.left[machine] && law.Remnant(j.w.VM(id), j.belief(machine))
	return id != "" && (goes || remains || j.unplanned[machine] || j.leaving[machine] == id ||
		j.renewed[machine] == id || j.trials.Goes(machine, id) || rollouts.Came(j.booked, j.w.VM(id)))
}

// mends notes that the operator wants what differs from its template built anew: whatever there is now may go.
func (j *Judge) mends(by fleet.OrderID) {
	for i := range j.outages {
		name := string(j.spec.Name.Machine(i + 1))
		if vm := j.w.Current(name); vm != nil {
			j.renewed[name], j.renewing[name] = vm.ID, by
		}
	}
}

// leaves notes that an instance is gone by a person's order: with it went its machine.
func (j *Judge) leaves(machine string) {
	if j.left[machine] {
		return
	}
	j.left[machine] = true
	j.trials.Leaves(machine)
	delete(j.going, machine)
	delete(j.surged, machine)
	j.size--
	j.recount()
	j.unmissed(machine)
}

// unmissed ends the outage of a machine that is no longer wanted.
func (j *Judge) unmissed(machine string) {
	n, _ := fleet.MachineName(machine).Ordinal()
	o := &j.outages[n-1]
	if !o.open {
		return
	}
	o.open = false
	j.down--
	j.history.Up(n, o.ended(j.w.Now(), false))
	j.thin()
	if vm := j.w.Current(machine); vm != nil {
		j.ignored[machine] = vm.ID
	}
}

// Changed follows what hale says became of a wanted change: a machine that stays is to be healed as before (S52).
func (j *Judge) changed(r record.Record) {
	j.trials.Said(rolled{j}, r.Reason)
	switch r.Reason {
	case fleet.ReasonSizeUp:
		j.grows(r.Size)
	case fleet.ReasonSurge:
		j.surged.Comes(rolled{j}, string(r.Machine), r.Order)
		j.size++
		j.comeBack()
	case fleet.ReasonSurgeOver:
		j.surged.Goes(rolled{j}, string(r.Machine))
		j.going[string(r.Machine)] = settled
	case fleet.ReasonSizeDown:
		if vm := j.w.Current(string(r.Machine)); vm != nil && vm.Power == world.Running &&
			!law.Remnant(vm, j.belief(string(r.Machine))) && !j.isNews(vm) {
			j.Broken("L13", string(r.Machine), "it is said to have left, and runs")
		}
		j.leaves(string(r.Machine))
	default:
	}
	// or it is an update that is no longer wanted
	if r.Reason != fleet.ReasonGivenUp && r.Reason != fleet.ReasonWithdrawn || r.Machine == "" {
		return
	}
	name := string(r.Machine)
	stated, named := j.going[name]
	if named && stated == j.stated {
		j.lowers(1) // no size was asked for since: it is what it was
	}
	delete(j.going, name)
	j.isBack(name)
	if _, known := j.leaving[name]; !known && !named || j.left[name] {
		j.Broken("L13", name, "a change is given up that nobody confirmed, or that was carried out")
		return
	}
	delete(j.leaving, name)
	if vm := j.w.Current(name); vm != nil && !vm.Serving() {
		j.Serving(vm)
	}
}

// orderly checks what must hold of a wanted change when it is stored.
func (j *Judge) orderly(was, is *belief.Machine, records []record.Record) {
	r := is.Repair
	if r == nil || !r.Wanted() {
		return
	}
	name := string(is.Name)
	begins := !r.Removed && (r.Calls == 0 || was.Repair == nil || was.Repair.ID != r.ID)
	if j.renewing[name] == r.Order && r.Kind == belief.RepairUpdate && j.trials.Begins(is) &&
		j.w.VM(j.renewed[name]) == nil {
		j.renewed[name] = string(r.Target.ID) // what the plan named is gone, and the machine was healed since
		delete(j.renewing, name)
	}
	if r.Kind == belief.RepairUndo {
		if j.wishes.posted[r.Order].Kind != fleet.OrderUndo || j.wishes.posted[r.Order].Machine != is.Name {
			j.Broken("L3", name, "an old instance is brought back, which nobody ordered")
		}
	} else if begins && !r.Kind.Chore() && !j.isNamed(name, string(r.Target.ID)) && !r.Target.None() {
		j.Broken("L3", name, fmt.Sprintf("%s of %s, which no confirmed plan names", r.Kind,
			j.called(string(r.Target.ID))))
	}
	if r.Kind == belief.RepairUpdate {
		j.trials.Tries(rolled{j}, is)
		if begins {
			rollouts.TakesBack(rolled{j}, is, j.booked, j.w.VM(string(r.Target.ID)))
		}
	}
	j.surged.Takes(rolled{j}, was, is, j.wishes.posted[r.Order].Kind)
	if law.Fails(was, r, records) {
		j.Broken("L10", name, "a wanted change looks like a failure")
	}
}

// isRemoved reports whether hale is at work on the machine's removal, and does not mend it.
func (j *Judge) isRemoved(machine string) bool {
	n, _ := fleet.MachineName(machine).Ordinal()
	r := j.store.Beliefs[n-1].Repair
	return r != nil && r.Kind == belief.RepairRemove
}

// isToGo reports whether a person's order has the machine removed.
func (j *Judge) isToGo(machine string) bool {
	_, named := j.going[machine]
	_, planned := j.leaving[machine]
	return named || planned && !j.left[machine]
}

// goes reports whether a person wants the machine gone that has the instance.
func (j *Judge) goes(machine, id string) bool {
	_, named := j.going[machine]
	return named || j.leaving[machine] == id
}

// letGo checks that an adopted instance that the operator wanted out of hale's care is not taken up again.
func (j *Judge) letGo(was, is *belief.Machine) {
	if id := is.Current.ID; j.away[string(id)] && was.Current.ID != id {
		j.Broken("L2", string(is.Name), fmt.Sprintf("%s is taken up again, and a person wanted it let go",
			j.called(string(id))))
	}
}
