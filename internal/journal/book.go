package journal

import (
	"context"
	"encoding/json"
	"slices"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/state"
)

// What is kept of a fleet; older records go as new ones come. A record is a swing if it says no more than how a
// machine's health went (fleet.RecordKind.Swings); all others last.
const (
	KeepLasting = 12_000
	KeepSwings  = 8_000 // of all machines
	KeepOfOne   = 128   // swings of one machine: one that flaps does not drive out the others'
)

const (
	slack      = 1_000 // records beyond what is kept are let stand before a trim
	mostRanges = 32    // writes of one trim: a transaction takes not many more
)

// Book numbers a fleet's records, and knows which there are. One owner at a time writes it.
type Book struct {
	fleet fleet.Name
	next  uint64
	// The numbers of what is stored, rising: of all records that last, of all swings, and of each machine's swings.
	lasting, swings []uint64
	of              map[fleet.MachineName][]uint64
	fading          change // what Writes did last
}

// change is what one call of Writes removes.
type change struct {
	crowded []crowd
	before  uint64 // all records before it
	swings  uint64 // all swings before it
}

// crowd are a machine's swings that newer ones of it drive out.
type crowd struct {
	machine fleet.MachineName
	seqs    []uint64
}

// Open finds the fleet's records.
func Open(ctx context.Context, s state.Store, name fleet.Name) (*Book, error) {
	entries, _, err := s.List(ctx, Prefix(name))
	if err != nil {
		return nil, err
	}
	b := &Book{fleet: name, next: 1, of: make(map[fleet.MachineName][]uint64)}
	for _, e := range entries {
		seq, err := seqOf(e.Key)
		if err != nil {
			return nil, err
		}
		var r struct {
			Kind    fleet.RecordKind
			Machine fleet.MachineName
		}
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return nil, fault.New(fault.Permanent, "journal.open", e.Key, err)
		}
		b.enter(seq, r.Kind, r.Machine)
	}
	return b, nil
}

func (b *Book) enter(seq uint64, kind fleet.RecordKind, machine fleet.MachineName) {
	b.next = seq + 1
	if !kind.Swings() || machine == "" {
		b.lasting = append(b.lasting, seq)
		return
	}
	b.swings = append(b.swings, seq)
	b.of[machine] = append(b.of[machine], seq)
}

// Writes returns the writes that append the records, and numbers them in place. Nothing is appended until a transaction
// with these writes is committed and Advance is called.
func (b *Book) Writes(records []fleet.Record) ([]state.Write, error) {
	writes := make([]state.Write, 0, len(records)+1)
	b.fading = change{}
	for i := range records {
		r := &records[i]
		r.Seq = b.next + uint64(i)
		if c := b.crowded(r); len(c.seqs) > 0 {
			b.fading.crowded = append(b.fading.crowded, c)
			for _, seq := range c.seqs {
				writes = append(writes, state.Delete(key(b.fleet, seq)))
			}
			r.Thinned = uint64(len(c.seqs))
		}
		data, err := json.Marshal(r)
		if err != nil {
			return nil, fault.New(fault.Invalid, "journal.append", string(b.fleet), err)
		}
		writes = append(writes, state.Put(key(b.fleet, r.Seq), data))
	}
	return append(writes, b.trim()...), nil
}

// crowded returns the oldest swings of the record's machine, if the record is one too many.
func (b *Book) crowded(r *fleet.Record) crowd {
	all := b.of[r.Machine]
	if !r.Kind.Swings() || len(all) < KeepOfOne {
		return crowd{}
	}
	for _, c := range b.fading.crowded {
		if c.machine == r.Machine {
			all = all[len(c.seqs):]
		}
	}
	// Two where there is one new: those of a batch, too, find room in the end.
	return crowd{machine: r.Machine, seqs: all[:min(2, len(all))]}
}

// trim removes the oldest records of the sort of which there are too many.
func (b *Book) trim() []state.Write {
	if n := len(b.lasting); n >= KeepLasting+slack {
		b.fading.before = b.lasting[n-KeepLasting]
		return []state.Write{state.DeleteRange(key(b.fleet, 0), key(b.fleet, b.fading.before))}
	}
	if len(b.swings) < KeepSwings+slack {
		return nil
	}
	// What lasts stands between the swings, so that they go range by range; what is over the limit goes with the next
	// records.
	var writes []state.Write
	last := b.swings[len(b.swings)-KeepSwings]
	for from := b.swings[0]; from < last && len(writes) < mostRanges; {
		to := last
		if at, _ := slices.BinarySearch(b.lasting, from); at < len(b.lasting) {
			to = min(to, b.lasting[at])
		}
		writes = append(writes, state.DeleteRange(key(b.fleet, from), key(b.fleet, to)))
		b.fading.swings = to
		at, _ := slices.BinarySearch(b.swings, to)
		from = b.swings[at]
	}
	return writes
}

// Advance counts the records as appended, and what their writes removed as gone.
func (b *Book) Advance(records []fleet.Record) {
	for _, c := range b.fading.crowded {
		for _, seq := range c.seqs {
			if at, there := slices.BinarySearch(b.swings, seq); there {
				b.swings = slices.Delete(b.swings, at, at+1)
			}
		}
		b.of[c.machine] = b.of[c.machine][len(c.seqs):]
	}
	b.lasting = from(b.lasting, b.fading.before)
	if before := max(b.fading.before, b.fading.swings); before > 0 {
		b.swings = from(b.swings, before)
		for m, all := range b.of {
			if b.of[m] = from(all, before); len(b.of[m]) == 0 {
				delete(b.of, m)
			}
		}
	}
	b.fading = change{}
	for i := range records {
		b.enter(records[i].Seq, records[i].Kind, records[i].Machine)
	}
}

// from returns the numbers that are not before the first one.
func from(seqs []uint64, first uint64) []uint64 {
	at, _ := slices.BinarySearch(seqs, first)
	return seqs[at:]
}
