package belief

import (
	"time"

	"hale/internal/core/fleet"
)

// Occupied is what is under way on a machine, or waits for it: nothing else is begun on it meanwhile.
type Occupied struct {
	Repair RepairKind     `json:",omitempty"` // that is under way; empty: it waits
	Step   fleet.StepKind `json:",omitempty"` // of it
	// Order is the person's that is carried out, or waits, and By that person. Empty: hale mends the machine.
	Order   fleet.OrderID   `json:",omitempty"`
	Command fleet.OrderKind `json:",omitempty"` // of an order that waits
	By      string          `json:",omitempty"`
	Since   time.Time       `json:",omitzero"` // zero: it is not known
}

// Occupied returns what the machine is occupied with, and whether it is. There may be no ledger.
func (m *Machine) Occupied(l *Ledger) (Occupied, bool) {
	r, w, leaves := m.Repair, m.Wanted, l.Removal(m.Name)
	switch {
	case r != nil && !r.Aside():
		return Occupied{Repair: r.Kind, Step: r.Step, Order: r.Order, By: r.By, Since: r.Started}, true
	case leaves != nil:
		return Occupied{Command: fleet.OrderDelete, Order: leaves.Order, By: leaves.By}, true
	case w != nil && w.Chore != "":
		return Occupied{Command: w.Chore, Order: w.Order, By: w.By, Since: w.Given}, true
	}
	return Occupied{}, false
}
