package sim

import (
	"fmt"
	"slices"
	"strconv"

	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
)

// Most returns the largest size that the fleet is ever asked to have.
func (o Options) Most() int {
	most := o.Spec.Size
	if o.Spec.Adopt.Selects() {
		most += spareMachines
	}
	for _, e := range o.Plan {
		if n, err := strconv.Atoi(e.Arg); (e.Verb == script.Resizes || e.Verb == script.Scales) && err == nil {
			most = max(most, n)
		}
	}
	return most
}

// resizes edits the size in the configuration, which every server reads again.
func resizes(s *stage, e script.Event) (func(), error) {
	n, err := strconv.Atoi(e.Arg)
	if err != nil || s.rival != nil {
		return nil, err
	}
	if n != s.wanted.Size {
		s.judge.resized(n)
	}
	s.wanted.Size = n
	for _, c := range s.servers {
		c.reload()
	}
	return nil, nil
}

// retemplates edits the image in the configuration's template, which every server reads again.
func retemplates(s *stage, e script.Event) (func(), error) {
	if s.rival != nil {
		return nil, nil
	}
	s.wanted.Template.Image = e.Image(s.spec)
	for _, c := range s.servers {
		c.reload()
	}
	return nil, nil
}

// mistypes edits the check's port in the configuration, which every server reads again. Its end puts it right.
func mistypes(s *stage, e script.Event) (func(), error) {
	if s.rival != nil {
		return nil, nil
	}
	edit := func(checks []fleet.Check) {
		s.wanted.Checks = checks
		for _, c := range s.servers {
			c.reload()
		}
	}
	right := s.wanted.Checks
	edit(e.Mistyped(right))
	s.judge.mistyped[fleet.CheckName(e.Arg)] = true
	return func() {
		delete(s.judge.mistyped, fleet.CheckName(e.Arg))
		edit(right)
	}, nil
}

// asksPort reports whether the spec has a check of the name that asks at a port.
func asksPort(checks []fleet.Check, name string) bool {
	return slices.ContainsFunc(checks, func(c fleet.Check) bool { return string(c.Name) == name && c.Port != 0 })
}

// reload lets the server take the configuration in.
func (c *server) reload() {
	if c.term == 0 {
		return // it reads it when it takes the fleet over
	}
	c.enter(c.life, func() {
		if c.term != 0 {
			c.own.Edit(c.s.wanted, c.now())
			c.probes.Edit(c.s.wanted.Checks)
			c.heat()
		}
	})
}

// confirms lets the operator confirm the plan that he is shown, if one waits.
func confirms(s *stage, _ script.Event) (func(), error) {
	if s.rival != nil || s.store.owner == nil || s.store.owner.term == 0 {
		return nil, nil // there is nothing to show
	}
	p := s.store.owner.own.Pending()
	if p.Empty() {
		return nil, nil
	}
	o := fleet.Order{Kind: fleet.OrderConfirm, Fleet: s.spec.Name, By: script.Operator, Plan: p.ID}
	id := s.post(o)
	s.judge.shown[id], s.judge.trials.shown[id] = p, s.store.owner.own.Wanted().Template.Image
	return nil, nil
}

// plans is what the judge knows of wanted changes: what the person was shown, and what became of it by truth.
type plans struct {
	shown   map[fleet.OrderID]change.Plan
	leaving map[string]string // the instances that a confirmed plan removes, by machine
	renewed map[string]string // that one replaces
	left    map[string]bool   // machines that have gone so
	size    int               // in force
	asked   int               // by the file or the operator, the last word
	most    int               // that was asked for with the orders that were taken up last, one after the other
	// machines that the operator named, and asked as it was stated then: they go, whichever instance they have
	going  map[string]int
	stated int             // how often a size was stated
	away   map[string]bool // adopted instances that the operator wants let go
	booked *fleet.Ledger   // as stored
}

func newPlans(size int) plans {
	return plans{
		asked: size, size: size, shown: map[fleet.OrderID]change.Plan{}, leaving: map[string]string{},
		renewed: map[string]string{},
		left:    map[string]bool{}, going: map[string]int{}, away: map[string]bool{},
	}
}

// resized notes that the configuration asks for another size: a larger one is in force at once.
func (j *judge) resized(n int) {
	j.asked = n
	j.stated++
	if n > j.size {
		j.size = n
		j.comeBack()
	}
}

// ruled notes which plans hale took up: what they name may go, and nothing else.
func (j *judge) ruled(rulings []fleet.Ruling) {
	j.most = j.asked
	for _, r := range rulings {
		if r.Refused != "" {
			continue
		}
		for _, t := range j.shown[r.Order].Remove {
			j.leaving[string(t.Machine)] = string(t.Instance)
		}
		for _, t := range j.shown[r.Order].Replace {
			j.renewed[string(t.Machine)] = string(t.Instance)
		}
		o := j.wishes.posted[r.Order]
		j.takesWorld(&o)
		switch o.Kind {
		case fleet.OrderScale:
			if o.Size != j.asked {
				j.resized(o.Size)
				j.most = max(j.most, o.Size)
			}
		case fleet.OrderDelete:
			j.sentAway(string(o.Machine))
		default:
		}
	}
}

// sentAway notes that hale took up the order to remove the machine, or to let go of what it adopted.
func (j *judge) sentAway(machine string) {
	n, _ := fleet.MachineName(machine).Ordinal()
	o := &j.outages[n-1]
	if o.open && o.healable { // it is not to be healed
		o.healable = false
		j.s.score.Healable--
	}
	if j.s.spec.Adopt.Selects() {
		j.away[string(j.s.store.beliefs[n-1].Current.ID)] = true
		return
	}
	if j.left[machine] || j.isToGo(machine) {
		return // it was so already
	}
	since := settled
	if j.asked >= j.staying() {
		j.asked--
		since = j.stated
	}
	j.going[machine] = since
}

// settled stands for a machine that was one of those that were too many already.
const settled = -1

// staying is how many machines are left when all that are to go have gone.
func (j *judge) staying() int {
	n := j.size
	for i := range j.outages {
		if j.isToGo(string(j.s.spec.Name.Machine(i + 1))) {
			n--
		}
	}
	return n
}

// comeBack forgets which machines went: more are asked for, and their numbers are taken again. Which those are, the
// ledger says that is booked with it.
func (j *judge) comeBack() {
	for machine := range j.left {
		delete(j.leaving, machine)
	}
	clear(j.left)
}

// books notes what hale holds to be in force.
func (j *judge) books(l *fleet.Ledger) {
	if j.booked != l {
		j.booked = l
		j.lookAround()
	}
}

// lookAround counts what fails anew, and looks after what has become one of the fleet's machines.
func (j *judge) lookAround() {
	j.recount()
	for i := range j.outages {
		name := string(j.s.spec.Name.Machine(i + 1))
		vm := j.s.w.Current(name)
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
func (j *judge) isBeyond(machine string) bool {
	n, ok := fleet.MachineName(machine).Ordinal()
	switch l := j.booked; {
	case !ok || j.s.spec.Adopt.Selects():
		return false
	// how many there are to be is known here; which numbers they have is hale's choice
	case l != nil && l.Size == j.size && !j.left[machine]:
		return n > l.Size+len(l.Left) || slices.Contains(l.Left, n)
	}
	return j.left[machine] || n > j.size+len(j.left)
}

// isOfFleet reports whether the machine is one of the fleet's.
func (j *judge) isOfFleet(machine string) bool { return !j.isBeyond(machine) }

// grows checks that hale builds no more machines than it was asked for.
func (j *judge) grows(size int) {
	if size > max(j.asked, j.most) { // the larger of two sizes may be in force for a moment
		j.broken("L13", "", fmt.Sprintf("the fleet grows to %d machines, and %d are asked for", size, j.asked))
	}
	if size > j.size {
		j.size = size
		j.comeBack()
	}
}

// isNamed reports whether a confirmed plan names the instance.
func (j *judge) isNamed(machine, id string) bool {
	_, goes := j.going[machine]
	return id != "" && (goes || j.leaving[machine] == id || j.renewed[machine] == id)
}

// leaves notes that an instance is gone by a person's order: with it went its machine.
func (j *judge) leaves(machine string) {
	if j.left[machine] {
		return
	}
	j.left[machine] = true
	delete(j.going, machine)
	j.size--
	j.recount()
	j.unmissed(machine)
}

// unmissed ends the outage of a machine that is no longer wanted.
func (j *judge) unmissed(machine string) {
	n, _ := fleet.MachineName(machine).Ordinal()
	o := &j.outages[n-1]
	if !o.open {
		return
	}
	o.open = false
	j.down--
	j.s.options.History.Up(n, o.ended(j.s.w.Now(), false))
	j.thin()
	if vm := j.s.w.Current(machine); vm != nil {
		j.ignored[machine] = vm.ID
	}
}

// Changed follows what hale says became of a wanted change: a machine that stays is to be healed as before (S52).
func (j *judge) changed(r fleet.Record) {
	switch r.Reason {
	case fleet.ReasonSizeUp:
		j.grows(r.Size)
	case fleet.ReasonSizeDown:
		if vm := j.s.w.Current(string(r.Machine)); vm != nil && vm.Power == world.Running {
			j.broken("L13", string(r.Machine), "it is said to have left, and runs")
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
		j.asked++ // no size was asked for since: it is what it was
	}
	delete(j.going, name)
	if _, known := j.leaving[name]; !known && !named || j.left[name] {
		j.broken("L13", name, "a change is given up that nobody confirmed, or that was carried out")
		return
	}
	delete(j.leaving, name)
	if vm := j.s.w.Current(name); vm != nil && !vm.Serving() {
		j.Serving(vm)
	}
}

// orderly checks what must hold of a wanted change when it is stored.
func (j *judge) orderly(was, is *fleet.Machine, records []fleet.Record) {
	r := is.Repair
	if r == nil || !r.Wanted() {
		return
	}
	name := string(is.Name)
	if r.Kind == fleet.RepairUndo {
		if j.wishes.posted[r.Order].Kind != fleet.OrderUndo || j.wishes.posted[r.Order].Machine != is.Name {
			j.broken("L3", name, "an old instance is brought back, which nobody ordered")
		}
	} else if !j.isNamed(name, string(r.Target.ID)) && !r.Target.None() && !r.Removed && r.Calls == 0 {
		j.broken("L3", name, fmt.Sprintf("%s of %s, which no confirmed plan names", r.Kind,
			j.called(string(r.Target.ID))))
	}
	if r.Kind == fleet.RepairUpdate {
		j.tries(is)
	}
	// before that nothing was done, and what failed did so by itself
	begun := was.Repair != nil && was.Repair.ID == r.ID
	if begun && has(records, fleet.RecordIncidentOpen) {
		j.broken("L10", name, "a wanted change looks like a failure")
	}
}

// isRemoved reports whether hale is at work on the machine's removal, and does not mend it.
func (j *judge) isRemoved(machine string) bool {
	n, _ := fleet.MachineName(machine).Ordinal()
	r := j.s.store.beliefs[n-1].Repair
	return r != nil && r.Kind == fleet.RepairRemove
}

// isToGo reports whether a person's order has the machine removed.
func (j *judge) isToGo(machine string) bool {
	_, named := j.going[machine]
	_, planned := j.leaving[machine]
	return named || planned && !j.left[machine]
}

// goes reports whether a person wants the machine gone that has the instance.
func (j *judge) goes(machine, id string) bool {
	_, named := j.going[machine]
	return named || j.leaving[machine] == id
}

// letGo checks that an adopted instance that the operator wanted out of hale's care is not taken up again.
func (j *judge) letGo(was, is *fleet.Machine) {
	if id := is.Current.ID; j.away[string(id)] && was.Current.ID != id {
		j.broken("L2", string(is.Name), fmt.Sprintf("%s is taken up again, and a person wanted it let go",
			j.called(string(id))))
	}
}
