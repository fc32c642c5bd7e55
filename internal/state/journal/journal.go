// Package journal keeps records in the store: in order, per fleet, for a time and within a bound of bytes.
//
// It promises that a record is stored in the same transaction as the belief that it explains, that readers see
// records in the order of their numbers, and that what one machine's health does over and over again does not drive
// out what hale and people did. It does not render records; package prose does.
package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/state"
)

const root = "journal/"

// Prefix returns the store prefix of a fleet's records.
func Prefix(name fleet.Name) string { return root + string(name) + "/" }

func key(name fleet.Name, seq uint64) string { return fmt.Sprintf("%s%020d", Prefix(name), seq) }

// within is the store prefix of a fleet's records, or of all fleets' when name is empty.
func within(name fleet.Name) string {
	if name == "" {
		return root
	}
	return Prefix(name)
}

// Stored is a record with the revision of the store at which it was written. Records of one transaction share one: they
// are of one fleet, and in the order of their numbers.
type Stored struct {
	record.Record
	Revision int64
}

// Read returns a fleet's records, oldest first, and the revision to follow from.
func Read(ctx context.Context, s state.Store, name fleet.Name) ([]record.Record, int64, error) {
	stored, revision, err := List(ctx, s, name)
	records := make([]record.Record, 0, len(stored))
	for i := range stored {
		records = append(records, stored[i].Record)
	}
	return records, revision, err
}

// List returns the records of a fleet, or of all when name is empty: fleet by fleet, oldest first, with the revision to
// follow from.
func List(ctx context.Context, s state.Store, name fleet.Name) ([]Stored, int64, error) {
	entries, revision, err := s.List(ctx, within(name))
	if err != nil {
		return nil, 0, err
	}
	stored := make([]Stored, 0, len(entries))
	for _, e := range entries {
		r, err := parse(e)
		if err != nil {
			return nil, 0, err
		}
		stored = append(stored, Stored{Record: r, Revision: e.Revision})
	}
	return stored, revision, nil
}

// Last returns a fleet's last record, and whether there is one.
func Last(ctx context.Context, s state.Store, name fleet.Name) (last record.Record, some bool, err error) {
	var end state.Entry
	for e, err := range state.Scan(ctx, s, Prefix(name)) {
		if err != nil {
			return last, false, err
		}
		end, some = e, true
	}
	if some {
		last, err = parse(end)
	}
	return last, some && err == nil, err
}

// Scan yields the records of all fleets, one fleet after the other, oldest first, as of one revision of the store.
func Scan(ctx context.Context, s state.Store) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		for e, err := range state.Scan(ctx, s, root) {
			if err != nil {
				yield(Stored{}, err)
				return
			}
			r, err := parse(e)
			if !yield(Stored{Record: r, Revision: e.Revision}, err) || err != nil {
				return
			}
		}
	}
}

// Follow yields the records of all fleets (or of one, when name is not empty) that are stored after the revision, until
// ctx ends. An error whose cause is state.ErrCompacted: they are to be listed again, since the store let go of what
// happened since the revision.
func Follow(ctx context.Context, s state.Store, name fleet.Name, after int64) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		for event, err := range s.Watch(ctx, within(name), after) {
			if err != nil {
				yield(Stored{}, err)
				return
			}
			if event.Deleted {
				continue
			}
			r, err := parse(event.Entry)
			if !yield(Stored{Record: r, Revision: event.Revision}, err) || err != nil {
				return
			}
		}
	}
}

func parse(e state.Entry) (record.Record, error) {
	var r record.Record
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return r, fault.New(fault.Permanent, "journal.read", e.Key, err)
	}
	return r, nil
}

func seqOf(k string) (uint64, error) {
	n, err := strconv.ParseUint(k[strings.LastIndexByte(k, '/')+1:], 10, 64)
	if err != nil {
		return 0, fault.New(fault.Permanent, "journal.open", k, err)
	}
	return n, nil
}
