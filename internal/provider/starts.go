package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// StartReader is a provider that has a place where starts of hale are noted (StartNoter).
type StartReader interface {
	// Starts returns the noted starts of the installation by host. Where each host keeps notes of its own, these are
	// the hosts that answer; else the whole provider's notes are under an empty name. A host that does not answer is
	// left out; one without a note is there. An error means that none answered; fault.Unsupported: there is no such
	// place.
	Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error)
}

// StartNoter is a StartReader that can note them.
type StartNoter interface {
	// NoteStart notes a start, on every host that answers where each keeps notes of its own: nil means on one at least.
	// It changes and removes no other note, and one that is there already is success. It may be called again after any
	// error.
	NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error
	// ForgetStart removes a note from wherever it answers. No such note is success.
	ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error
}

// Starts implements StartReader.
func (r *Relay) Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	type notes = map[fleet.HostName][]fleet.StartName
	return ask(ctx, r, Call{Op: OpStarts}, func(ctx context.Context, p StartReader) (notes, error) {
		return p.Starts(ctx, of)
	})
}

// NoteStart implements StartNoter.
func (r *Relay) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return pass(ctx, r, Call{Op: OpNoteStart}, func(ctx context.Context, p StartNoter) error {
		return p.NoteStart(ctx, of, name)
	})
}

// ForgetStart implements StartNoter.
func (r *Relay) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return pass(ctx, r, Call{Op: OpForgetStart}, func(ctx context.Context, p StartNoter) error {
		return p.ForgetStart(ctx, of, name)
	})
}
