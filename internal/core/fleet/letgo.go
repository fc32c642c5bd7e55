package fleet

import (
	"slices"
	"time"
)

// LetGo is an adopted instance that a person wants out of hale's care, although the configuration selects it. It stays
// out until the configuration selects otherwise.
type LetGo struct {
	Instance InstanceID
	Name     string // at its provider
	Order    OrderID
	By       string
	At       time.Time
	// Select is what the configuration said when the order was given.
	Select Selector
}

// MostLetGo is how many instances of a fleet are kept out so.
const MostLetGo = 500

// Equal reports whether the two are the same.
func (l LetGo) Equal(o LetGo) bool { return l.Order == o.Order && l.Instance == o.Instance }

// Left returns the ids of the instances that people want out of hale's care.
func (w *Whole) Left() []InstanceID {
	if len(w.LetGo) == 0 {
		return nil
	}
	out := make([]InstanceID, len(w.LetGo))
	for i := range w.LetGo {
		out[i] = w.LetGo[i].Instance
	}
	return out
}

// Let reports whether a person wants the instance out of hale's care.
func (a *Adoption) Let(id InstanceID) bool { return slices.Contains(a.Left, id) }
