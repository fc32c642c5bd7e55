package repair

import (
	"slices"

	"hale/internal/core/fleet"
)

// Found returns an instance that an earlier, lost call of ours built after all, if the machine has no other: it is
// taken instead of being removed.
func Found(m *fleet.Machine, v *fleet.View, ours fleet.Installation) (fleet.Instance, bool) {
	if !m.Current.None() {
		return fleet.Instance{}, false
	}
	for k := range v.Seen {
		s := &v.Seen[k]
		i := &s.Instance
		if i.Power == fleet.PowerRunning && s.Asked > m.Acted && m.LeftAt(i.ID) < 0 && !putOff(m, i.ID) &&
			IsStray(m, i, ours) && IsRemnant(*m, *i, ours) {
			return *i, true
		}
	}
	return fleet.Instance{}, false
}

// putOff reports whether the instance is a stray that could not be removed.
func putOff(m *fleet.Machine, id fleet.InstanceID) bool {
	return slices.ContainsFunc(m.Strays, func(s fleet.Stray) bool { return s.ID == id && s.RetryAt != 0 })
}

// House believes that the machine has the instance, which the store did not know.
func (w *Chart) House(i fleet.Instance) {
	m := w.M
	m.Current, m.Address = w.shown(i), i.Address
	m.Epoch++
	m.Acted = w.now()
	m.Health = fleet.Health{Verdict: fleet.VerdictUnknown, Since: w.Situation.Now.Wall, SinceMono: w.now()}
	w.forget(i.ID)
	w.bind(i.Host)
	w.stands()
}

// Shelve believes that the instance was put aside by a hale with another store: it is kept as long as the policy keeps
// one from now on.
func (w *Chart) Shelve(i fleet.Instance) {
	w.forget(i.ID)
	if w.M.Current.ID == i.ID {
		w.Vacate()
	}
	w.M.Kept = append(slices.Clone(w.M.Kept), fleet.KeepFor(w.shown(i), w.Situation.Spec.Repair.KeepTime(),
		w.Situation.Now))
}

// Vacate believes that the machine does not have the instance any more that the store knew.
func (w *Chart) Vacate() {
	w.M.Current = fleet.Incarnation{}
	w.M.Epoch++
}

// shown is the instance as the provider shows it. What it was built from is not shown: it is taken for what is in
// force.
func (w *Chart) shown(i fleet.Instance) fleet.Incarnation {
	out := fleet.Incarnation{ID: i.ID, Generation: i.Mark.Generation, Host: i.Host, Network: i.Network,
		Storage: i.Storage, Certified: i.Mark.Certified}
	if l := w.Situation.Whole.Ledger; l != nil {
		out.Edition = l.Edition
	}
	return out
}

// house believes that the machine has the instance, which an earlier call of ours built.
func (w *Chart) house(i fleet.Instance) {
	w.M.Current, w.M.Address = fleet.Incarnation{ID: i.ID, Generation: i.Mark.Generation, Host: i.Host,
		Edition: w.edition(w.M.Repair)}, i.Address
	w.forget(i.ID)
	w.stands()
	w.Record(fleet.Record{Kind: fleet.RecordRemnant, Reason: fleet.ReasonFound, Instance: i.ID,
		Generation: i.Mark.Generation, Host: i.Host})
}

// forget takes an instance off the list of strays. If it is still there, it is noticed again.
func (w *Chart) forget(id fleet.InstanceID) {
	w.M.Strays = slices.DeleteFunc(w.M.Strays, func(s fleet.Stray) bool { return s.ID == id })
	w.M.LetGo(id)
	w.M.Retrieve(id)
}

// isRemnant reports whether the instance is what an own, unfinished build left behind (L2).
func (w *Chart) isRemnant(i fleet.Instance) bool {
	return IsRemnant(*w.M, i, w.Installation)
}

// IsStray reports whether the instance bears the machine's mark and should not be there: it is neither current, nor
// being built or replaced, nor put aside; or it was, and runs all the same.
func IsStray(m *fleet.Machine, i *fleet.Instance, ours fleet.Installation) bool {
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
func IsRemnant(m fleet.Machine, i fleet.Instance, ours fleet.Installation) bool {
	k := i.Mark
	whole := k.Certified && !mayGo(&m, i)
	return k.Installation == ours && ours != "" && k.Machine == m.Name && !whole && !k.Kept &&
		k.Generation <= m.Generation && i.ID != m.Current.ID && (m.Repair == nil || i.ID != m.Repair.Next.ID)
}

// mayGo reports whether the instance was left behind, and may go now that its host is back: nobody who runs is turned
// off for that, but what could not write all the time.
func mayGo(m *fleet.Machine, i fleet.Instance) bool {
	at := m.LeftAt(i.ID)
	return at >= 0 && (i.Power == fleet.PowerOff || m.Left[at].Cut() && i.Host == m.Left[at].Host)
}
