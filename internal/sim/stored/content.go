package stored

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/fleet"
	"hale/internal/core/round"
)

// Content is all that a store holds.
type Content struct {
	Beliefs []belief.Machine // by ordinal-1; the zero value: never written
	Overall Overall
	Inbox   []fleet.Order // in the order in which they were posted
	Starts  Starts

	named map[fleet.InstanceID]bool // the instances that it ever named
}

// Overall is the belief about the fleet as a whole, and the book of slots.
type Overall struct {
	Brake belief.Brake
	Whole belief.Whole
	Slots budget.Slots
}

// Starts is what a store knows of hale's starts.
type Starts struct {
	Count int
	Noted map[fleet.StartName]bool // at the provider's
}

// New returns the content of an empty store for a fleet of as many machines.
func New(machines int) Content {
	return Content{
		Beliefs: make([]belief.Machine, machines), named: map[fleet.InstanceID]bool{},
		Starts: Starts{Noted: map[fleet.StartName]bool{}},
	}
}

// Clone returns a copy.
func (c *Content) Clone() Content {
	o := Content{
		Overall: c.Overall.Clone(), Inbox: slices.Clone(c.Inbox), named: maps.Clone(c.named),
		Starts: Starts{c.Starts.Count, maps.Clone(c.Starts.Noted)},
	}
	for i := range c.Beliefs {
		o.Beliefs = append(o.Beliefs, c.Beliefs[i].Clone())
	}
	return o
}

// Clone returns a copy; slots are replaced as a whole, and so they are shared.
func (o Overall) Clone() Overall { return Overall{o.Brake, o.Whole.Clone(), o.Slots} }

// Differs reports whether a belief is not what is stored.
func (c *Content) Differs(all []round.Decided) bool {
	return slices.ContainsFunc(all, func(m round.Decided) bool {
		n, _ := m.Belief.Name.Ordinal()
		return !c.Beliefs[n-1].Equal(&m.Belief)
	})
}

// Load returns the beliefs as another process would read them.
func (c *Content) Load() ([]belief.Machine, Overall, error) {
	var out []belief.Machine
	for _, m := range c.Beliefs {
		if m.Name == "" {
			continue
		}
		var read belief.Machine
		if err := again(m, &read); err != nil {
			return nil, Overall{}, fmt.Errorf("%s: %w", m.Name, err)
		}
		out = append(out, read)
	}
	var all Overall
	err := again(c.Overall, &all)
	return out, all, err
}

// again takes a value through the form in which a store keeps it.
func again(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// Waits reports whether the order lies in the inbox.
func (c *Content) Waits(id fleet.OrderID) bool {
	return slices.ContainsFunc(c.Inbox, func(o fleet.Order) bool { return o.ID == id })
}

// Settle takes orders out of the inbox.
func (c *Content) Settle(rulings []fleet.Ruling) {
	for _, r := range rulings {
		c.Inbox = slices.DeleteFunc(c.Inbox, func(o fleet.Order) bool { return o.ID == r.Order })
	}
}

// Know notes starts of hale.
func (s Starts) Know(names ...fleet.StartName) {
	for _, n := range names {
		s.Noted[n] = true
	}
}

// Names notes which instances a belief names that is stored.
func (c *Content) Names(m *belief.Machine) {
	c.Name(m.Current.ID)
	if r := m.Repair; r != nil {
		c.Name(r.Target.ID)
		c.Name(r.Next.ID)
		c.Name(r.Back.ID)
		if r.Intent != nil {
			c.Name(r.Intent.Instance)
		}
	}
}

// Name notes that the store names the instance.
func (c *Content) Name(id fleet.InstanceID) {
	if id != "" {
		c.named[id] = true
	}
}

// Named reports whether the store ever named the instance.
func (c *Content) Named(id fleet.InstanceID) bool { return c.named[id] }
