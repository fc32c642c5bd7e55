package fleet

import (
	"slices"
	"time"
)

// Shelved is an instance that was replaced and put aside, powered off, so that a person can have it back.
type Shelved struct {
	Incarnation
	Since time.Time
	// It may go when both clocks say so: Until in wall time, which survives restarts, and Ends on the owner's clock, which no step of
	// the wall clock shortens (L15).
	Until time.Time
	Ends  Instant
	// RetryAt is when its removal may be tried again; Paged says that a person was told that it would not go.
	RetryAt Instant `json:",omitempty"`
	Paged   bool    `json:",omitempty"`
}

// MostKept is how many instances of one machine are kept at once: then a person must look before another is replaced.
const MostKept = 3

// KeepFor returns the instance as it is kept from now on.
func KeepFor(i Incarnation, d time.Duration, now Now) Shelved {
	return Shelved{Incarnation: i, Since: now.Wall, Until: now.Wall.Add(d), Ends: now.Mono.Add(d)}
}

// Over reports whether its time is over, and its removal may be tried.
func (k *Shelved) Over(now Now) bool {
	return !now.Wall.Before(k.Until) && now.Due(k.Ends) && (k.RetryAt == 0 || now.Due(k.RetryAt))
}

func (k *Shelved) restart(now Now) {
	k.Ends, k.RetryAt = now.Mono.Add(max(0, k.Until.Sub(now.Wall))), 0
}

func (k *Shelved) stretch(now Now) {
	if until := now.Wall.Add(max(0, k.Ends.Sub(now.Mono))); until.After(k.Until) {
		k.Until = until
	}
}

// KeptAt returns the index of the kept instance with the id, or -1.
func (m *Machine) KeptAt(id InstanceID) int {
	return slices.IndexFunc(m.Kept, func(k Shelved) bool { return k.ID == id })
}

// LetGo forgets the kept instance with the id.
func (m *Machine) LetGo(id InstanceID) {
	if i := m.KeptAt(id); i >= 0 {
		m.Kept = slices.Delete(slices.Clone(m.Kept), i, i+1)
	}
}

// KeepTime returns how long the policy keeps an instance that a person's order replaces.
func (p *RepairPolicy) KeepTime() time.Duration {
	for _, s := range p.Steps {
		if s.KeepOld > 0 {
			return s.KeepOld
		}
	}
	return 24 * time.Hour
}
