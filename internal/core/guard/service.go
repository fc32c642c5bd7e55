package guard

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Serves reports whether the machine serves, as far as is known: it is healthy, hale finished building it, and nothing
// is done to it.
func Serves(m *belief.Machine, spec *policy.Spec) bool {
	return m.Repair == nil && inService(m, spec)
}

func inService(m *belief.Machine, spec *policy.Spec) bool {
	return m.Health.Verdict == belief.VerdictHealthy && m.Current.Certified && m.Incident == nil && !Surplus(m, spec)
}

// InService says why the machine may not be taken away by an update: it serves, and with it fewer machines would than
// are to. One that does not serve may go.
func InService(m *belief.Machine, s *Situation) fleet.Reason {
	least := s.Spec.Update.InService.Of(s.Spec.Size)
	if least == 0 || !inService(m, &s.Spec) {
		return ""
	}
	others := s.Serving
	if Serves(m, &s.Spec) {
		others--
	}
	if others < least {
		return fleet.ReasonInService
	}
	return ""
}
