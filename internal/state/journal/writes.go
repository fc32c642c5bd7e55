package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/state"
)

// What is kept of a fleet. A record is a swing if it only says how a machine's health changed
// (record.Kind.Swings); all others last.
const (
	KeepFor    = 30 * 24 * time.Hour // of what lasts, where the configuration names no other time
	KeepLeast  = 1_000               // of what lasts, whatever its age: a clock set wrong does not empty the journal
	KeepSwings = 8_000               // of all machines
	KeepOfOne  = 128                 // swings of one machine: one that flaps does not drive out the others'
	KeepBytes  = 32 << 20            // of one fleet, a quarter of it for swings
	AllBytes   = 1 << 30             // of all fleets together, half of what the store takes: each has an equal part
)

const (
	slack    = 1_000     // swings beyond what is kept are let stand before a trim
	lateness = time.Hour // for which a record may outlive its time, so that not each one is a deletion of its own
	overhead = 256       // bytes of an entry in the store, beside its value
)

// MostRanges is how many writes remove what is over the limits, at most, when records are appended.
const MostRanges = 32

// Keep says what is kept when records are written. Zero: what is there stays.
type Keep struct {
	Now   time.Time
	For   time.Duration
	Bytes int
}

// Share is a fleet's part of the store's room.
func Share(fleets int) int { return min(KeepBytes, AllBytes/max(1, fleets)) }

// Journal numbers a fleet's records, and knows which there are. One owner at a time writes it.
type Journal struct {
	fleet fleet.Name
	next  uint64
	// What is stored, by rising numbers: all records that last, all swings, and the numbers of each machine's swings.
	lasting, swings sort
	of              map[fleet.MachineName][]uint64
	sizes           []int  // of the records that Writes numbered last
	fading          change // what Writes did last
}

// sort is all records of one sort.
type sort struct {
	all   []entry
	bytes int
}

// entry is one record as the store has it.
type entry struct {
	seq   uint64
	at    time.Time
	bytes int
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
func Open(ctx context.Context, s state.Store, name fleet.Name) (*Journal, error) {
	entries, _, err := s.List(ctx, Prefix(name))
	if err != nil {
		return nil, err
	}
	b := &Journal{fleet: name, next: 1, of: make(map[fleet.MachineName][]uint64)}
	for _, e := range entries {
		seq, err := seqOf(e.Key)
		if err != nil {
			return nil, err
		}
		var r struct {
			At      time.Time
			Kind    record.Kind
			Machine fleet.MachineName
		}
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return nil, fault.New(fault.Permanent, "journal.open", e.Key, err)
		}
		b.enter(entry{seq, r.At, overhead + len(e.Value)}, r.Kind, r.Machine)
	}
	return b, nil
}

func (b *Journal) enter(e entry, kind record.Kind, machine fleet.MachineName) {
	b.next = e.seq + 1
	if !kind.Swings() || machine == "" {
		b.lasting.add(e)
		return
	}
	b.swings.add(e)
	b.of[machine] = append(b.of[machine], e.seq)
}

func (s *sort) add(e entry) {
	s.all = append(s.all, e)
	s.bytes += e.bytes
}

// at returns where the number is, or would be.
func (s *sort) at(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(s.all, seq, func(e entry, seq uint64) int { return cmp.Compare(e.seq, seq) })
}

// forget removes the entries from one place to before another.
func (s *sort) forget(from, to int) {
	for _, e := range s.all[from:to] {
		s.bytes -= e.bytes
	}
	if s.all = slices.Delete(s.all, from, to); len(s.all) == 0 {
		s.all = nil
	}
}

// first returns the number of the first entry that stays where so many bytes are kept; 0: all stay.
func (s *sort) first(bytes int) uint64 {
	if bytes <= 0 || s.bytes <= bytes {
		return 0
	}
	left, keep := s.bytes, bytes-bytes/16 // more than needed goes, so that not each record is a deletion of its own
	for _, e := range s.all {
		if left <= keep {
			return e.seq
		}
		left -= e.bytes
	}
	return s.all[len(s.all)-1].seq + 1
}

// Writes returns the writes that append the records, and numbers them in place. Nothing is appended until a transaction
// with these writes is committed and Advance is called.
func (b *Journal) Writes(records []record.Record, keep Keep) ([]state.Write, error) {
	writes := make([]state.Write, 0, len(records)+1)
	b.fading, b.sizes = change{}, b.sizes[:0]
	for i := range records {
		r := &records[i]
		r.Seq = b.next + uint64(i)
		if c := b.crowded(r); len(c.seqs) > 0 {
			b.fading.crowded = append(b.fading.crowded, c)
			r.Thinned = uint64(len(c.seqs))
		}
		data, err := json.Marshal(r)
		if err != nil {
			return nil, fault.New(fault.Invalid, "journal.append", string(b.fleet), err)
		}
		b.sizes = append(b.sizes, overhead+len(data))
		writes = append(writes, state.Put(key(b.fleet, r.Seq), data))
	}
	writes = append(writes, b.trim(keep)...)
	for _, c := range b.fading.crowded {
		for _, seq := range c.seqs {
			if seq >= max(b.fading.before, b.fading.swings) { // else it goes with its range: one write for each key
				writes = append(writes, state.Delete(key(b.fleet, seq)))
			}
		}
	}
	return writes, nil
}

// Takes returns how many writes the records of one machine take at most, beside MostRanges.
func (b *Journal) Takes(records []record.Record) int {
	n := len(records)
	for i := range records {
		n += len(b.crowded(&records[i]).seqs)
	}
	return n
}

// crowded returns the oldest swings of the record's machine, if the record is one too many.
func (b *Journal) crowded(r *record.Record) crowd {
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

// Overdue reports whether a record has outlived its time, so that Writes has something to remove although nothing is
// new.
func (b *Journal) Overdue(keep Keep) bool {
	return (keep.outlived(&b.lasting, lateness) || keep.outlived(&b.swings, lateness)) && b.due(keep) > b.oldest()
}

// oldest returns the first number that there is.
func (b *Journal) oldest() uint64 {
	seq := b.next
	for _, s := range []*sort{&b.lasting, &b.swings} {
		if len(s.all) > 0 {
			seq = min(seq, s.all[0].seq)
		}
	}
	return seq
}

func (k Keep) outlived(s *sort, late time.Duration) bool {
	return k.For > 0 && len(s.all) > 0 && s.all[0].at.Before(k.Now.Add(-k.For-late))
}

// trim removes what has outlived its time. Of a sort with too many records it removes the oldest.
func (b *Journal) trim(keep Keep) []state.Write {
	before := b.lasting.first(keep.Bytes / 4 * 3)
	if b.Overdue(keep) {
		before = max(before, b.due(keep))
	}
	if before > 0 {
		b.fading.before = before
		return []state.Write{state.DeleteRange(key(b.fleet, 0), key(b.fleet, before))}
	}
	// What lasts stands between the swings, so that they go range by range; what is over the limit goes with the next
	// records.
	last := b.swings.first(keep.Bytes / 4)
	if n := len(b.swings.all); n >= KeepSwings+slack {
		last = max(last, b.swings.all[n-KeepSwings].seq)
	}
	var writes []state.Write
	for at := 0; at < len(b.swings.all) && b.swings.all[at].seq < last && len(writes) < MostRanges; {
		from, to := b.swings.all[at].seq, last
		if i, _ := b.lasting.at(from); i < len(b.lasting.all) {
			to = min(to, b.lasting.all[i].seq)
		}
		writes = append(writes, state.DeleteRange(key(b.fleet, from), key(b.fleet, to)))
		b.fading.swings = to
		at, _ = b.swings.at(to)
	}
	return writes
}

// due returns the number of the first record that stays: it has not outlived its time, or is one of the last that
// stay in any case. Numbers tell what is older: a clock that was put back does not.
func (b *Journal) due(keep Keep) uint64 {
	seq := b.next
	if n := len(b.lasting.all); n > 0 {
		seq = b.lasting.all[max(0, n-KeepLeast)].seq
	}
	for _, s := range []*sort{&b.lasting, &b.swings} {
		for _, e := range s.all {
			if !e.at.Before(keep.Now.Add(-keep.For)) {
				seq = min(seq, e.seq)
				break
			}
		}
	}
	return seq
}

// Advance counts the records as appended, and what their writes removed as gone.
func (b *Journal) Advance(records []record.Record) {
	for _, c := range b.fading.crowded {
		for _, seq := range c.seqs {
			if at, there := b.swings.at(seq); there {
				b.swings.forget(at, at+1)
			}
		}
		b.of[c.machine] = b.of[c.machine][len(c.seqs):]
	}
	at, _ := b.lasting.at(b.fading.before)
	b.lasting.forget(0, at)
	if before := max(b.fading.before, b.fading.swings); before > 0 {
		at, _ := b.swings.at(before)
		b.swings.forget(0, at)
		for m, all := range b.of {
			if b.of[m] = from(all, before); len(b.of[m]) == 0 {
				delete(b.of, m)
			}
		}
	}
	b.fading = change{}
	for i := range records {
		r := &records[i]
		b.enter(entry{r.Seq, r.At, b.sizes[i]}, r.Kind, r.Machine)
	}
}

// from returns the numbers that are not before the first one.
func from(seqs []uint64, first uint64) []uint64 {
	at, _ := slices.BinarySearch(seqs, first)
	return seqs[at:]
}
