package guard

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// NewChore says why what a person has hale do with the machine may not begin with the step: to set it going takes a
// place among the starts, and whatever else it is, is a change.
func NewChore(m *belief.Machine, s *Situation, step fleet.StepKind) fleet.Reason {
	if !Revives(m, s, step) {
		return NewChange(m, s)
	}
	switch r := rivalStep(m, s, true); {
	case r != "":
		return r
	case m.Anchor != nil && !s.Now.Due(m.Anchor.Until):
		return fleet.ReasonLateCall
	}
	if Starting(m, s) != nil {
		return fleet.ReasonStarts
	}
	return ""
}

// onChore reports whether a person has hale do something with this machine now: at any time of the day, and whatever
// is heard near it.
func onChore(m *belief.Machine, s *Situation) bool {
	return m.HasChore(s.Now) || m.Repair != nil && m.Repair.Kind.Chore()
}
