package telling

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// SumUp keeps what recipients are told once a day of what was healed, and tells them when it is time. It stands in the
// ledger, in wall time, so that it outlasts an owner.
func SumUp(r *round.Round, d *round.Decision) {
	was := d.Whole.Summaries
	d.Whole.Summaries = nil
	for i := range r.S.Spec.Notify.To {
		to := &r.S.Spec.Notify.To[i]
		if to.Daily.Zone == nil {
			continue
		}
		s := belief.Summary{Target: to.Target, Since: r.S.Now.Wall}
		if at := slices.IndexFunc(was, func(o belief.Summary) bool { return o.Target == to.Target }); at >= 0 {
			s = was[at]
		}
		d.Whole.Summaries = append(d.Whole.Summaries, withHealed(d, tellDaily(r, to, s)))
	}
}

// tellDaily tells the recipient, if it is time, and returns what they are told next. What was due while no hale ran is
// one summary.
func tellDaily(r *round.Round, to *policy.Recipient, s belief.Summary) belief.Summary {
	now := r.S.Now
	if !now.Reached(s.Since) {
		s.Since = now.Wall // it was written by another clock
	}
	if !now.Reached(to.Daily.Next(s.Since)) {
		return s
	}
	if s.Count > 0 || to.Daily.Empty {
		told := s
		r.Record(record.Record{
			Kind: record.Summary, Target: to.Target, Summary: &told, Took: now.Wall.Sub(s.Since),
		})
	}
	now.Reached(to.Daily.Next(now.Wall))
	return belief.Summary{Target: to.Target, Since: now.Wall}
}

// withHealed returns the summary with what this round has healed.
func withHealed(d *round.Decision, s belief.Summary) belief.Summary {
	for i := range d.Machines {
		for k := range d.Machines[i].Records {
			if rec := &d.Machines[i].Records[k]; rec.Heals() {
				s = s.With(belief.HealedNote{
					Member: belief.Member{Machine: rec.Machine, Alias: rec.Alias}, At: rec.At, Took: rec.Took,
					Step: rec.Step,
				})
			}
		}
	}
	return s
}
