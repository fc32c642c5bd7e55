package proving

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
	"hale/internal/core/tested"
)

// Definitions are the definitions of a spec's checks, worked out once.
type Definitions struct {
	of   *policy.Check // the first of them
	list []string
}

// proving is the part of a round that keeps what each check was seen to do: one that never succeeded proves nothing.
type proving struct {
	*round.Round
	known *Definitions
}

// definitions returns those of the spec's checks.
func (r proving) definitions() []string {
	checks := r.S.Spec.Checks
	if len(checks) == 0 {
		return nil
	}
	if d := r.known; d.of != &checks[0] || len(d.list) != len(checks) {
		*d = Definitions{of: &checks[0], list: make([]string, len(checks))}
		for i := range checks {
			d.list[i] = checks[i].Definition()
		}
	}
	return r.known.list
}

// TestChecks keeps the book of what each check was seen to do: one that succeeds on a machine of the fleet is proven
// until it is edited. As long as it is not, its failures count for nothing: it may be the check that is wrong. One that
// makes no machine unhealthy repairs none in any case.
func TestChecks(of *round.Round, known *Definitions) {
	r := proving{of, known}
	was := r.Sit.Whole.Book
	if r.allProven(was) {
		return
	}
	next := &tested.History{Checks: r.tested(was)}
	for i := range next.Checks {
		if t := &next.Checks[i]; t.Proven() || r.succeeds(t.Name) {
			r.prove(t)
		}
	}
	r.forgetChecks(was, next)
	for i := range next.Checks {
		if t := &next.Checks[i]; !t.Proven() && health.Mentions(r.S.Spec.UnhealthyWhen, t.Name) {
			r.Unproven = append(r.Unproven, t.Name)
			r.tellUnproven(t)
		}
	}
	if next.Equal(was) {
		return
	}
	r.Sit.Whole.Book = next
	if r.Retested = !next.SameProofs(was); r.Retested {
		r.Again = true // what is no work of this round is judged in the next one
	}
}

// allProven reports whether the book has the spec's checks as they are, and there is nothing to do in it.
func (r proving) allProven(book *tested.History) bool {
	definitions := r.definitions()
	if book == nil || len(book.Checks) != len(definitions) {
		return false
	}
	for i := range book.Checks {
		t := &book.Checks[i]
		if t.Name != r.S.Spec.Checks[i].Name || t.Definition != definitions[i] || !t.Proven() || t.Paged != "" {
			return false
		}
	}
	return true
}

// tested returns what the spec's checks were seen to do before this round. Where an older hale kept no book, and
// certified machines of the fleet, the checks are proven: it certified, or adopted, what they showed to be healthy.
func (r proving) tested(was *tested.History) []tested.Check {
	var out []tested.Check
	believed := was == nil && r.certifiedAny()
	for i, definition := range r.definitions() {
		t := tested.Check{Name: r.S.Spec.Checks[i].Name, Since: r.S.Now.Wall, SinceMono: r.S.Now.Mono}
		if known := was.Of(t.Name); known != nil && known.Definition == definition {
			t = *known
		} else if known != nil {
			t.Edited, t.Good, t.Paged = true, known.Good, known.Paged
		}
		t.Definition = definition
		if believed {
			t.Good = definition
		}
		out = append(out, t)
	}
	return out
}

func (r proving) certifiedAny() bool {
	return slices.ContainsFunc(r.S.Machines, func(v situation.View) bool {
		return !v.Machine.Current.None() && v.Machine.Current.Certified
	})
}

// succeeds reports whether the check is up on a machine that has news in this round: success is news.
func (r proving) succeeds(name fleet.CheckName) bool {
	return slices.ContainsFunc(r.S.Open, func(i int) bool {
		return standingOf(&r.S.Machines[i], name) == fleet.StandingUp
	})
}

func standingOf(v *situation.View, name fleet.CheckName) fleet.Standing {
	for i := range v.Checks {
		if v.Checks[i].Check == name {
			return v.Checks[i].Standing
		}
	}
	return fleet.StandingUnknown
}

// prove books that the check succeeded, and says so where a person was told that it does not.
func (r proving) prove(t *tested.Check) {
	if t.Paged != "" {
		r.Record(record.Record{Kind: record.Check, Reason: fleet.ReasonRecovered, Check: t.Name, Paged: true})
	}
	t.Good, t.Paged = t.Definition, ""
}

// forgetChecks finds the checks that are not asked any more, and that a person was told do not succeed.
func (r proving) forgetChecks(was, is *tested.History) {
	if was == nil {
		return
	}
	for _, t := range was.Checks {
		if t.Paged != "" && is.Of(t.Name) == nil {
			r.Record(record.Record{Kind: record.Check, Reason: fleet.ReasonRemoved, Check: t.Name, Paged: true})
		}
	}
}

// tellUnproven tells a person, once, of a check that is down where hale had the time to see it succeed (L8).
func (r proving) tellUnproven(t *tested.Check) {
	due := r.S.Now.Due(t.SinceMono.Add(guard.SettleTime(r.S.Spec))) && r.S.Now.Due(r.S.SteadyAt)
	if t.Told() || !due || r.S.Vantage.Standing == fleet.VantageIsolated || r.Sit.Whole.Doubt.Reason != "" ||
		!slices.ContainsFunc(r.S.Machines, func(v situation.View) bool { return r.fails(&v, t.Name) }) {
		return
	}
	t.Paged = t.Definition
	rec := record.Record{Kind: record.Paged, Reason: fleet.ReasonUnproven, Check: t.Name,
		Took: r.S.Now.Wall.Sub(t.Since)}
	if t.Edited {
		rec.Detail = "edited"
	}
	r.Record(rec)
}

// fails reports whether the check is down on a machine that has had the time to start.
func (r proving) fails(v *situation.View, name fleet.CheckName) bool {
	m, now := &v.Machine, r.S.Now
	starts := m.Health.Grace != 0 && !now.Due(m.Health.Grace)
	if p := m.Repair; p != nil && (p.Phase != belief.PhaseVerify || !now.Due(p.Deadline)) {
		starts = true
	}
	return !starts && !m.Current.None() && v.Epoch == m.Epoch && standingOf(v, name) == fleet.StandingDown
}
