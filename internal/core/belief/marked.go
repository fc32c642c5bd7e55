package belief

import (
	"time"

	"hale/internal/core/fleet"
)

// Marked is a word from outside that an instance fails, whatever its checks say: a person's, or a program's. It is
// evidence, which hale's first call on the machine uses up.
type Marked struct {
	Order    fleet.OrderID
	By       string
	Because  string // in their words
	Instance fleet.InstanceID
	Until    time.Time
}

// IsMarked reports whether a word from outside says now that the machine's instance fails.
func (m *Machine) IsMarked(now fleet.Now) bool {
	return m.Marked != nil && m.Marked.Instance == m.Current.ID && !now.Reached(m.Marked.Until)
}
