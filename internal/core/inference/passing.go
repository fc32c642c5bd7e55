package inference

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
)

// brakePause is for how long hale's own brake may be on without a page while no more machines fail than it would let
// pass: it releases by itself when none comes to them.
const brakePause = 10 * time.Minute

// brakeWaits is for how long a machine that fails for itself may wait for a brake that the failures of others keep on,
// and of which a person knows no more than those.
const brakeWaits = time.Hour

// passing reports whether the machine's failure may be over without a person: its host, or its provider, may only be
// booting, or it is off and is being started, or will be.
func passing(m *belief.Machine, s *guard.Situation) bool {
	i := m.Incident
	switch {
	case i == nil:
		return false
	case m.Repair.Starts() && (m.Waiting == "" || m.Waiting == fleet.ReasonProviderDown),
		m.Waiting == fleet.ReasonStarts:
		return true
	case silentPlace(m, s):
		return !s.Now.Reached(i.Opened.Add(fleet.HostBoot))
	case m.Repair != nil, m.Quarantine != nil, i.Failed > 0, guard.LeftAlone(m.Health.Cause, &s.Spec):
		return false
	}
	step, some := ladder.FirstStep(m, s)
	return some && guard.Revives(m, s, step)
}

// silentPlace reports whether the machine's host does not answer, or its whole provider does not.
func silentPlace(m *belief.Machine, s *guard.Situation) bool {
	_, dead := guard.DeadHost(m.Lies().Host, s)
	return dead || s.Provider.Standing == fleet.ProviderDown
}
