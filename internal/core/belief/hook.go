package belief

import (
	"slices"

	"hale/internal/core/fleet"
)

// Hooking is how far the hooks of a repair came. It is never changed in place, so that copies share it.
type Hooking struct {
	// Over are the hooks that have ended, and the pools that the machine left, in the order in which they did.
	Over []HookOver `json:",omitempty"`
	// At is the hook that is tried or waited for, By is until when, and Most until when at the most, whatever word is
	// given. Without By the time has yet to begin, as after a restart (L15).
	At   fleet.HookID  `json:",omitempty"`
	By   fleet.Instant `json:",omitempty"`
	Most fleet.Instant `json:",omitempty"`
	// Word was said of it, and Words is what else; the work has yet to go on.
	Word  fleet.HookWord `json:",omitempty"`
	Words string         `json:",omitempty"`
}

// Said returns the word that was given on the hook; empty: none was. There may be no hooking.
func (h *Hooking) Said(id fleet.HookID) fleet.HookWord {
	if h == nil || h.At != id {
		return ""
	}
	return h.Word
}

// HookOver is how one hook ended.
type HookOver struct {
	Hook fleet.HookID
	Why  fleet.Reason `json:",omitempty"` // it failed, or was not run; empty: it is done
}

// Ended returns how the hook ended; false: it has not. There may be no hooking.
func (h *Hooking) Ended(id fleet.HookID) (fleet.Reason, bool) {
	if h == nil {
		return "", false
	}
	i := slices.IndexFunc(h.Over, func(o HookOver) bool { return o.Hook == id })
	if i < 0 {
		return "", false
	}
	return h.Over[i].Why, true
}

// End returns the hooking with the hook ended. There may be none before.
func (h *Hooking) End(id fleet.HookID, why fleet.Reason) *Hooking {
	next := &Hooking{}
	if h != nil {
		next.Over = slices.Clone(h.Over)
	}
	next.Over = append(next.Over, HookOver{id, why})
	return next
}

// Anew returns the hooking without what ended at the moment, which begins anew. There may be none before.
func (h *Hooking) Anew(m fleet.Moment) *Hooking {
	return h.Keep(func(o HookOver) bool { return o.Hook.Moment() != m })
}

// Of returns the hooking with what ended at the moment alone. There may be none before.
func (h *Hooking) Of(m fleet.Moment) *Hooking {
	return h.Keep(func(o HookOver) bool { return o.Hook.Moment() == m })
}

// Keep returns the hooking with those ends alone that are to be kept, and nothing under way; nil: none is. There may be
// none before.
func (h *Hooking) Keep(keep func(HookOver) bool) *Hooking {
	if h == nil {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(h.Over), func(o HookOver) bool { return !keep(o) })
	if len(kept) == 0 {
		return nil
	}
	return &Hooking{Over: kept}
}

// Due returns the hooking with the hook under way until then. There may be none before.
func (h *Hooking) Due(id fleet.HookID, by, most fleet.Instant) *Hooking {
	next := &Hooking{At: id, By: by, Most: most}
	if h != nil {
		next.Over = h.Over
	}
	return next
}

// restart lets the time of the hook under way begin anew. There may be no hooking.
func (h *Hooking) restart() *Hooking {
	if h == nil {
		return nil
	}
	next := *h
	next.By, next.Most = 0, 0
	return &next
}

func (h *Hooking) equal(o *Hooking) bool {
	if h == nil || o == nil {
		return h == o
	}
	return h.At == o.At && h.By == o.By && h.Most == o.Most && h.Word == o.Word && h.Words == o.Words &&
		slices.Equal(h.Over, o.Over)
}
