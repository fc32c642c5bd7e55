package orders

import (
	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ledger"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// recovery takes the order to bring the fleet to what is asked for, and says how it is. What is too many goes only by
// the plan that the order names; each machine's own part follows when its turn comes, see ordered.recover.
func (r *Orders) recovery(o *fleet.Order) {
	if o.Plan != "" {
		if ledger.Confirm(r.Round, o); r.refused(o) {
			return
		}
	} else {
		r.Rule(o, "")
	}
	r.recovers = o
	found := record.Record{Kind: record.Found, Order: o.ID, By: o.By}
	for i := range r.S.Machines {
		m := &r.S.Machines[i].Machine
		if guard.Surplus(m, &r.S.Spec) {
			continue
		}
		found.Size++
		if m.Health.Verdict != belief.VerdictHealthy {
			found.Failing++
		}
	}
	r.Record(found)
	if o.Plan == "" && r.S.Wanted != nil {
		r.sayWaiting(o)
	}
}

// refused reports whether the order was refused in this round.
func (r *Orders) refused(o *fleet.Order) bool {
	for _, ruling := range r.Rulings {
		if ruling.Order == o.ID {
			return ruling.Refused != ""
		}
	}
	return false
}

// sayWaiting records the plan that waits for a person's word, if one does: what is too many, and another template.
func (r *Orders) sayWaiting(o *fleet.Order) {
	if p := change.Pending(r.S.Wanted, r.Sit.Whole.Ledger, r.S.Machines, r.S.Hosts); !p.Empty() {
		r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonAwaitsWord, Order: o.ID, Detail: p.ID,
			Size: p.To, Limit: p.From})
	}
}

// recover does the machine's part of an order to recover its fleet: what fails is repaired now, as if its repair had
// been ordered, and what is missing is built without further patience. What a person stopped, and what was left to a
// person, stays as it is.
func (w ordered) recover(o *fleet.Order) {
	m := w.M
	if m.Health.Verdict == belief.VerdictHealthy || guard.Surplus(m, &w.Situation.Spec) {
		return
	}
	found := record.Record{
		Kind: record.Found, Order: o.ID, By: o.By, Cause: m.Health.Cause, Check: m.Health.Check,
		Result: m.Health.Result, Instance: m.Current.ID,
		Verdict: m.Health.Verdict,
	}
	switch why := w.unhealable(); {
	case w.Situation.Whole.Older != nil:
		found.Reason = fleet.ReasonStoreOlder
	case why == fleet.ReasonNoInstance && len(w.Situation.Whole.Foreign) > 0:
		found.Verdict, found.Cause, found.Reason = "", belief.CauseMissing, fleet.ReasonInstallation
		found.Detail = string(w.Situation.Whole.Foreign[0].Installation)
	case why == fleet.ReasonNoInstance:
		found.Verdict, found.Cause = "", belief.CauseMissing
		if !o.DryRun {
			m.RetryAt = 0
		}
	case why != "":
		found.Reason = why
	case m.Health.Verdict != belief.VerdictUnhealthy:
		found.Reason = fleet.ReasonNotUnhealthy
	case guard.LeftAlone(m.Health.Cause, &w.Situation.Spec):
		found.Reason = fleet.ReasonStoppedByPerson
	case !o.DryRun:
		w.wantHealed(o)
	}
	if o.DryRun {
		found.Command = fleet.OrderRecover // and nothing more
	}
	w.Record(round.WithBraker(found, &w.Situation.Brake))
}
