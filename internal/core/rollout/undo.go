package rollout

import (
	"strconv"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// fail stops the update, or takes it back where the policy says so: if what failed tells something of the template, and
// no person paused it to have a look.
func (b *booking) fail() *belief.Ledger {
	why := b.p.failed
	switch {
	case b.u.Undoes != nil:
		why = fleet.ReasonUndoStopped
	case why == "":
		why = fleet.ReasonQueryBeyond
	}
	b.say(record.Change, why, "")
	if !b.p.told || why != b.p.failed {
		b.say(record.Paged, why, "")
	}
	b.u.Stopped = why
	stopped := b.was.Updated(&b.u)
	if b.S.Spec.Update.OnFailure != policy.UpdateUndo || !undoable(stopped) || b.u.Undoes != nil ||
		b.u.IsPaused() || !b.p.spoils && !b.q.failed {
		return stopped
	}
	name := fleet.OrderID("undo-" + strconv.FormatUint(b.u.Edition, 10))
	return takeBack(b.Round, stopped, why, name, b.u.By)
}

// undoable reports whether the ledger has an update to another template than the one in force, which can be taken back,
// or one that takes another back and was stopped.
func undoable(l *belief.Ledger) bool {
	u := l.Update
	return u != nil && (u.Undoes != nil && !u.Goes() || u.Undoes == nil && u.Edition != l.Edition)
}

// takeBack returns the ledger in which the machines that the update changed are built from the template in force again.
func takeBack(r *round.Round, l *belief.Ledger, why fleet.Reason, order fleet.OrderID, by string) *belief.Ledger {
	u := l.Update
	undoes := &belief.Undone{Template: u.Template, Edition: u.Edition, Why: why, At: r.S.Now.Wall, Since: r.S.Now.Mono}
	if u.Undoes != nil {
		undoes.Template, undoes.Edition = u.Undoes.Template, u.Undoes.Edition
	}
	r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonRollsBack, Order: order, By: by,
		Detail: string(why)})
	r.Again = true
	return l.Updated(&belief.Update{Template: l.Template, Edition: l.Edition, Order: order, By: by, Proven: true,
		Undoes: undoes})
}
