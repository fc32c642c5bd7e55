package picture

import (
	"hale/internal/core/budget"
)

// SetSlots takes in which machines of all fleets are in repair. It is kept, and not to be changed any more.
func (p *Picture) SetSlots(s budget.Slots) {
	p.is.Slots = s
	p.dirty = p.dirty || len(p.is.Spec.Limits.Shared) > 0
}

// Again asks for another decision about the machine: the last one could not be stored.
func (p *Picture) Again(i int) {
	p.dirty = true
	p.due(i)
}
