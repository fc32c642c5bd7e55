package decide

import (
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// brake steps the fleet's own brake, and those that it shares with others, by what fails and by what people want.
func (r *round) brake(works []*work) fleet.Brake {
	own := step(r, r.s.Brake)
	shared := make([]fleet.Brake, len(r.s.Spec.Limits.Brakes))
	for i, p := range r.s.Spec.Limits.Brakes {
		shared[i] = step(r, r.s.Whole.Brake(p.Scope))
	}
	own = heedBrakeOrders(r, own, shared)
	r.sit.Whole.Brakes = r.sit.Whole.Brakes[:0]
	told := false // by a wider one, which one page is enough for
	for i := range shared {
		b := &shared[i]
		if tellBrake(r, b, r.s.Whole.Brake(b.Scope), works, told); b.Engaged || b.Excused > 0 {
			r.sit.Whole.Brakes = append(r.sit.Whole.Brakes, *b)
		}
		told = told || b.Engaged
	}
	tellBrake(r, &own, r.s.Brake, works, told)
	r.sit.Brake = guard.Braked(own, &r.sit.Whole)
	return own
}

// step returns the brake as it is after what fails now.
func step(r *round, b fleet.Brake) fleet.Brake {
	policy, t := guard.BrakePolicy(&b, &r.s.Spec.Limits), guard.Among(&b, r.tally, r.s.Tolls)
	return guard.StepBrake(b, policy, guard.SettleTime(r.s.Spec), t, r.s.Now)
}

// tellBrake records that the brake engaged or released, and tells people. Of one that is shared every fleet with
// machines that fail would tell them: who comes first does, for all.
func tellBrake(r *round, b *fleet.Brake, was fleet.Brake, works []*work, told bool) {
	t := guard.Among(b, r.tally, r.s.Tolls)
	rec := fleet.Record{
		Kind: fleet.RecordBrake, Reason: fleet.ReasonEngaged, Scope: b.Scope, Failing: t.Failing, Size: t.Size,
		Limit: guard.BrakeLimit(guard.BrakePolicy(b, &r.s.Spec.Limits), t.Size),
	}
	if b.Scope == fleet.ScopeProvider {
		rec.Detail = string(r.s.Spec.Provider)
	}
	if b.Engaged != was.Engaged && (b.Engaged || !r.letGo) {
		if !b.Engaged {
			rec.Reason, rec.Paged = fleet.ReasonReleased, was.Paged
		}
		r.record(rec)
		rec.Paged = false
	}
	limit := rec.Limit
	if b.Scope != "" {
		limit = 0
	}
	due := b.Engaged && !b.Paged && r.s.Now.Reached(b.Since.Add(pagePause))
	if due && !told && !(inference{r}).explained(b, works, limit) && (b.Scope == "" || r.tally.Failing > 0) {
		b.Paged, b.Told = true, r.s.Now.Wall
		rec.Kind, rec.Reason, rec.Of = fleet.RecordPaged, fleet.ReasonBrake, failing(works, r.tally.Rest, &r.s.Spec)
		r.record(rec)
	}
	r.record(remindOfBrake(b, &r.s, rec)...)
}

// failing lists the first few of the machines that the brake counts.
func failing(works []*work, rest *fleet.Whole, spec *fleet.Spec) []fleet.Member {
	var of []fleet.Member
	for _, w := range works {
		counted := guard.Tally{Rest: rest}
		if counted.Add(w.M, spec); counted.Failing > 0 && len(of) < mostNamed {
			of = append(of, fleet.Member{Machine: w.M.Name, Alias: w.M.Alias})
		}
	}
	return of
}

// heedBrakeOrders puts the fleet's brake on or takes it off, as people want. Those that it shares are off for this
// fleet with its own.
func heedBrakeOrders(r *round, own fleet.Brake, shared []fleet.Brake) fleet.Brake {
	for i := range r.s.Orders {
		o := &r.s.Orders[i]
		rec := fleet.Record{Kind: fleet.RecordBrake, Order: o.ID, By: o.By, Detail: o.Reason,
			Failing: r.tally.Failing, Size: r.tally.Size}
		on := guard.Braked(own, &fleet.Whole{Brakes: shared})
		switch {
		case o.Due(r.s.Now):
			continue
		case o.Kind == fleet.OrderBrakeOn:
			own.By, own.Words, own.At = o.By, o.Reason, r.s.Now.Wall
			rec.Reason = fleet.ReasonEngaged
		case o.Kind != fleet.OrderBrakeOff:
			continue
		case !on.On():
			r.rule(o, fleet.ReasonNotBraked)
			continue
		default:
			own, r.letGo = guard.TakeOff(r.s.Spec.Limits.Brake, r.tally), true
			for k := range shared {
				b := &shared[k]
				taken := guard.TakeOff(guard.BrakePolicy(b, &r.s.Spec.Limits), guard.Among(b, r.tally, r.s.Tolls))
				taken.Scope = b.Scope
				*b = taken
			}
			rec.Reason = fleet.ReasonReleased
		}
		r.rule(o, "")
		r.record(rec)
	}
	return own
}
