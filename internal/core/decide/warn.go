package decide

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// A check that only tells (Spec.Tells) has no part in any judgement: it is not in Spec.Checks, and what it says is not
// in View.Checks. All that follows from it is here.

// readWarnings finds the checks to tell people of in this round: one has been down on some machine for as long as
// others are waited for; then people are told of all machines on which it is down.
func readWarnings(r *deciding) {
	r.warning = r.warning[:0]
	tells := r.S.Spec.Tells
	if len(tells) == 0 {
		return
	}
	r.hushed = health.Muted(tells, r.S.Now)
	for _, i := range r.S.Open {
		v := &r.S.Machines[i]
		for k := range v.Tells {
			if check := v.Tells[k].Check; !slices.Contains(r.warning, check) && warns(r, &v.Machine, v, k) &&
				v.Machine.WarnedBy(check).Due(&tells[k], r.S.Now) {
				r.warning = append(r.warning, check)
			}
		}
	}
}

// warns reports whether people are to be told of the machine by what the check found: only while the machine is well
// otherwise, is in no person's hands, and hale trusts its own sight.
func warns(r *deciding, m *belief.Machine, v *situation.View, k int) bool {
	c := &v.Tells[k]
	was, hushed := m.WarnedBy(c.Check), k < 64 && r.hushed&(1<<k) != 0
	return c.Standing == fleet.StandingDown && v.Epoch == m.Epoch && !hushed &&
		was != nil && was.Down && !was.Open && !was.Quiet(r.S.Now) &&
		m.Health.Verdict == belief.VerdictHealthy && m.Incident == nil && m.Repair == nil &&
		guard.HoldOn(m, &r.Sit) == nil &&
		r.S.Vantage.Standing != fleet.VantageIsolated && r.Sit.Whole.Doubt.Reason == ""
}

// warn tells people of the machine by its checks that only tell, and takes back what is over.
func warn(r *deciding, w *work) {
	m, v := w.M, w.View
	gone := m.Current.None() && guard.Surplus(m, &r.S.Spec)
	for i := range m.Warned {
		check := m.Warned[i].Check
		if gone || !slices.ContainsFunc(r.S.Spec.Tells, func(c policy.Check) bool { return c.Name == check }) {
			takeBack(w, &m.Warned[i], fleet.ReasonRemoved)
		}
	}
	if v.Epoch != m.Epoch {
		return
	}
	for k := range v.Tells {
		noteTell(w, &v.Tells[k])
		check := v.Tells[k].Check
		if !warns(r, m, v, k) {
			continue
		}
		if was := m.WarnedBy(check); slices.Contains(r.warning, check) || was.Due(&r.S.Spec.Tells[k], r.S.Now) {
			giveWarning(w, was, &v.Tells[k])
		}
	}
}

// noteTell notes that the check went down, or is up again.
func noteTell(w *work, c *fleet.CheckState) {
	was := w.M.WarnedBy(c.Check)
	switch {
	case was != nil && c.Standing == fleet.StandingUp:
		takeBack(w, was, fleet.ReasonRecovered)
	case c.Standing != fleet.StandingDown:
	case was == nil:
		w.M.Warned = append(w.M.Warned, belief.Warned{Check: c.Check, Down: true, Since: w.Situation.Now.Wall})
	case !was.Down:
		was.Fall(w.Situation.Now)
	}
}

func giveWarning(w *work, was *belief.Warned, c *fleet.CheckState) {
	w.Record(record.Record{
		Kind: record.Warning, Check: c.Check, Result: c.Result, Detail: c.Detail, Instance: w.M.Current.ID,
		Again: was.Again,
	})
	was.Told, was.Open, was.Again = w.Situation.Now.Wall, true, 0
}

// takeBack notes that the check is no longer down, and says so where a person was told that it is.
func takeBack(w *work, was *belief.Warned, why fleet.Reason) {
	if was.Open {
		w.Record(record.Record{
			Kind: record.WarningOver, Reason: why, Check: was.Check, Took: w.Situation.Now.Wall.Sub(was.Told),
			Joint: was.Joint,
		})
	}
	was.Open, was.Down, was.Joint = false, false, ""
}

// warnJointly makes one warning of those by one check that this round has, and says when all that it told of is over.
func warnJointly(s *situation.Situation, d *Decision) (said []record.Record) {
	var warnings, ends []*joint
	for i := range d.Machines {
		m := &d.Machines[i]
		for k := range m.Records {
			switch rec := &m.Records[k]; {
			case rec.Kind == record.Warning:
				warnings = gather(warnings, m, rec, func(j *joint) bool { return j.records[0].Check == rec.Check })
			case rec.Kind == record.WarningOver && rec.Joint != "":
				ends = gather(ends, m, rec, func(j *joint) bool { return j.page.Joint == rec.Joint })
			}
		}
	}
	for _, j := range warnings {
		if len(j.records) > 1 {
			j.page.Joint = round.NextJoint(s.Spec.Name, &d.Whole)
			j.page.Check, j.page.Result = j.records[0].Check, j.records[0].Result
			for k, m := range j.machines {
				j.records[k].Joint, m.Belief.WarnedBy(j.page.Check).Joint = j.page.Joint, j.page.Joint
			}
			said = append(said, j.page)
		}
	}
	var open []string
	if len(ends) > 0 {
		open = openJoints(s, d)
	}
	for _, j := range ends {
		if !slices.Contains(open, j.page.Joint) {
			j.page.Check, j.page.Failing, j.page.Of = j.records[0].Check, 0, nil
			said = append(said, j.page)
		}
	}
	return said
}
