package chart

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// Found returns an instance that an earlier, lost call of ours built after all, if the machine has no other: it is
// taken instead of being removed.
func Found(m *belief.Machine, v *situation.View, ours fleet.Installation) (fleet.Instance, bool) {
	if !m.Current.None() {
		return fleet.Instance{}, false
	}
	for k := range v.Seen {
		s := &v.Seen[k]
		i := &s.Instance
		if i.Power == fleet.PowerRunning && s.Asked > m.Acted && m.LeftAt(i.ID) < 0 && !retriedLater(m, i.ID) &&
			IsStray(m, i, ours) && IsRemnant(*m, *i, ours) {
			return *i, true
		}
	}
	return fleet.Instance{}, false
}

// retriedLater reports whether the instance is a stray that could not be removed.
func retriedLater(m *belief.Machine, id fleet.InstanceID) bool {
	return slices.ContainsFunc(m.Strays, func(s belief.Stray) bool { return s.ID == id && s.RetryAt != 0 })
}

// House believes that the machine has the instance, which the store did not know.
func (c *Chart) House(i fleet.Instance) {
	m := c.M
	m.Current, m.Address, m.Provisioned = c.shown(i), i.Address, nil
	m.Epoch++
	m.Acted = c.Now()
	m.Health = belief.Health{Verdict: belief.VerdictUnknown, Since: c.Situation.Now.Wall, SinceMono: c.Now()}
	c.Forget(i.ID)
	c.Bind(i.Host)
	c.Stands()
}

// Shelve believes that the instance was put aside by a hale with another store: it is kept as long as the policy keeps
// one from now on.
func (c *Chart) Shelve(i fleet.Instance) {
	c.Forget(i.ID)
	if c.M.Current.ID == i.ID {
		c.Vacate()
	}
	c.M.Kept = append(slices.Clone(c.M.Kept), belief.KeepFor(c.shown(i), c.Situation.Spec.Repair.KeepTime(),
		c.Situation.Now))
}

// Vacate believes that the machine does not have the instance any more that the store knew.
func (c *Chart) Vacate() {
	c.M.Current, c.M.Provisioned = belief.Incarnation{}, nil
	c.M.Epoch++
}

// shown is the instance as the provider shows it. What it was built from is not shown: unless that is known, it is
// taken for what is in force.
func (c *Chart) shown(i fleet.Instance) belief.Incarnation {
	out := belief.Incarnation{ID: i.ID, Generation: i.Mark.Generation, Host: i.Host, Network: i.Network,
		Storage: i.Storage, Certified: i.Mark.Certified}
	out.Raw = !out.Certified && len(c.Situation.Spec.Provision) > 0
	if l := c.Situation.Whole.Ledger; l != nil {
		out.Edition = l.Edition
	}
	if i.ID == c.M.Current.ID {
		out.Edition = c.M.Current.Edition
	}
	return out
}

// TakeFound believes that the machine has the instance, which an earlier call of ours built.
func (c *Chart) TakeFound(i fleet.Instance) {
	c.M.Current, c.M.Address = belief.Incarnation{ID: i.ID, Generation: i.Mark.Generation, Host: i.Host,
		Edition: c.Edition(c.M.Repair)}, i.Address
	c.Forget(i.ID)
	c.Stands()
	c.Record(record.Record{Kind: record.Remnant, Reason: fleet.ReasonFound, Instance: i.ID,
		Generation: i.Mark.Generation, Host: i.Host})
}

// Forget takes an instance off the list of strays. If it is still there, it is noticed again.
func (c *Chart) Forget(id fleet.InstanceID) {
	c.M.Strays = slices.DeleteFunc(c.M.Strays, func(s belief.Stray) bool { return s.ID == id })
	c.M.LetGo(id)
	c.M.Retrieve(id)
}

// Clear forgets an instance beside the machine's own that is gone, or is not what it seemed to be. A listing that was
// asked for before shows it as it was: it is noticed again by a later one.
func (c *Chart) Clear(id fleet.InstanceID) {
	c.Forget(id)
	c.M.Cleared = c.Now()
}

// IsRemnant reports whether the instance is what an own, unfinished build left behind (L2).
func (c *Chart) IsRemnant(i fleet.Instance) bool {
	return IsRemnant(*c.M, i, c.Installation)
}

// IsStray reports whether the instance bears the machine's mark and should not be there: it is neither current, nor
// being built or replaced, nor put aside; or it was, and runs all the same.
func IsStray(m *belief.Machine, i *fleet.Instance, ours fleet.Installation) bool {
	if i.Mark.Machine != m.Name || i.Mark.Installation != ours || i.Power == fleet.PowerGone || i.ID == m.Current.ID {
		return false
	}
	if m.KeptAt(i.ID) >= 0 {
		return i.Mark.Kept && (i.Power == fleet.PowerRunning || i.Power == fleet.PowerPaused)
	}
	return m.Repair == nil || (i.ID != m.Repair.Next.ID && (i.ID != m.Repair.Target.ID || m.Repair.Aside()))
}

// IsRemnant reports whether the instance is provably what an unfinished build of this machine by this installation left
// behind: our mark, never certified, of a generation that was allotted and is neither current nor being built.
func IsRemnant(m belief.Machine, i fleet.Instance, ours fleet.Installation) bool {
	k := i.Mark
	whole := k.Certified && !mayGo(&m, i)
	return k.Installation == ours && ours != "" && k.Machine == m.Name && !whole && !k.Kept &&
		k.Generation <= m.Generation && i.ID != m.Current.ID && (m.Repair == nil || i.ID != m.Repair.Next.ID)
}

// mayGo reports whether the instance was left behind, and may go now that its host is back: nobody who runs is turned
// off for that, but what could not write all the time.
func mayGo(m *belief.Machine, i fleet.Instance) bool {
	at := m.LeftAt(i.ID)
	return at >= 0 && (i.Power == fleet.PowerOff || m.Left[at].Cut() && i.Host == m.Left[at].Host)
}

// Edition returns which template the next instance is built from: the one in force, as long as another one did not
// prove itself, unless the machine is to try that, or stood on it.
func (c *Chart) Edition(r *belief.Repair) uint64 {
	l := c.Situation.Whole.Ledger
	if l == nil {
		return 0
	}
	u := l.Update
	if u.Goes() && (u.Proven || r.Order == u.Order || !r.Target.None() && r.Target.Edition == u.Edition) {
		return u.Edition
	}
	return l.Edition
}

// Aside reports whether the instance is what was put aside, and still is as it was left.
func (c *Chart) Aside(i fleet.Instance) bool {
	return i.Power == fleet.PowerOff && i.Mark.Kept && i.Mark.Installation == c.Installation &&
		i.Mark.Machine == c.M.Name
}

// PutOff leaves a kept instance, or a remnant, that would not go or is in use for later, and tells a person once.
func (c *Chart) PutOff(id fleet.InstanceID, reason fleet.Reason, until fleet.Instant) {
	tell := func(host fleet.HostName) {
		c.Record(record.Record{Kind: record.Paged, Reason: reason, Instance: id, Host: host})
	}
	if at := c.M.KeptAt(id); at >= 0 {
		c.M.Kept = slices.Clone(c.M.Kept)
		k := &c.M.Kept[at]
		if k.RetryAt = until; !k.Paged {
			k.Paged = true
			tell(k.Host)
		}
	}
	for i := range c.M.Strays {
		s := &c.M.Strays[i]
		if s.ID != id {
			continue
		}
		if s.RetryAt = until; !s.Paged {
			s.Paged = true
			tell(s.Host)
		}
	}
}
