package belief

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// CheckHistory is what each check of a fleet was seen to do since it was made or edited. It is never changed in place:
// what books something makes another one.
type CheckHistory struct {
	Checks []Tested `json:",omitempty"` // in the order of the spec's checks
}

// Tested is what one check was seen to do.
type Tested struct {
	Name fleet.CheckName
	// Definition is the check's (Check.Definition), and Good the last one by which it succeeded on a machine of the
	// fleet; empty: it never did.
	Definition string
	Good       string `json:",omitempty"`
	// Edited says that there was a check of the name before; Since is when the check was made or edited.
	Edited bool `json:",omitempty"`
	Since  time.Time
	// SinceMono is Since on the owner's clock; it restarts with a new owner (L15).
	SinceMono fleet.Instant `json:",omitempty"`
	// Paged is the definition by which it did not succeed when a person was told so last; empty: that is over.
	Paged string `json:",omitempty"`
}

// Told reports whether a person was told that the check, as it is defined now, does not succeed.
func (t *Tested) Told() bool { return t.Paged == t.Definition }

// Proven reports whether the check, as it is defined now, succeeded on a machine of the fleet.
func (t *Tested) Proven() bool { return t.Good == t.Definition }

// Of returns what the check was seen to do, or nil. There may be no history.
func (b *CheckHistory) Of(name fleet.CheckName) *Tested {
	if b == nil {
		return nil
	}
	i := slices.IndexFunc(b.Checks, func(t Tested) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Checks[i]
}

// Equal reports whether the two say the same.
func (b *CheckHistory) Equal(other *CheckHistory) bool {
	if b == nil || other == nil || b == other {
		return b == other
	}
	return slices.EqualFunc(b.Checks, other.Checks, func(x, y Tested) bool {
		same := x.Since.Equal(y.Since)
		x.Since = y.Since
		return same && x == y
	})
}

// SameProofs reports whether the two agree on which checks are proven. Either may be missing.
func (b *CheckHistory) SameProofs(other *CheckHistory) bool {
	if b == nil || other == nil || b == other {
		return b == other
	}
	return slices.EqualFunc(b.Checks, other.Checks, func(x, y Tested) bool {
		return x.Name == y.Name && x.Proven() == y.Proven()
	})
}

// restart makes the history good for a new owner.
func (b *CheckHistory) restart(now fleet.Now) *CheckHistory {
	if b == nil {
		return nil
	}
	next := &CheckHistory{Checks: slices.Clone(b.Checks)}
	for i := range next.Checks {
		next.Checks[i].SinceMono = now.Mono
	}
	return next
}
