package published

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// Service is whether those who use a fleet should be sent to one of its machines.
type Service struct {
	Word Serves
	// Sure says that it holds although no other machine may be left: the instance is off, or a person wants it gone.
	Sure bool
	// Aside says that other hands are on the machine: what is kept about it is theirs.
	Aside bool
	Why   string // in a few words
}

// Serves is the answer in one word.
type Serves string

// The words.
const (
	ServesAsItDid Serves = "" // nothing is known that would change it: unknown is not dead
	ServesYes     Serves = "serves"
	ServesNo      Serves = "out"
	ServesEnds    Serves = "leaves" // it is well, and about to leave by a person's order
)

// Blind reports whether what the fleet looks like says nothing about who serves: hale just started, may not act in it,
// or doubts its own sight or the provider's.
func (s *Fleet) Blind() bool {
	return !s.AsOf.IsZero() || s.FromMemory || s.Whole.Doubt.Reason != "" || !s.Now.Due(s.SteadyAt) ||
		guard.AnyCall(&guard.Situation{State: s.State}) != ""
}

// Service says it of one of the fleet's machines.
func (s *Fleet) Service(m *belief.Machine) Service {
	if m.Contest != nil || m.Elsewhere != nil || m.Current.Candidate() ||
		guard.HoldOn(m, &guard.Situation{State: s.State}) != nil {
		return Service{Aside: true}
	}
	is := s.service(m)
	if s.Blind() || is.Word == ServesNo && !is.Sure && s.braked() {
		return Service{} // so much fails at once that hale may be wrong
	}
	return is
}

func (s *Fleet) braked() bool {
	b := guard.Braked(s.Brake, &s.Whole)
	return b.On()
}

// service says it as far as hale sees the machine well.
func (s *Fleet) service(m *belief.Machine) Service {
	leaves := s.goes(m) || m.Repair.Leaves()
	healthy, spare := m.Health.Verdict == belief.VerdictHealthy, s.Whole.Ledger.IsSpare(m.Name)
	switch {
	case m.Current.None():
		return Service{Word: ServesNo, Sure: true, Why: "it has no instance"}
	case leaves && healthy:
		return Service{Word: ServesEnds, Sure: true, Why: "it is about to leave"}
	case leaves:
		return Service{Word: ServesNo, Sure: true, Why: "it is about to leave"}
	case spare && healthy && m.Repair == nil:
		return Service{Word: ServesEnds, Why: "it is a spare"}
	case spare && m.Health.Verdict != belief.VerdictUnhealthy:
		return Service{Word: ServesNo, Why: "it is a spare"}
	case m.Health.Verdict == belief.VerdictUnhealthy:
		return failing(m, spare)
	case m.Repair.Away():
		return Service{Word: ServesNo, Why: "it is in repair"}
	case m.Stays():
		return Service{Word: ServesNo, Why: "a hook after its repair failed"}
	case m.Current.Raw: // its member may still be that of the instance before, which could not be set out in time
		return Service{Word: ServesNo, Why: "it is not provisioned"}
	case healthy && m.Current.Certified && m.Address.IsValid():
		return Service{Word: ServesYes, Why: "it is healthy"}
	}
	return Service{}
}

// goes reports whether the machine is to go by an order, so that its users leave at once. One beyond the size is kept
// while fewer would serve without it, and would be kept in vain if it did not serve: it leaves as its removal begins.
// So does any machine under the brake, which holds its removal: while others fail, it is needed most.
func (s *Fleet) goes(m *belief.Machine) bool {
	o := s.Whole.Ledger.Removal(m.Name)
	return o != nil && o.Why != fleet.ReasonSurgeOver && !s.braked()
}

// failing says it of an unhealthy machine.
func failing(m *belief.Machine, spare bool) Service {
	switch {
	case m.Health.Cause == belief.CauseDisabled && m.Repair == nil && !spare:
		return Service{} // its host is to be emptied; it serves as ever
	case m.Health.Cause == belief.CauseDisabled:
		return Service{Word: ServesEnds, Why: "it leaves its host"}
	}
	return Service{Word: ServesNo, Sure: m.Health.Cause.Stopped(), Why: "it is unhealthy: " + string(m.Health.Cause)}
}
