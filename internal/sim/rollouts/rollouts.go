// Package rollouts judges how other templates go through a fleet of a simulated world: who tries them, who follows, and
// how many machines serve meanwhile.
//
// It promises to share no code with the judgement that it judges. What it must know of the play it asks its court for.
package rollouts

import (
	"fmt"
	"maps"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/world"
)

// Court is what is asked about the play.
type Court interface {
	// Broken is told of a broken law.
	Broken(law, machine, what string)
	// Update is how other templates are to go through the fleet, and Size how many machines it has.
	Update() (u *policy.Update, size int)
	// Ordered reports whether a person ever gave an order of the kind.
	Ordered(kind fleet.OrderKind) bool
	// Stood reports whether the machine has a certified instance from the image, another than the old one, that is as
	// old as templates are tried: by truth.
	Stood(machine, old, image string) bool
	// InService yields what is stored of the fleet's machines that are no spares.
	InService(yield func(*belief.Machine) bool)
}

// trial is one template on its way through the fleet: who tries it, and whether it proved itself.
type trial struct {
	image  string
	tried  map[string]string // machines with work that began by the order, and the instance that they had
	proven bool
}

// Trials are those of each confirmed plan, and the images that need none any more.
type Trials struct {
	shown   map[fleet.OrderID]string // the image that a plan is about, as it was shown
	by      map[fleet.OrderID]*trial
	trusted map[string]bool
	undoes  bool // an update is taken back: what it built may go
}

// New returns the trials of a fleet that stands on the image.
func New(image string) Trials {
	return Trials{shown: map[fleet.OrderID]string{}, by: map[fleet.OrderID]*trial{},
		trusted: map[string]bool{image: true}}
}

// Clone returns the trials as a copy of the store has them.
func (t *Trials) Clone() Trials {
	c := *t
	c.shown, c.by, c.trusted = maps.Clone(t.shown), map[fleet.OrderID]*trial{}, maps.Clone(t.trusted)
	for order, of := range t.by {
		c.by[order] = &trial{of.image, maps.Clone(of.tried), of.proven}
	}
	return c
}

// Shown notes which image the plan is about that the operator confirmed.
func (t *Trials) Shown(by fleet.OrderID, image string) { t.shown[by] = image }

// Tries notes that hale begins to build the machine anew from another template. Beyond the number that may try it
// first, none may follow before so many of these were certified, and stand as long as the policy says: by truth,
// whatever hale thinks of them (S56). What goes to the template in force needs no trial.
func (t *Trials) Tries(c Court, is *belief.Machine) {
	name, order := string(is.Name), is.Repair.Order
	this := t.by[order]
	if this == nil {
		image, planned := t.shown[order]
		this = &trial{image: image, tried: map[string]string{}, proven: !planned}
		t.by[order] = this
	}
	if _, already := this.tried[name]; already {
		return
	}
	u, _ := c.Update()
	first, under, stand := max(1, u.Pilots), len(this.tried), this.stand(c)
	if !this.proven && !t.trusts(c, this.image, first) && under >= first {
		if stand < first {
			c.Broken("canary", name, fmt.Sprintf("it is built from another template, which %d machines tried before "+
				"it and %d of these proved", len(this.tried), stand))
		}
		this.proven, t.trusted[this.image] = true, true
	}
	this.tried[name] = string(is.Repair.Target.ID)
}

// Leaves notes that the machine has left the fleet: if it comes again, it tries nothing by that.
func (t *Trials) Leaves(machine string) {
	for _, this := range t.by {
		delete(this.tried, machine)
	}
}

// stand counts the machines that tried the template, and proved it.
func (t *trial) stand(c Court) int {
	n := 0
	for machine, old := range t.tried {
		if c.Stood(machine, old, t.image) {
			n++
		}
	}
	return n
}

// trusts reports whether the image needs no trial any more: so many machines proved it in an earlier one, which needed
// no others, since these had been built from it anyway.
func (t *Trials) trusts(c Court, image string, first int) bool {
	for _, of := range t.by {
		if of.image == image && of.stand(c) >= first {
			t.trusted[image] = true
		}
	}
	return t.trusted[image]
}

// Begins reports whether the machine's work is its first by the order.
func (t *Trials) Begins(is *belief.Machine) bool {
	this := t.by[is.Repair.Order]
	return this == nil || this.tried[string(is.Name)] == ""
}

// Said follows what hale says of an update, and checks that one is taken back only where the policy, or a person, says
// so. What proved itself when hale says so has done so, though the machines that tried it be built anew later.
func (t *Trials) Said(c Court, why fleet.Reason) {
	if why == fleet.ReasonProven {
		u, _ := c.Update()
		for _, this := range t.by {
			this.proven = this.proven || this.stand(c) >= max(1, u.Pilots)
		}
	}
	if why != fleet.ReasonRollsBack && why != fleet.ReasonRolledBack {
		return
	}
	t.undoes = why == fleet.ReasonRollsBack
	u, _ := c.Update()
	if t.undoes && u.OnFailure != policy.UpdateUndo && !c.Ordered(fleet.OrderRolloutUndo) {
		c.Broken("L3", "", "an update is taken back, which nobody ordered")
	}
}

// Goes reports whether the instance may go since an update is taken back: it came to the machine by a trial, or after
// one.
func (t *Trials) Goes(machine, id string) bool {
	if !t.undoes {
		return false
	}
	for _, this := range t.by {
		if old, tried := this.tried[machine]; tried && old != id {
			return true
		}
	}
	return false
}

// serves checks that a machine that serves is not taken away by an update, nor where one beyond the size is to serve
// for it, while fewer of the others serve than the policy wants; and by an update not before one beyond the size serves
// that came for it: by what was stored of them (S39). One that is known to fail serves no one.
func (s Surged) serves(c Court, was, is *belief.Machine) {
	u, size := c.Update()
	least := u.InService.Of(size)
	if u.Surge > 0 {
		least = size // others serve beyond it
	}
	begun := func(r *belief.Repair) bool {
		return r != nil && (r.Calls > 0 || r.Hooks != nil || r.Phase == belief.PhaseLeave)
	}
	first := begun(is.Repair) && !begun(was.Repair)
	if fails := is.Incident != nil && !is.Incident.Blind(); least == 0 || !first || !isWell(was) || fails {
		return
	}
	n, serves, came := s.others(c, is)
	if serves && n < least {
		c.Broken("S39", string(is.Name), fmt.Sprintf("it is taken away, and %d others serve where %d are to", n, least))
	}
	if serves && u.Surge > 0 && is.Repair.Kind == belief.RepairUpdate && s[string(is.Name)] == "" && !came {
		c.Broken("S39", string(is.Name), "it is changed, and none beyond the size serves that came for that")
	}
}

// others counts those that serve beside the machine, by what was stored of them. It says whether that one serves, too,
// and whether one of the others came beyond the size for the order that the machine is changed by.
func (s Surged) others(c Court, is *belief.Machine) (n int, serves, came bool) {
	for m := range c.InService {
		switch {
		case m.Name == is.Name:
			serves = true
		case m.Repair == nil && isWell(m):
			n++
			came = came || s[string(m.Name)] == is.Repair.Order
		}
	}
	return n, serves, came
}

// Came reports whether an update is taken back, and the instance is not as the template in force says: it may go. There
// may be no ledger.
func Came(l *belief.Ledger, has *world.VM) bool {
	return l != nil && l.Update != nil && l.Update.Undoes != nil && has != nil && !stands(&l.Template, has)
}

// TakesBack checks that what takes an update back leaves alone what is as the template in force says (L3).
func TakesBack(c Court, is *belief.Machine, l *belief.Ledger, has *world.VM) {
	undoes := l != nil && l.Update != nil && l.Update.Undoes != nil && l.Update.Order == is.Repair.Order
	if undoes && has != nil && stands(&l.Template, has) {
		c.Broken("L3", string(is.Name), "it is built anew since an update is taken back, and it has the template in "+
			"force")
	}
}

// stands reports whether the instance is as the template says, by truth. Without a size it has the template's.
func stands(t *policy.Template, has *world.VM) bool {
	sized := has.Size == world.Size{} || has.Size == world.Size(t.Size())
	return has.Image == t.Image && has.Metadata == string(t.Metadata) && has.Tags == string(t.Tags) && sized
}

func isWell(m *belief.Machine) bool {
	return m.Health.Verdict == belief.VerdictHealthy && m.Current.Certified && m.Incident == nil
}
