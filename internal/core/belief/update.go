package belief

import (
	"reflect"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Update is another template on its way through the fleet. It is never changed in place.
type Update struct {
	Template policy.Template
	Edition  uint64
	Order    fleet.OrderID // the person's, or the name of what hale does by the policy
	By       string
	// Calm is since when as many as are to try it first are built from it, and healthy; zero: they are not.
	Calm fleet.Instant `json:",omitempty"`
	// Proven says that these stood the time: it goes through the whole fleet.
	Proven bool `json:",omitempty"`
	// Stopped says why it goes no further; what was replaced stays. Empty: it goes on.
	Stopped fleet.Reason `json:",omitempty"`
	// Upto is how many machines may have been changed by it when the present batch is whole; 0: none has begun.
	Upto int `json:",omitempty"`
	// Rest is since when the present batch is whole, and its machines are well; zero: it is not. It restarts with a new
	// owner (L15).
	Rest fleet.Instant `json:",omitempty"`
	// Paused is the order that pauses the update: no further machine begins. Zero: it is not paused.
	Paused Paused `json:",omitzero"`
	// Mute is since when its metric holds it; zero: it does not. It restarts with a new owner (L15). MutePaged says
	// that a person was told.
	Mute      fleet.Instant `json:",omitempty"`
	MutePaged bool          `json:",omitempty"`
	// Said is why no further machine begins, as it was recorded last.
	Said fleet.Reason `json:",omitempty"`
	// Mends says that its template is in force already, and that it builds those machines anew which differ from it:
	// those of another edition, and the instances in Drifted.
	Mends   bool               `json:",omitempty"`
	Drifted []fleet.InstanceID `json:",omitempty"`
	// Undoes is the update that it takes back; nil: none.
	Undoes *Undone `json:",omitempty"`
}

// Paused is a person's word that an update begins no further machine.
type Paused struct {
	Order  fleet.OrderID
	By     string
	Reason string `json:",omitempty"` // in that person's words
	At     time.Time
}

// Undone is an update that is taken back. The ledger knows its template until no machine is built from it any more.
type Undone struct {
	Template policy.Template
	Edition  uint64
	// Why it is taken back: it failed, or a person ordered it.
	Why fleet.Reason
	At  time.Time
	// Since is At on the owner's clock; it restarts with a new owner (L15).
	Since fleet.Instant
	// Paged says that a person was told that it takes long.
	Paged bool `json:",omitempty"`
}

// Goes reports whether the update goes on. There may be none.
func (u *Update) Goes() bool { return u != nil && u.Stopped == "" }

// Equal reports whether the two say the same.
func (u *Update) Equal(o *Update) bool { return reflect.DeepEqual(u, o) }

// IsPaused reports whether a person has it begin no further machine. There may be none.
func (u *Update) IsPaused() bool { return u != nil && !u.Paused.At.IsZero() }

// Stands reports whether the machine's instance is as the update wants it.
func (u *Update) Stands(m *Machine) bool {
	if m.Current.None() || m.Current.Edition != u.Edition {
		return false
	}
	return !slices.Contains(u.Drifted, m.Current.ID) || u.Did(m)
}

// Did reports whether the update changed the machine.
func (u *Update) Did(m *Machine) bool {
	return m.Change != nil && m.Change.Order == u.Order && m.Change.Updated()
}

// Updated reports whether the machine has an instance of the template that was wanted.
func (c *Change) Updated() bool {
	return c.Ended == fleet.ReasonUpdated || c.Ended == fleet.ReasonInForce
}

// Why says for which reason it changes a machine; empty: it is another template.
func (u *Update) Why() fleet.Reason {
	switch {
	case u.Undoes != nil:
		return fleet.ReasonRollsBack
	case u.Mends:
		return fleet.ReasonMends
	}
	return ""
}

// restart makes it good for a new owner with another clock: what was waited for is waited for anew.
func (u *Update) restart(now fleet.Now) *Update {
	if u == nil {
		return nil
	}
	next := *u
	next.Calm, next.Rest, next.Mute = 0, 0, 0
	if u.Undoes != nil {
		undoes := *u.Undoes
		undoes.Since = now.Mono
		next.Undoes = &undoes
	}
	return &next
}

// TemplateOf returns what instances of the edition are built from. Which disks are to be kept is for the configuration
// to say.
func (l *Ledger) TemplateOf(edition uint64, wanted *policy.Spec) policy.Template {
	built := l.Template
	if u := l.Update; u != nil {
		switch {
		case u.Edition == edition:
			built = u.Template
		case u.Undoes != nil && u.Undoes.Edition == edition:
			built = u.Undoes.Template
		}
	}
	return built.Cherished(wanted.Template.Disks)
}

// Knows reports whether it is known what instances of the edition are built from. There may be no ledger.
func (l *Ledger) Knows(edition uint64) bool {
	return l != nil && (edition == l.Edition || l.Update != nil && (edition == l.Update.Edition ||
		l.Update.Undoes != nil && edition == l.Update.Undoes.Edition))
}

// GoesBack reports whether the order is that of an update to the template in force. There may be no ledger.
func (l *Ledger) GoesBack(o fleet.OrderID) bool {
	return l != nil && l.Update != nil && l.Update.Order == o && (l.Update.Mends || l.Update.Undoes != nil)
}

// Updated returns a ledger with another state of its update.
func (l *Ledger) Updated(u *Update) *Ledger {
	next := *l
	next.Update = u
	return &next
}
