package telling

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Warnings are what follows from the checks that only tell (Spec.Tells). Such a check has no part in any judgement: it
// is not in Spec.Checks, and what it says is not in View.Checks. The zero value is ready.
type Warnings struct {
	of     *round.Round
	checks []fleet.CheckName // that tell people in this round
	hushed uint64            // the checks that are not heeded now
}

// Read finds the checks to tell people of in this round: one has been down on some machine for as long as
// others are waited for; then people are told of all machines on which it is down.
func (a *Warnings) Read(r *round.Round) {
	a.of, a.checks, a.hushed = r, a.checks[:0], 0
	tells := r.S.Spec.Tells
	if len(tells) == 0 {
		return
	}
	a.hushed = health.Muted(tells, r.S.Now)
	for _, i := range r.S.Open {
		v := &r.S.Machines[i]
		for k := range v.Tells {
			if check := v.Tells[k].Check; !slices.Contains(a.checks, check) && a.warns(&v.Machine, v, k) &&
				v.Machine.WarnedBy(check).Due(&tells[k], r.S.Now) {
				a.checks = append(a.checks, check)
			}
		}
	}
}

// warns reports whether people are to be told of the machine by what the check found: only while the machine is well
// otherwise, is in no person's hands, and hale trusts its own sight.
func (a *Warnings) warns(m *belief.Machine, v *situation.View, k int) bool {
	c, r := &v.Tells[k], a.of
	was, hushed := m.WarnedBy(c.Check), k < 64 && a.hushed&(1<<k) != 0
	return c.Standing == fleet.StandingDown && v.Epoch == m.Epoch && !hushed &&
		was != nil && was.Down && !was.Open && !was.Quiet(r.S.Now) &&
		m.Health.Verdict == belief.VerdictHealthy && m.Incident == nil && m.Repair == nil &&
		guard.HoldOn(m, &r.Sit) == nil &&
		r.S.Vantage.Standing != fleet.VantageIsolated && r.Sit.Whole.Doubt.Reason == ""
}

// Warn tells people of the machine by its checks that only tell, and takes back what is over.
func (a *Warnings) Warn(c *chart.Chart) {
	r, m, v := a.of, c.M, c.View
	gone := m.Current.None() && guard.Surplus(m, &r.S.Spec)
	for i := range m.Warned {
		check := m.Warned[i].Check
		if gone || !slices.ContainsFunc(r.S.Spec.Tells, func(o policy.Check) bool { return o.Name == check }) {
			takeBack(c, &m.Warned[i], fleet.ReasonRemoved)
		}
	}
	if v.Epoch != m.Epoch {
		return
	}
	for k := range v.Tells {
		noteTell(c, &v.Tells[k])
		check := v.Tells[k].Check
		if !a.warns(m, v, k) {
			continue
		}
		if was := m.WarnedBy(check); slices.Contains(a.checks, check) || was.Due(&r.S.Spec.Tells[k], r.S.Now) {
			giveWarning(c, was, &v.Tells[k])
		}
	}
}

// noteTell notes that the check went down, or is up again.
func noteTell(c *chart.Chart, said *fleet.CheckState) {
	was := c.M.WarnedBy(said.Check)
	switch {
	case was != nil && said.Standing == fleet.StandingUp:
		takeBack(c, was, fleet.ReasonRecovered)
	case said.Standing != fleet.StandingDown:
	case was == nil:
		c.M.Warned = append(c.M.Warned, belief.Warned{Check: said.Check, Down: true, Since: c.Situation.Now.Wall})
	case !was.Down:
		was.Fall(c.Situation.Now)
	}
}

func giveWarning(c *chart.Chart, was *belief.Warned, said *fleet.CheckState) {
	c.Record(record.Record{
		Kind: record.Warning, Check: said.Check, Result: said.Result, Detail: said.Detail, Instance: c.M.Current.ID,
		Again: was.Again,
	})
	was.Told, was.Open, was.Again = c.Situation.Now.Wall, true, 0
}

// takeBack notes that the check is no longer down, and says so where a person was told that it is.
func takeBack(c *chart.Chart, was *belief.Warned, why fleet.Reason) {
	if was.Open {
		c.Record(record.Record{
			Kind: record.WarningOver, Reason: why, Check: was.Check, Took: c.Situation.Now.Wall.Sub(was.Told),
			Joint: was.Joint,
		})
	}
	was.Open, was.Down, was.Joint = false, false, ""
}

// WarnJointly makes one warning of those by one check that this round has, and says when all that it told of is over.
func WarnJointly(s *situation.Situation, d *round.Decision) (said []record.Record) {
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
