package guard

import (
	"iter"

	"hale/internal/core/belief"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Ahead returns how a fleet stands that comes before others: how many of its machines are to serve, and how many of
// them are well. Spares are none of them, nor is what is beyond the size. What was selected and not adopted yet is one
// of them, and is well when it is healthy.
func Ahead(spec *policy.Spec, l *belief.Ledger, machines iter.Seq[*belief.Machine]) situation.Ahead {
	a := situation.Ahead{Fleet: spec.Name, Known: true}
	for m := range machines {
		candidate := m.Current.Candidate()
		if l.IsSpare(m.Name) || Surplus(m, spec) && !candidate {
			continue
		}
		if a.Size++; m.Health.Verdict == belief.VerdictHealthy && (m.Current.Certified || candidate) {
			a.Well++
		}
	}
	expects := spec.Size // some of them may not be there yet
	if spec.Adopt.Selects() {
		expects = spec.Adopt.Expected
	}
	a.Size = max(a.Size, expects-l.Idle())
	return a
}

// Ready reports whether a fleet that comes first is known to serve: at least half of its machines are well. Of what
// nothing is known may be down (L4), and a fleet that selects may not have found its machines yet.
func Ready(a situation.Ahead) bool { return a.Known && a.Size > 0 && 2*a.Well >= a.Size }

// follows reports whether nothing may be begun on the machine since a fleet that comes first does not serve. What a
// person orders is done all the same.
func follows(m *belief.Machine, s *Situation) bool { return len(s.Unready) > 0 && !m.Ordered(s.Now) }
