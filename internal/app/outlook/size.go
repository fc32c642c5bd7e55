package outlook

import (
	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
)

// mostRounds bounds the rounds in which a size comes into force: it moves in one, and who goes may be chosen in
// another.
const mostRounds = 4

// booked returns the situation in which the size that this one asks for is in force. An owner books it in one round,
// and begins what follows in the next: the plan is about what follows.
func booked(s situation.Situation) situation.Situation {
	for range mostRounds {
		d := decide.Decide(s)
		if s.Wanted.Adopt.Selects() || d.Whole.Ledger == nil || sameSize(s.Whole.Ledger, d.Whole.Ledger) {
			break
		}
		s.Whole.Ledger, s.Whole.Sizing = d.Whole.Ledger, d.Whole.Sizing
		mode := s.Spec.Mode
		s.Spec = s.Whole.Ledger.Force(*s.Wanted)
		s.Spec.Mode = mode
		for n := 1; n <= s.Spec.Top(); n++ {
			if name := s.Spec.Name.Machine(n); s.Spec.Has(n) && !known(s.Machines, name) {
				s.Machines = append(s.Machines, unbuilt(&s, name))
			}
		}
	}
	return s
}

func sameSize(a, b *belief.Ledger) bool {
	return a != nil && a.Size == b.Size && len(a.Removals) == len(b.Removals)
}

func known(all []situation.View, name fleet.MachineName) bool {
	for i := range all {
		if all[i].Machine.Name == name {
			return true
		}
	}
	return false
}

// unbuilt is a machine that never was.
func unbuilt(s *situation.Situation, name fleet.MachineName) situation.View {
	v := situation.View{Due: true, FreshID: fleet.InstanceID(name), Machine: belief.Machine{Name: name,
		Health: belief.Health{Verdict: belief.VerdictUnknown, SinceMono: s.Now.Mono}}}
	for _, c := range s.Spec.Checks {
		v.Checks = append(v.Checks, fleet.CheckState{Check: c.Name, Standing: fleet.StandingUnknown})
	}
	return v
}
