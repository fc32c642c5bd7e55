// Package tested keeps what each check of a fleet was seen to do since it was made or edited: one that never succeeded
// as it is proves nothing by its failures.
package tested

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// History is that of all checks of a fleet. It is never changed in place: what books something makes another one.
type History struct {
	Checks []Check `json:",omitempty"` // in the order of the spec's checks
}

// Check is what one check was seen to do.
type Check struct {
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
func (t *Check) Told() bool { return t.Paged == t.Definition }

// Proven reports whether the check, as it is defined now, succeeded on a machine of the fleet.
func (t *Check) Proven() bool { return t.Good == t.Definition }

// Of returns what the check was seen to do, or nil. There may be no history.
func (h *History) Of(name fleet.CheckName) *Check {
	if h == nil {
		return nil
	}
	i := slices.IndexFunc(h.Checks, func(t Check) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &h.Checks[i]
}

// Equal reports whether the two say the same.
func (h *History) Equal(other *History) bool {
	if h == nil || other == nil || h == other {
		return h == other
	}
	return slices.EqualFunc(h.Checks, other.Checks, func(x, y Check) bool {
		same := x.Since.Equal(y.Since)
		x.Since = y.Since
		return same && x == y
	})
}

// SameProofs reports whether the two agree on which checks are proven. Either may be missing.
func (h *History) SameProofs(other *History) bool {
	if h == nil || other == nil || h == other {
		return h == other
	}
	return slices.EqualFunc(h.Checks, other.Checks, func(x, y Check) bool {
		return x.Name == y.Name && x.Proven() == y.Proven()
	})
}

// Restart makes the history good for a new owner.
func (h *History) Restart(now fleet.Now) *History {
	if h == nil {
		return nil
	}
	next := &History{Checks: slices.Clone(h.Checks)}
	for i := range next.Checks {
		next.Checks[i].SinceMono = now.Mono
	}
	return next
}
