package decide

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/telling"
)

// brake steps the fleet's own brake, and those that it shares with others, by what fails and by what people want.
func (r *deciding) brake(works []*work) belief.Brake {
	own := step(r, r.S.Brake)
	shared := make([]belief.Brake, len(r.S.Spec.Limits.Brakes))
	for i, p := range r.S.Spec.Limits.Brakes {
		shared[i] = step(r, r.S.Whole.Brake(p.Scope))
	}
	own = heedBrakeOrders(r, own, shared)
	r.Sit.Whole.Brakes = r.Sit.Whole.Brakes[:0]
	told := false // by a wider one, which one page is enough for
	for i := range shared {
		b := &shared[i]
		if tellBrake(r, b, r.S.Whole.Brake(b.Scope), works, told); b.Engaged || b.Excused > 0 {
			r.Sit.Whole.Brakes = append(r.Sit.Whole.Brakes, *b)
		}
		told = told || b.Engaged
	}
	tellBrake(r, &own, r.S.Brake, works, told)
	r.Sit.Brake = guard.Braked(own, &r.Sit.Whole)
	return own
}

// step returns the brake as it is after what fails now.
func step(r *deciding, b belief.Brake) belief.Brake {
	policy, t := guard.BrakePolicy(&b, &r.S.Spec.Limits), guard.Among(&b, r.Tally, r.S.Tolls)
	return guard.StepBrake(b, policy, guard.SettleTime(r.S.Spec), t, r.S.Now)
}

// tellBrake records that the brake engaged or released, and tells people. Of one that is shared every fleet with
// machines that fail would tell them: who comes first does, for all.
func tellBrake(r *deciding, b *belief.Brake, was belief.Brake, works []*work, told bool) {
	t := guard.Among(b, r.Tally, r.S.Tolls)
	rec := record.Record{
		Kind: record.Brake, Reason: fleet.ReasonEngaged, Scope: b.Scope, Failing: t.Failing, Size: t.Size,
		Limit: guard.BrakeLimit(guard.BrakePolicy(b, &r.S.Spec.Limits), t.Size),
	}
	if b.Scope == policy.ScopeProvider {
		rec.Detail = string(r.S.Spec.Provider)
	}
	if b.Engaged != was.Engaged && (b.Engaged || !r.letGo) {
		if !b.Engaged {
			rec.Reason, rec.Paged = fleet.ReasonReleased, was.Paged
		}
		r.Record(rec)
		rec.Paged = false
	}
	limit := rec.Limit
	if b.Scope != "" {
		limit = 0
	}
	due := b.Engaged && !b.Paged && r.S.Now.Reached(b.Since.Add(round.PagePause))
	if due && !told && !r.inference.Explained(b, r.members, limit) && (b.Scope == "" || r.Tally.Failing > 0) {
		b.Paged, b.Told = true, r.S.Now.Wall
		rec.Kind, rec.Reason, rec.Of = record.Paged, fleet.ReasonBrake, failing(works, r.Tally.Rest, &r.S.Spec)
		r.Record(rec)
	}
	r.Record(telling.RemindOfBrake(b, &r.S, rec)...)
}

// failing lists the first few of the machines that the brake counts.
func failing(works []*work, rest *belief.Whole, spec *policy.Spec) []belief.Member {
	var of []belief.Member
	for _, w := range works {
		counted := guard.Tally{Rest: rest}
		if counted.Add(w.M, spec); counted.Failing > 0 && len(of) < round.MostNamed {
			of = append(of, belief.Member{Machine: w.M.Name, Alias: w.M.Alias})
		}
	}
	return of
}

// heedBrakeOrders puts the fleet's brake on or takes it off, as people want. Those that it shares are off for this
// fleet with its own.
func heedBrakeOrders(r *deciding, own belief.Brake, shared []belief.Brake) belief.Brake {
	for i := range r.S.Orders {
		o := &r.S.Orders[i]
		rec := record.Record{Kind: record.Brake, Order: o.ID, By: o.By, Detail: o.Reason,
			Failing: r.Tally.Failing, Size: r.Tally.Size}
		on := guard.Braked(own, &belief.Whole{Brakes: shared})
		switch {
		case o.Due(r.S.Now):
			continue
		case o.Kind == fleet.OrderBrakeOn:
			own.By, own.Words, own.At = o.By, o.Reason, r.S.Now.Wall
			rec.Reason = fleet.ReasonEngaged
		case o.Kind != fleet.OrderBrakeOff:
			continue
		case !on.On():
			r.Rule(o, fleet.ReasonNotBraked)
			continue
		default:
			own, r.letGo = guard.TakeOff(r.S.Spec.Limits.Brake, r.Tally), true
			for k := range shared {
				b := &shared[k]
				taken := guard.TakeOff(guard.BrakePolicy(b, &r.S.Spec.Limits), guard.Among(b, r.Tally, r.S.Tolls))
				taken.Scope = b.Scope
				*b = taken
			}
			rec.Reason = fleet.ReasonReleased
		}
		r.Rule(o, "")
		r.Record(rec)
	}
	return own
}
