package guard

import (
	"slices"

	"hale/internal/fleet"
)

// Silent reports whether nothing speaks against the machine but that it does not answer, while its provider says that
// it runs, on a host that answers: that is as true of one that nobody reaches from here, and serves its users.
func Silent(m *fleet.Machine, v *fleet.View, s *Situation) bool {
	if m.Current.None() || m.Current.Host == "" || m.Health.Verdict != fleet.VerdictUnhealthy ||
		m.Health.Cause != fleet.CauseChecks || v == nil || strandedOn(m, s) {
		return false
	}
	return !Speaks(v)
}

// Speaks reports whether one of the machine's checks is down by an answer: the machine is reached from here.
func Speaks(v *fleet.View) bool {
	return slices.ContainsFunc(v.Checks, func(c fleet.CheckState) bool {
		return c.Standing == fleet.StandingDown &&
			c.Result.Speaks()
	})
}

// noWitness reports whether the machine is silent, and so are all others on its host that should be heard: as long as
// none of them bears witness to the way there, silence is no proof (L4). A policy that has a silent domain evacuated
// says that it is, once the time for that has come.
func noWitness(m *fleet.Machine, s *Situation) bool {
	if p := Parent(m, s); p != nil && Leaving(p, s) {
		return false
	}
	return slices.Contains(s.Mute, m.Current.Host) && !m.Ordered(s.Now) && Silent(m, s.View, s)
}
