package guard

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// ScaleIn says why no machine goes by an opinion's word now: while something fails as a whole, or hale does not see
// well, what is there is kept. More machines are another matter.
func ScaleIn(s *Situation) fleet.Reason {
	if r := AnyCall(s); r != "" {
		return r
	}
	switch {
	case len(s.Whole.Foreign) > 0:
		return fleet.ReasonInstallation
	case s.Whole.Doubt.Reason != "":
		return s.Whole.Doubt.Reason
	case !s.Now.Due(s.SteadyAt):
		return fleet.ReasonAmnesty
	case s.Brake.On():
		return fleet.ReasonBrake
	case len(s.Whole.Parents) > 0:
		return fleet.ReasonSharedFate
	case len(s.Unready) > 0: // what is asked of this fleet may have fallen for that alone
		return fleet.ReasonAfter
	}
	for i := range s.Whole.Holds {
		if h := &s.Whole.Holds[i]; h.Machine == "" && h.Host == "" {
			return fleet.ReasonHold
		}
	}
	if r := AnyRolled(s); r != "" || s.Whole.Ledger == nil || !s.Whole.Ledger.Update.Goes() {
		return r
	}
	return fleet.ReasonUpdating
}

// Thin reports whether so few healthy machines stay that no further one may go by an opinion's word: when it was chosen
// there were more.
func Thin(m *belief.Machine, s *Situation) bool {
	z := s.Spec.Sizing
	return z != nil && m.Health.Verdict == belief.VerdictHealthy && s.Well < z.Min
}
