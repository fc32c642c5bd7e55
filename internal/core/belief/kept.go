package belief

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// KeptInstance is an instance that was replaced and put aside, powered off, so that a person can have it back.
type KeptInstance struct {
	Incarnation
	Since time.Time
	Leaving
}

// MostKept is how many instances of one machine are kept at once: then a person must look before another is replaced.
const MostKept = 3

// KeepFor returns the instance as it is kept from now on.
func KeepFor(i Incarnation, d time.Duration, now fleet.Now) KeptInstance {
	return KeptInstance{Incarnation: i, Since: now.Wall, Leaving: Leaving{Expiry: ExpiryIn(d, now)}}
}

// KeptAt returns the index of the kept instance with the id, or -1.
func (m *Machine) KeptAt(id fleet.InstanceID) int {
	return slices.IndexFunc(m.Kept, func(k KeptInstance) bool { return k.ID == id })
}

// KeptFor returns the kept instance that a person wants back; nil: it is not kept any more.
func (m *Machine) KeptFor(o *Wanted) *KeptInstance {
	at := m.KeptAt(o.Back)
	if o.Back == "" {
		at = len(m.Kept) - 1
	}
	if at < 0 {
		return nil
	}
	return &m.Kept[at]
}

// LetGo forgets the kept instance with the id.
func (m *Machine) LetGo(id fleet.InstanceID) {
	if i := m.KeptAt(id); i >= 0 {
		m.Kept = slices.Delete(slices.Clone(m.Kept), i, i+1)
	}
}
