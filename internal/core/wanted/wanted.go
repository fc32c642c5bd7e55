// Package wanted judges the changes of a machine that a person, or an opinion on the size, wants: removals and updates.
//
// It says whether such a change may be done where the instance is, whether its order stands, and when a person is told
// of what it leaves: it does nothing itself.
package wanted

import (
	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Needed says why a machine that serves is not taken away for an update, or as one beyond the size: another one may
// have failed since the change began. A machine that has told its pools that it leaves serves no more.
func Needed(c *chart.Chart, r *belief.Repair) fleet.Reason {
	leaves := r.Phase == belief.PhaseLeave && c.Now() != r.Since &&
		guard.Heard(c.View, &c.Situation.Spec, r.Since)
	if r.Calls > 0 || r.Hooks != nil || leaves {
		return ""
	}
	return Served(c, r.Kind)
}

// Served says why work of the kind does not take the machine away: fewer would serve than are to, be it changed by an
// update, or go as one beyond the size.
func Served(c *chart.Chart, kind belief.RepairKind) fleet.Reason {
	o := c.Situation.Whole.Ledger.Removal(c.M.Name)
	switch {
	case kind == belief.RepairUpdate:
		return guard.InService(c.M, c.View, c.Situation)
	case kind == belief.RepairRemove && o != nil && o.Why == fleet.ReasonSurgeOver:
		return guard.Relieved(c.M, c.View, c.Situation)
	}
	return ""
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
	if why := guard.ScaleIn(c.Situation); why != fleet.ReasonUpdating {
		return why
	}
	return "" // the update waits until the machine has gone, and the machine does not wait for the update
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

// Forbidden says why the change may not begin, as the configuration stands now; empty: it may. A change in place takes
// no disk away.
func Forbidden(c *chart.Chart, kind belief.RepairKind) fleet.Reason {
	if kind == belief.RepairUpdate && InPlace(c) != nil {
		return guard.AgainstAside(c.M, &c.Situation.Spec, c.M.Current)
	}
	return guard.Forbidden(c.M, &c.Situation.Spec, kind)
}

// InPlace returns how the machine's instance becomes as the update wants it where it is; nil: another one has to be
// built.
func InPlace(c *chart.Chart) *belief.Adjusting {
	l := c.Situation.Whole.Ledger
	if l == nil || l.Update == nil || c.M.Quarantine != nil {
		return nil
	}
	is := l.TemplateOf(l.Update.Edition, &c.Situation.Spec)
	parts := situation.Adjustable(c.M, c.View.Sighting(c.M.Current.ID), l, &c.Situation.Spec, &is)
	if len(parts) == 0 {
		return nil
	}
	return &belief.Adjusting{Rest: policy.NeedRest(parts)}
}
