package belief

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// LetGo is an adopted instance that a person wants out of hale's care, although the configuration selects it. It stays
// out until the configuration selects otherwise.
type LetGo struct {
	Instance fleet.InstanceID
	Name     string // at its provider
	Order    fleet.OrderID
	By       string
	At       time.Time
	// Select is what the configuration said when the order was given.
	Select policy.Selector
}

// MostLetGo is how many instances of a fleet are kept out so.
const MostLetGo = 500

// Equal reports whether the two are the same.
func (l LetGo) Equal(o LetGo) bool { return l.Order == o.Order && l.Instance == o.Instance }

// Left returns the ids of the instances that people want out of hale's care.
func (w *Whole) Left() []fleet.InstanceID {
	if len(w.LetGo) == 0 {
		return nil
	}
	out := make([]fleet.InstanceID, len(w.LetGo))
	for i := range w.LetGo {
		out[i] = w.LetGo[i].Instance
	}
	return out
}
