package engine

import (
	"context"

	"hale/internal/decide"
	"hale/internal/state"
)

// few is how many decisions are written one by one: there is little to win, and each is known the sooner.
const few = 8

// adoptAll stores what was decided on machines, in their order, and lets each one's actions begin as soon as its belief is stored. When much
// happens at once, most of it is of no consequence but for the record: that goes together, for a transaction costs the disk as much as
// a hundred writes in it.
func (t *term) adoptAll(ctx context.Context, all []decide.Machine) error {
	for len(all) > 0 {
		n := t.together(all)
		if n < few {
			if err := t.adoptMachine(ctx, all[0]); err != nil {
				return err
			}
			all = all[1:]
			continue
		}
		var b batch
		for _, m := range all[:n] {
			b.docs = append(b.docs, t.belief(m))
			b.records = append(b.records, m.Records...)
		}
		if err := t.write(ctx, b); err != nil {
			return err
		}
		for _, m := range all[:n] {
			t.picture.Adopt(m)
		}
		all = all[n:]
	}
	return nil
}

// together returns how many of the first decisions can be stored by one transaction: those from which nothing follows but that they are
// written down, as many as there is room for.
func (t *term) together(all []decide.Machine) int {
	const (
		ofOne    = 1 // its document
		ofRecord = 2 // itself, and perhaps a message
		reserved = 2 // the lease, and the end of the journal
		ofText   = 4 << 10
	)
	room, bytes := state.MaxOps-reserved, state.MaxBytes/2 // a document may have grown
	for n, m := range all {
		room -= ofOne + ofRecord*len(m.Records)
		bytes -= len(t.docs[m.Index].value) + ofText*(ofOne+len(m.Records))
		if room < 0 || bytes < 0 || !t.plain(m) {
			return n
		}
	}
	return len(all)
}

// plain reports whether nothing follows from a decision: no call, no answer to an order, no place in the book of slots.
func (t *term) plain(m decide.Machine) bool {
	if len(m.Actions) > 0 || len(m.Orders) > 0 {
		return false
	}
	_, differs := t.entered(&m.Belief)
	return !differs && (!t.outdated || !t.begins(m))
}

// belief is the document of a machine.
func (t *term) belief(m decide.Machine) document {
	return document{machineKey(m.Belief.Name), m.Belief, &t.docs[m.Index]}
}
