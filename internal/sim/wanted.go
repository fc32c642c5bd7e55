package sim

import (
	"fmt"
	"path"
	"strconv"

	"hale/internal/change"
	"hale/internal/fleet"
)

// edits are the verbs by which an operator changes the configuration, or confirms what waits.
func edits() map[Verb]shape {
	return map[Verb]shape{Resizes: {"operator", "count", true}, Retemplates: {"operator", "image", true}, Confirms: {subject: "operator"}}
}

// most returns the largest size that the fleet is ever asked to have.
func (o Options) most() int {
	most := o.Spec.Size
	if o.Spec.Adopt.Selects() {
		most += spareMachines
	}
	for _, e := range o.Plan {
		if n, err := strconv.Atoi(e.Arg); e.Verb == Resizes && err == nil {
			most = max(most, n)
		}
	}
	return most
}

// resizes edits the size in the configuration, which every server reads again.
func resizes(s *stage, e Event) (func(), error) {
	n, err := strconv.Atoi(e.Arg)
	if err != nil || s.rival != nil {
		return nil, err
	}
	s.wanted.Size = n
	s.judge.resized(n)
	for _, c := range s.servers {
		c.reload()
	}
	return nil, nil
}

// Image returns the image that the event names, in the folder of the spec's own.
func (e Event) Image(spec fleet.Spec) string { return path.Join(path.Dir(spec.Template.Image), e.Arg) }

// retemplates edits the image in the configuration's template, which every server reads again.
func retemplates(s *stage, e Event) (func(), error) {
	if s.rival != nil {
		return nil, nil
	}
	s.wanted.Template.Image = e.Image(s.spec)
	for _, c := range s.servers {
		c.reload()
	}
	return nil, nil
}

// reload lets the server take the configuration in.
func (c *server) reload() {
	if c.term == 0 {
		return // it reads it when it takes the fleet over
	}
	c.enter(c.life, func() {
		if c.term != 0 {
			c.pic.Want(c.s.wanted, c.now())
			c.sayPending()
			c.heat()
		}
	})
}

// sayPending records what waits for a person's word, as an owner does.
func (c *server) sayPending() {
	if p := c.pic.Pending(); !p.Empty() {
		c.note(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonAwaitsWord, Detail: p.ID, Size: p.To, Limit: p.From})
	}
}

// confirms lets the operator confirm the plan that he is shown, if one waits.
func confirms(s *stage, _ Event) (func(), error) {
	if s.rival != nil || s.store.owner == nil || s.store.owner.term == 0 {
		return nil, nil // nobody shows him anything
	}
	p := s.store.owner.pic.Pending()
	if p.Empty() {
		return nil, nil
	}
	o := fleet.Order{Kind: fleet.OrderConfirm, Fleet: s.spec.Name, By: operator, Plan: p.ID}
	s.judge.asked[s.post(o)] = p
	return nil, nil
}

// plans is what the judge knows of wanted changes: what the person was shown, and what became of it by truth.
type plans struct {
	asked   map[fleet.OrderID]change.Plan
	leaving map[string]string // the instances that a confirmed plan removes, by machine
	renewed map[string]string // that one replaces
	left    map[string]bool   // machines that have gone so
	size    int               // in force
}

// resized notes that the configuration asks for another size: a larger one is in force at once.
func (j *judge) resized(n int) {
	if n > j.size {
		j.size = n
		clear(j.left)
	}
}

// ruled notes which plans hale took up: what they name may go, and nothing else.
func (j *judge) ruled(rulings []fleet.Ruling) {
	for _, r := range rulings {
		if r.Refused != "" {
			continue
		}
		for _, t := range j.asked[r.Order].Remove {
			j.leaving[string(t.Machine)] = string(t.Instance)
		}
		for _, t := range j.asked[r.Order].Replace {
			j.renewed[string(t.Machine)] = string(t.Instance)
		}
	}
}

// isNamed reports whether a confirmed plan names the instance.
func (j *judge) isNamed(machine, id string) bool {
	return id != "" && (j.leaving[machine] == id || j.renewed[machine] == id)
}

// leaves notes that an instance is gone by a person's order: with it went its machine.
func (j *judge) leaves(machine string) {
	j.left[machine] = true
	j.size--
	n, _ := fleet.MachineName(machine).Ordinal()
	if o := &j.outages[n-1]; o.open {
		o.open = false
		j.down--
		j.s.options.History.up(n, o, j.s.w.Now(), false)
		j.thin()
	}
}

// changed follows what hale says became of a wanted change: a machine that stays is to be healed as before (S52).
func (j *judge) changed(r fleet.Record) {
	if r.Reason != fleet.ReasonGivenUp && r.Reason != fleet.ReasonWithdrawn {
		return
	}
	name := string(r.Machine)
	if _, known := j.leaving[name]; !known || j.left[name] {
		j.broken("L13", name, "a change is given up that nobody confirmed, or that was carried out")
		return
	}
	delete(j.leaving, name)
	if vm := j.s.w.Current(name); vm != nil && !vm.Serving() {
		j.Serving(vm)
	}
}

// orderly checks what must hold of a wanted change when it is stored.
func (j *judge) orderly(is *fleet.Machine, records []fleet.Record) {
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
		j.broken("L3", name, fmt.Sprintf("%s of %s, which no confirmed plan names", r.Kind, j.called(string(r.Target.ID))))
	}
	if has(records, fleet.RecordIncidentOpen) {
		j.broken("L10", name, "a wanted change looks like a failure")
	}
}
