package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// BeginChore opens the work that a person has hale do with the machine, be it well or not, by the step. The guard has
// admitted it.
func BeginChore(w *Work, o *belief.Wanted, step fleet.StepKind) {
	m, kind := w.M, belief.RepairOperate
	if o.Chore == fleet.OrderReplace {
		kind = belief.RepairReplace
	}
	if m.Repair != nil {
		w.Overrule()
	}
	if o.Chore == fleet.OrderStart {
		m.Current.Parked = ""
	}
	m.Waiting, m.Wanted, m.Quarantine, m.RetryAt = "", nil, nil, 0
	r := w.open(belief.Repair{Kind: kind, Order: o.Order, By: o.By, Copy: o.Copy, Revives: step.Revives(),
		LastOutcome: w.Now(), // what it looked like before counts for nothing
	}, belief.AimAt(m.Current))
	r.Step = step
	w.Record(record.Record{Kind: record.RepairStarted, Reason: fleet.Reason(kind), Order: o.Order, By: o.By,
		Snapshot: r.Copy, Instance: m.Current.ID, Generation: m.Current.Generation, Host: m.Current.Host})
	w.enter(belief.PhaseLeave)
	w.Advance()
}

// ordered is a step that a person ordered.
type ordered struct {
	*Work
	r *belief.Repair
}

// stop turns the target off, and sees that it is. It stays so until a person wants it on.
func (e ordered) stop() onward {
	i, known := e.SeenSince(e.r, e.r.Target.ID)
	switch {
	case !known:
		return e.observe(e.r, e.r.Target.ID, e.r.Target.Host)
	case i.Power == fleet.PowerGone:
		return e.giveUpChange(fleet.ReasonNoInstance, "")
	case i.Power == fleet.PowerOff:
		return e.park()
	case e.r.OffCalls >= maxOffCalls && e.MayGoOff(e.r):
		e.r.Retries = pageAfter - 4
		return e.observe(e.r, e.r.Target.ID, e.r.Target.Host)
	case e.r.OffCalls >= maxOffCalls:
		return e.giveUpChange(fleet.ReasonStillRunning, "")
	}
	e.r.OffCalls++
	return e.call(e.r, fleet.OpPowerOff, e.r.Target)
}

// park ends the work on a machine that is off as a person wants it: it is no failure any more (L10).
func (e ordered) park() onward {
	m := e.M
	m.Current.Parked = e.r.Order
	e.end(fleet.ReasonCarriedOut)
	if i := m.Incident; i != nil {
		e.Record(record.Record{Kind: record.IncidentClosed, Reason: fleet.ReasonParked, Cause: i.Cause,
			Took: e.Situation.Now.Wall.Sub(i.Opened), Instance: m.Current.ID, Paged: i.Known(), Joint: i.Joint})
	}
	m.IncidentOver()
	return over
}

// spared says why the step that a person ordered may not be taken any more: the configuration may have been edited
// since.
func (e ordered) spared() fleet.Reason {
	if e.r.Intent == nil && before(e.r) && !e.r.Step.Gentle() && e.Situation.Spec.Protects(e.M.Name) {
		return fleet.ReasonProtected
	}
	return ""
}
