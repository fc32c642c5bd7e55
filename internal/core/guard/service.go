package guard

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Serves reports whether the machine serves, as far as is known: it is healthy, hale finished building it, and nothing
// is done to it.
func Serves(m *belief.Machine, spec *policy.Spec) bool {
	return m.Repair == nil && inService(m, spec)
}

func inService(m *belief.Machine, spec *policy.Spec) bool {
	return m.Health.Verdict == belief.VerdictHealthy && m.Current.Certified && m.Incident == nil && !Surplus(m, spec)
}

// Served reports whether it serves, and its load balancers, as they said last, send it those whom it serves: a machine
// that was just built is well before it is in its pools again. A spare is not in them until it takes a place.
func Served(m *belief.Machine, v *situation.View, spec *policy.Spec, l *belief.Ledger) bool {
	return Serves(m, spec) && (l.IsSpare(m.Name) || !slices.ContainsFunc(v.Members, func(is fleet.Membership) bool {
		return spec.Pooled(is.Balancer) && (is.State != fleet.MemberServes || is.Verdict == fleet.MemberDown)
	}))
}

// InService says why the machine may not be taken away by an update: it serves, and with it fewer machines would than
// are to. One that does not serve may go.
func InService(m *belief.Machine, v *situation.View, s *Situation) fleet.Reason {
	least := s.Spec.Update.InService.Of(s.Spec.Size)
	if least == 0 || !inService(m, &s.Spec) {
		return ""
	}
	others := s.Serving
	if Served(m, v, &s.Spec, s.Whole.Ledger) {
		others--
	}
	if others < least {
		return fleet.ReasonInService
	}
	return ""
}
