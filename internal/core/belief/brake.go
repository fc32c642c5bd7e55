package belief

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Brake is the belief about one fleet's brake.
type Brake struct {
	Engaged bool
	Since   time.Time
	// CalmSince is when failures last fell to the release level; zero while they are above it.
	CalmSince fleet.Instant
	// SteadySince is since when no more machines failed than the limit, and no further one did; zero: more do, or the
	// brake is not engaged. Steady is how many fail.
	SteadySince fleet.Instant `json:",omitempty"`
	Steady      int           `json:",omitempty"`
	// Paged says that a person was told, of the brake or of what else explains the failures.
	Paged bool
	// Told is the wall time at which a person was told last.
	Told time.Time `json:",omitzero"`
	// By is the person who put it on, and Words are why: it stays on until a person takes it off. Empty: no person did.
	By    string    `json:",omitempty"`
	Words string    `json:",omitempty"`
	At    time.Time `json:",omitzero"` // when By did
	// Excused is how many machines failed when a person took the brake off: so many may, until it was calm for a while.
	Excused int `json:",omitempty"`
	// Scope says which fleets fail together under it; empty: it is one fleet's own.
	Scope policy.ScopeKind `json:",omitempty"`
}

// On reports whether the brake is on, by itself or by hand.
func (b *Brake) On() bool { return b.Engaged || b.By != "" }

// Toll counts the machines of the other fleets in a scope. It may be a moment old.
type Toll struct {
	Scope   policy.ScopeKind
	Size    int // desired
	Failing int // as a brake counts them
}
