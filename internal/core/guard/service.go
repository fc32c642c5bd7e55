package guard

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Serves reports whether the machine serves, as far as is known, and goes on to: it is no spare, it is healthy, hale
// finished building it, nothing is done to it, and it is not to go. One whose time beyond the size is over serves until
// it goes.
func Serves(m *belief.Machine, spec *policy.Spec, l *belief.Ledger) bool {
	goes := l.Removal(m.Name)
	return m.Repair == nil && well(m, spec) && !l.IsSpare(m.Name) &&
		(goes == nil || goes.Why == fleet.ReasonSurgeOver)
}

func well(m *belief.Machine, spec *policy.Spec) bool {
	return m.Health.Verdict == belief.VerdictHealthy && m.Current.Certified && m.Incident == nil && !Surplus(m, spec)
}

// isOut reports whether each pool of the fleet says that it does not send to the machine.
func isOut(v *situation.View, spec *policy.Spec) bool {
	return !slices.ContainsFunc(spec.Pools, func(p policy.Pool) bool {
		return !slices.ContainsFunc(v.Members, func(is fleet.Membership) bool {
			return is.Balancer == p.Balancer && is.State != fleet.MemberServes && !is.Failed
		})
	})
}

// LeastServing returns how many machines are to serve at least while an update takes one away: all of the size, where
// others serve beyond it meanwhile.
func LeastServing(spec *policy.Spec, l *belief.Ledger) int {
	switch {
	case l == nil:
		return spec.Update.InService.Of(spec.Size)
	case spec.Update.Surge > 0:
		return l.Serving() // without those that are to go
	}
	return spec.Update.InService.Of(l.Posts())
}

// Served reports whether it serves, and its load balancers, as they said last, send it those whom it serves: a machine
// that was just built is well before it is in its pools again. What one said before that is of another instance.
func Served(m *belief.Machine, v *situation.View, spec *policy.Spec, l *belief.Ledger) bool {
	return Serves(m, spec, l) && Heard(v, spec, m.Acted) &&
		!slices.ContainsFunc(v.Members, func(is fleet.Membership) bool {
			gets := is.State == fleet.MemberServes && !is.Failed && is.Verdict != fleet.MemberDown
			return spec.Pooled(is.Balancer) && !gets
		})
}

// Heard reports whether each pool of the fleet said something of the machine since the instant.
func Heard(v *situation.View, spec *policy.Spec, since fleet.Instant) bool {
	return !slices.ContainsFunc(spec.Pools, func(p policy.Pool) bool {
		return !slices.ContainsFunc(v.Members, func(is fleet.Membership) bool {
			return is.Balancer == p.Balancer && is.Asked > since
		})
	})
}

// InService says why the machine may not be taken away by an update: it serves, and with it fewer machines would than
// are to. One that does not serve may go, and so may a spare once no pool sends to it: whose place it gave up a moment
// ago may not be in the pools yet.
func InService(m *belief.Machine, v *situation.View, s *Situation) fleet.Reason {
	l := s.Whole.Ledger
	if !well(m, &s.Spec) || l.IsSpare(m.Name) && isOut(v, &s.Spec) {
		return ""
	}
	return fewOthers(m, v, s)
}

// Relieved says why the machine may not go as one beyond the size: fewer others serve than are to. While it is not
// known to fail it may serve, whatever is heard of it now.
func Relieved(m *belief.Machine, v *situation.View, s *Situation) fleet.Reason {
	if m.Current.None() || m.Quarantine != nil || m.Incident != nil && !m.Incident.Blind() {
		return ""
	}
	return fewOthers(m, v, s)
}

// fewOthers says that fewer machines serve beside this one than are to.
func fewOthers(m *belief.Machine, v *situation.View, s *Situation) fleet.Reason {
	least, others := LeastServing(&s.Spec, s.Whole.Ledger), s.Serving
	if Served(m, v, &s.Spec, s.Whole.Ledger) {
		others--
	}
	if least > 0 && others < least {
		return fleet.ReasonInService
	}
	return ""
}
