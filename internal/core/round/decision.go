package round

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// Decision is what follows from a situation.
type Decision struct {
	Brake   belief.Brake
	Whole   belief.Whole
	Records []record.Record // about the fleet as a whole
	Orders  []fleet.Ruling  // on those to the fleet as a whole; no longer in the inbox once the rest is stored
	// Believes says that a person had hale believe the world in this round; Believed are the starts that are known from
	// now on.
	Believes bool
	Believed []fleet.StartName
	Machines []Decided // those for which something follows, in the situation's order; all the others stay as they are
	// Asks are the machines, by Situation.Machines, that are to be asked on demand; nothing of that is stored.
	Asks []int
	// Next is when to decide again at the latest, without new evidence. Zero: not before there is some.
	Next fleet.Instant
}

// Decided is what follows for one machine.
type Decided struct {
	Index   int // in Situation.Machines
	Belief  belief.Machine
	Actions []situation.Action
	Records []record.Record
	Orders  []fleet.Ruling // on those to the machine
}

// Ends reports whether the decision ends the machine's work. While it is being replaced it is not judged, so that it is
// to be looked at anew.
func (m *Decided) Ends(was *belief.Machine) bool { return was.Repair != nil && m.Belief.Repair == nil }
