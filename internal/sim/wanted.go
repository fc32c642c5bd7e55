package sim

import (
	"slices"
	"strconv"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/script"
)

// largest is the largest size that the fleet has by its own policy.
func (o Options) largest() int {
	if p := o.Spec.Sizing; p != nil {
		return p.Max
	}
	return o.Spec.Size
}

// Most returns how many machines the fleet is ever asked to have at most, spares included.
func (o Options) Most() int { return o.mostServing() + o.Spec.Beside() }

func (o Options) mostServing() int {
	most := o.largest()
	if o.Spec.Adopt.Selects() {
		most += spareMachines
	}
	for _, e := range o.Plan {
		switch spec, err := e.Sized(o.Spec); {
		case e.Verb == script.Resizes && err == nil && spec.Sizing != nil:
			most = max(most, spec.Sizing.Max)
		case e.Verb == script.Resizes && err == nil:
			most = max(most, spec.Size)
		case e.Verb == script.Scales && o.Spec.Sizing == nil:
			n, _ := strconv.Atoi(e.Arg) // it was read before
			most = max(most, n)
		}
	}
	return most
}

// resizes edits the size in the configuration, which every server reads again.
func resizes(s *stage, e script.Event) (func(), error) {
	wanted, err := e.Sized(s.wanted)
	if err != nil || s.rival != nil {
		return nil, err
	}
	if n := wanted.Said(); n != s.wanted.Said() && n != 0 {
		s.judge.Resized(n, wanted.Sizing)
	} else {
		s.judge.Bounded(wanted.Sizing)
	}
	s.wanted = wanted
	for _, c := range s.servers {
		c.reload()
	}
	return nil, nil
}

// retemplates edits the configuration's template, which every server reads again.
func retemplates(s *stage, e script.Event) (func(), error) {
	if s.rival != nil {
		return nil, nil
	}
	s.wanted.Template = e.Template(s.wanted.Template)
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
	edit := func(checks []policy.Check) {
		s.wanted.Checks = checks
		for _, c := range s.servers {
			c.reload()
		}
	}
	right := s.wanted.Checks
	edit(e.Mistyped(right))
	corrected := s.judge.Mistyped(fleet.CheckName(e.Arg))
	return func() {
		corrected()
		edit(right)
	}, nil
}

// asksPort reports whether the spec has a check of the name that asks at a port.
func asksPort(checks []policy.Check, name string) bool {
	return slices.ContainsFunc(checks, func(c policy.Check) bool { return string(c.Name) == name && c.Port != 0 })
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
			c.measure()
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
	id := s.Post(o)
	s.judge.Shown(id, p, s.store.owner.own.Wanted().Template.Image)
	return nil, nil
}
