package sim

import (
	"slices"
	"strconv"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/script"
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
		s.judge.Resized(n)
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
