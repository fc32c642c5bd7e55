// Package journal keeps records in the store: in order, per fleet, up to a count.
//
// It promises that a record is stored in the same transaction as the belief that it explains, and that readers see
// records in the order of their numbers. It does not render them; package prose does.
package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/state"
)

// Keep is how many records of a fleet are kept; older ones are trimmed as new ones come.
const Keep = 20_000

// slack is how many records beyond Keep are let stand before a trim.
const slack = 1_000

const root = "journal/"

// Prefix returns the store prefix of a fleet's records.
func Prefix(name fleet.Name) string { return root + string(name) + "/" }

func key(name fleet.Name, seq uint64) string { return fmt.Sprintf("%s%020d", Prefix(name), seq) }

// Book numbers a fleet's records. One owner at a time writes it.
type Book struct {
	fleet   fleet.Name
	next    uint64
	trimmed uint64 // records before this number are gone
}

// Open finds the fleet's last record.
func Open(ctx context.Context, s state.Store, name fleet.Name) (*Book, error) {
	entries, _, err := s.List(ctx, Prefix(name))
	if err != nil {
		return nil, err
	}
	b := &Book{fleet: name, next: 1, trimmed: 1}
	if len(entries) > 0 {
		first, err := seqOf(entries[0].Key)
		if err != nil {
			return nil, err
		}
		last, err := seqOf(entries[len(entries)-1].Key)
		if err != nil {
			return nil, err
		}
		b.next, b.trimmed = last+1, first
	}
	return b, nil
}

// Writes returns the writes that append the records, and numbers them in place. Nothing is appended until a transaction
// with these writes is committed and Advance is called.
func (b *Book) Writes(records []fleet.Record) ([]state.Write, error) {
	writes := make([]state.Write, 0, len(records)+1)
	for i := range records {
		records[i].Seq = b.next + uint64(i)
		data, err := json.Marshal(records[i])
		if err != nil {
			return nil, fault.New(fault.Invalid, "journal.append", string(b.fleet), err)
		}
		writes = append(writes, state.Put(key(b.fleet, records[i].Seq), data))
	}
	if from, to := b.trim(); to > from {
		writes = append(writes, state.DeleteRange(key(b.fleet, from), key(b.fleet, to)))
	}
	return writes, nil
}

func (b *Book) trim() (from, to uint64) {
	if b.next-b.trimmed < Keep+slack {
		return 0, 0
	}
	return b.trimmed, b.next - Keep
}

// Advance counts the records as appended.
func (b *Book) Advance(records []fleet.Record) {
	if _, to := b.trim(); to > 0 {
		b.trimmed = to
	}
	if n := len(records); n > 0 {
		b.next = records[n-1].Seq + 1
	}
}

// Read returns a fleet's records, oldest first, and the revision to follow from.
func Read(ctx context.Context, s state.Store, name fleet.Name) ([]fleet.Record, int64, error) {
	entries, revision, err := s.List(ctx, Prefix(name))
	if err != nil {
		return nil, 0, err
	}
	records := make([]fleet.Record, 0, len(entries))
	for _, e := range entries {
		r, err := parse(e)
		if err != nil {
			return nil, 0, err
		}
		records = append(records, r)
	}
	return records, revision, nil
}

// Follow yields the records of all fleets (or of one, when name is not empty) that are stored after the revision, until
// ctx ends.
func Follow(ctx context.Context, s state.Store, name fleet.Name, after int64) iter.Seq2[fleet.Record, error] {
	prefix := root
	if name != "" {
		prefix = Prefix(name)
	}
	return func(yield func(fleet.Record, error) bool) {
		for event, err := range s.Watch(ctx, prefix, after) {
			if err != nil {
				yield(fleet.Record{}, err)
				return
			}
			if event.Deleted {
				continue
			}
			r, err := parse(event.Entry)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func parse(e state.Entry) (fleet.Record, error) {
	var r fleet.Record
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
