package explain

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/rollout"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

// mostDrifts is how many machines are named that differ from their template.
const mostDrifts = 10

// Rolled is how another template goes through a fleet, and which machines differ from the one in force.
type Rolled struct {
	Answer
	rollout.Standing
	Drifts []rollout.Drift
}

// Rollout says how another template goes through the fleet.
func Rollout(f published.Fleet) Rolled {
	e := explainerOf(f)
	out := Rolled{Drifts: rollout.Drifts(f.Whole.Ledger, f.Machines, &f.Wanted)}
	if s, goes := rollout.Stands(&f.State, f.Machines); goes {
		out.Standing = s
		e.explainRollout(&f, &s)
	} else {
		e.Now = append(e.Now, words.Reason(fleet.ReasonNoRollout))
	}
	e.explainSurge(f.Whole.Ledger)
	e.explainDrifts(&f, out.Drifts)
	out.Answer = e.Answer
	return out
}

func (e *explainer) explainRollout(f *published.Fleet, s *rollout.Standing) {
	e.Now = append(e.Now, prose.Rollout(s.Update, f.Now.Wall))
	e.Now = append(e.Now, fmt.Sprintf("%d of %s are done, %d are being changed, %d are left", s.Done,
		prose.Machines(s.Machines), s.Under, s.Left))
	if s.Metric != "" {
		said := prose.QueryMetric(s.Metric) + " was not read yet"
		if s.Read {
			said = fmt.Sprintf("%s is %s, and its bound %s", prose.QueryMetric(s.Metric), prose.Figure(s.Value),
				prose.Figure(s.Bound))
		}
		e.Now = append(e.Now, said)
	}
	if s.Why != "" && s.Update.Goes() && !s.Update.IsPaused() {
		said := prose.Because("no further machine begins", words.Reason(s.Why))
		if s.Until != 0 {
			said += ", until " + moment(f.Now.When(s.Until))
		}
		e.Now = append(e.Now, said)
	}
	name := string(f.Spec.Name)
	switch {
	case s.Update.Stopped != "":
		e.advise(words.Advice(s.Update.Stopped))
		if s.Update.Undoes != nil || s.Done > 0 {
			e.advise("take back what was changed: hale rollout undo " + name)
		}
	case s.Update.IsPaused():
		e.advise("have it go on: hale rollout resume " + name)
	case s.Update.Undoes == nil && !s.Update.Mends:
		e.advise("hold it: hale rollout pause " + name + "; take it back: hale rollout undo " + name)
	}
}

// explainDrifts says which machines differ from the template in force.
func (e *explainer) explainDrifts(f *published.Fleet, all []rollout.Drift) {
	for i, d := range all {
		if i == mostDrifts {
			e.Now = append(e.Now, fmt.Sprintf("and %d machines more differ from the template in force", len(all)-i))
			break
		}
		e.Now = append(e.Now, prose.Drift(d.Machine, Facts(d)))
	}
	if len(all) > 0 && !f.Whole.Ledger.Update.Goes() {
		e.advise("mend what differs: hale rollout start " + string(f.Spec.Name) + " --drifted")
	}
}

// Facts says in what the machine differs.
func Facts(d rollout.Drift) []string {
	var out []string
	if d.Edition {
		out = append(out, "it was built from another template")
	}
	for _, fact := range d.Facts {
		if fact.Is == "" && fact.Wanted == "" {
			out = append(out, fact.Key+" is otherwise")
			continue
		}
		out = append(out, fmt.Sprintf("%s is %s, and should be %s", fact.Key, fact.Is, fact.Wanted))
	}
	return out
}
