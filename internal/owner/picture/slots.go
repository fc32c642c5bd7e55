package picture

import "hale/internal/core/fleet"

// SetSlots takes in which machines of all fleets are in repair. It is kept, and not to be changed any more.
func (p *Picture) SetSlots(s fleet.Slots) {
	p.slots = s
	p.dirty = p.dirty || len(p.spec.Limits.Shared) > 0
}

// Again asks for another decision about the machine: the last one could not be stored.
func (p *Picture) Again(i int) {
	p.dirty = true
	p.due(i)
}

// Slots returns the machines of all fleets that are in repair, to be read only.
func (p *Picture) Slots() fleet.Slots { return p.slots }
