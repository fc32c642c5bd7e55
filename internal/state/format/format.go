// Package format numbers the ways in which hale's state lies in a store, refuses a store that is newer than this hale,
// and brings an older one up to date.
//
// It promises that nothing of a store is used before its format is known to be one that this hale reads, and that a
// store is brought from one format to the next by the steps that stand here, in their order, and by nothing else. A
// step that was broken off is taken again.
//
// What raises the number is a change that an older hale could not live with: another key, another meaning, a value that
// it would take for something else. A new member of a stored document does not: older versions carry it along unread
// (package lossless). A store without a number is of format 1: at first, hale did not write it.
package format

import (
	"context"
	"encoding/json"
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// line is a line of formats, from 1 on.
type line []struct {
	since string // the first hale that reads it, as that one calls itself; empty: every one does
	// step brings a store from the format before it to this one. It may be taken again on a store that it has changed
	// in part, or wholly; an empty store needs nothing.
	step func(ctx context.Context, s state.Store) error
}

// hales are hale's own formats. A new one comes with a line in the table of the decision on the store's format, and
// with a store of the one before in internal/engine/testdata.
var hales = append(line{{}}, upcoming...)

// Current is the format that this hale writes. It reads that and all before.
func Current() int { return len(hales) }

// Key is where a store has its Mark.
const Key = "format"

// Mark is what a store says of its format.
type Mark struct {
	Format int
	// Needs is the first hale that reads it; empty: every one does.
	Needs string `json:",omitempty"`
	// By is the hale that brought the store to it.
	By string `json:",omitempty"`
}

// Read returns what the store says of its format.
func Read(ctx context.Context, s state.Store) (Mark, error) {
	mark, _, err := read(ctx, s)
	return mark, err
}

func read(ctx context.Context, s state.Store) (Mark, int64, error) {
	e, err := s.Get(ctx, Key)
	if fault.Is(err, fault.NotFound) {
		return Mark{Format: 1}, 0, nil
	}
	if err != nil {
		return Mark{}, 0, err
	}
	var mark Mark
	err = json.Unmarshal(e.Value, &mark)
	if err == nil && mark.Format < 1 {
		err = fmt.Errorf("there is no format %d", mark.Format)
	}
	if err != nil {
		return Mark{}, 0, fault.New(fault.Permanent, "format.read", Key, err)
	}
	return mark, e.Revision, nil
}

// Readable is fault.Unsupported if this hale does not read the format; the cause says which one does, and the way out.
func (m Mark) Readable() error { return hales.reads(m) }

func (l line) reads(m Mark) error {
	if m.Format <= len(l) {
		return nil
	}
	who := "a newer hale wrote it"
	switch {
	case m.Needs != "":
		who = "hale " + m.Needs + " and later read it"
	case m.By != "":
		who = "hale " + m.By + " wrote it"
	}
	return fault.New(fault.Unsupported, "format.open", Key,
		fmt.Errorf("it is of format %d: %s, and this hale reads formats up to %d; nothing was changed. "+
			"Install that hale again, or restore a backup that was made before the upgrade (hale restore)",
			m.Format, who, len(l)))
}

// Open makes sure that the store is of the current format before it is used. The hale of the version brings an older
// one up to date. fault.Unsupported: see Readable. fault.Permanent: a step cannot be taken. Other errors are the
// store's.
func Open(ctx context.Context, s state.Store, version string) error {
	return hales.open(ctx, s, version)
}

func (l line) open(ctx context.Context, s state.Store, version string) error {
	for {
		mark, revision, err := read(ctx, s)
		if err == nil {
			err = l.reads(mark)
		}
		if err != nil {
			return err
		}
		if revision != 0 && mark.Format == len(l) {
			return nil
		}
		next := mark.Format
		if next < len(l) {
			next++
			if err := l[next-1].step(ctx, s); err != nil {
				return fault.New(fault.KindOf(err), "format.step", Key,
					fmt.Errorf("from format %d to %d: %w", mark.Format, next, err))
			}
		}
		err = write(ctx, s, Mark{Format: next, Needs: l[next-1].since, By: version}, revision)
		switch {
		case fault.Is(err, fault.NoSpace) && next == mark.Format:
			return nil // it only lacks the number, and gets that when there is room
		case err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.UnknownOutcome):
			return err
		}
	}
}

func write(ctx context.Context, s state.Store, m Mark, revision int64) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fault.New(fault.Invalid, "format.write", Key, err)
	}
	_, err = s.Commit(ctx, state.Txn{
		If:   []state.Compare{state.At(Key, revision)},
		Then: []state.Write{state.Put(Key, data)},
	})
	return err
}
