// Package wanted judges the changes of a machine that a person, or an opinion on the size, wants: removals and updates.
//
// It says whether such a change may be done where the instance is, and whether its order stands: it does nothing itself.
package wanted

import (
	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
)

// Needed says why a machine that serves is not taken away for an update: another one may have failed since the change
// began. Once it has begun to leave it serves no more.
func Needed(c *chart.Chart, r *belief.Repair) fleet.Reason {
	leaves := r.Phase == belief.PhaseLeave && c.Now() != r.Since
	if r.Kind != belief.RepairUpdate || r.Calls > 0 || r.Hooks != nil || leaves {
		return ""
	}
	return guard.InService(c.M, c.View, c.Situation)
}

// Kept says why a machine that goes by an opinion's word stays for now: what keeps machines from going may have
// begun while it left its users. With the first call to its provider that is over.
func Kept(c *chart.Chart, r *belief.Repair) fleet.Reason {
	o := c.Situation.Whole.Ledger.Removal(c.M.Name)
	switch {
	case r.Kind != belief.RepairRemove || o == nil || o.Opinion == "" || r.OffCalls > 0:
		return ""
	case guard.Kept(c.M, &c.Situation.Whole):
		return fleet.ReasonHold
	case guard.Thin(c.M, c.Situation):
		return fleet.ReasonInService
	}
	return guard.ScaleIn(c.Situation)
}

// Stands reports whether the order that the work carries out is still in the ledger.
func Stands(c *chart.Chart, r *belief.Repair) bool {
	l := c.Situation.Whole.Ledger
	if r.Kind == belief.RepairUndo || r.Kind.Chore() {
		return !r.Withdrawn // it was taken up once and for all
	}
	if l == nil {
		return false
	}
	if r.Kind == belief.RepairUpdate {
		return l.Update.Goes() && l.Update.Order == r.Order
	}
	o := l.Removal(c.M.Name)
	return o != nil && o.Order == r.Order
}

// InPlace returns how the machine's instance becomes as the update wants it where it is; nil: another one has to be
// built.
func InPlace(c *chart.Chart) *belief.Adjusting {
	m, l := c.M, c.Situation.Whole.Ledger
	u := ledgerUpdate(l)
	if u == nil || m.Current.None() || m.Current.Adopted || m.Quarantine != nil || !l.Knows(m.Current.Edition) {
		return nil
	}
	is := l.TemplateOf(u.Edition, &c.Situation.Spec)
	var parts []policy.Part
	if s := c.View.Sighting(m.Current.ID); s.Known() {
		parts = is.Drift(&s.Instance)
	}
	if m.Current.Edition != u.Edition {
		older := l.TemplateOf(m.Current.Edition, &c.Situation.Spec)
		more, whole := is.Parts(&older)
		if !whole {
			return nil
		}
		parts = append(parts, more...)
	}
	if len(parts) == 0 {
		return nil
	}
	return &belief.Adjusting{Rest: policy.NeedRest(parts)}
}

func ledgerUpdate(l *belief.Ledger) *belief.Update {
	if l == nil {
		return nil
	}
	return l.Update
}
