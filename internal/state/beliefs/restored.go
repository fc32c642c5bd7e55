package beliefs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/lossless"
)

// Restored says of a store that it came out of a backup: what it holds is older than it looks.
type Restored struct {
	At    time.Time // when it was put in place
	Made  time.Time // when the backup was made
	Nonce string    // of this restore: no other has it
}

const restoredKey = "restored"

// leap is the least by which the numbers of incidents and repairs go on after a restore, in whole thousands: those that
// were given since the backup was made, and that people and their tools may know, are not given again.
const leap = 1000

func leapt(n uint64) uint64 { return (n/leap + 1) * leap }

// MarkRestored notes in a store, and in the journal of each of its fleets, that it came out of a backup made then,
// before anything runs on it, and lets its numbers leap. Where that fails, the store is of no use.
func MarkRestored(ctx context.Context, s state.Store, made time.Time) error {
	r := Restored{At: time.Now(), Made: made, Nonce: strings.ToLower(rand.Text())}
	told, err := restoreTold(ctx, s, r)
	if err != nil {
		return err
	}
	writes := func(yield func(state.Write, error) bool) {
		for w, err := range leaps(ctx, s) {
			if !yield(w, err) {
				return
			}
		}
		for _, w := range told {
			if !yield(w, nil) {
				return
			}
		}
		data, err := json.Marshal(r)
		yield(state.Put(restoredKey, data), err)
	}
	return state.CommitAll(ctx, s, writes)
}

// restoreTold are the writes that tell of a restore in the journal of each fleet.
func restoreTold(ctx context.Context, s state.Store, r Restored) ([]state.Write, error) {
	names := map[fleet.Name]bool{}
	for e, err := range state.Scan(ctx, s, FleetsPrefix) {
		if err != nil {
			return nil, err
		}
		if name, ok := FleetOf(e.Key); ok {
			names[name] = true
		}
	}
	var told []state.Write
	for _, name := range slices.Sorted(maps.Keys(names)) {
		book, err := journal.Open(ctx, s, name)
		if err != nil {
			return nil, err
		}
		restored := record.Record{
			At: r.At.UTC(), Fleet: name, Kind: record.Store, Reason: fleet.ReasonRestored, Took: r.At.Sub(r.Made),
		}
		writes, err := book.Writes([]record.Record{restored}, journal.Keep{})
		if err != nil {
			return nil, err
		}
		told = append(told, writes...)
	}
	return told, nil
}

// leaps yields the writes by which the numbers of all fleets leap.
func leaps(ctx context.Context, s state.Store) iter.Seq2[state.Write, error] {
	return func(yield func(state.Write, error) bool) {
		for e, err := range state.Scan(ctx, s, FleetsPrefix) {
			if err != nil {
				yield(state.Write{}, err)
				return
			}
			if w, wanted, err := leapOf(e); wanted && !yield(w, err) {
				return
			}
		}
	}
}

// leapOf returns the write by which the numbers in a document leap, if it has any.
func leapOf(e state.Entry) (state.Write, bool, error) {
	var data []byte
	var err error
	name, _ := FleetOf(e.Key)
	_, isMachine := MachineOf(e.Key)
	switch {
	case isMachine:
		data, err = changed(e.Value, func(m *belief.Machine) {
			m.Incidents, m.Repairs = leapt(m.Incidents),
				leapt(m.Repairs)
		})
	case e.Key == WholeKey(name):
		data, err = changed(e.Value, func(w *belief.Whole) { w.Opened = leapt(w.Opened) })
	default:
		return state.Write{}, false, nil
	}
	if err != nil {
		return state.Write{}, true, fault.New(fault.Permanent, "engine.restored", e.Key, err)
	}
	return state.Put(e.Key, data), true, nil
}

// changed returns a document with a change, and with all that is unknown of it.
func changed[T any](stored []byte, change func(*T)) ([]byte, error) {
	var value T
	rest, err := lossless.Unmarshal(stored, &value)
	if err != nil {
		return nil, err
	}
	change(&value)
	data, _, err := rest.Marshal(value)
	return data, err
}

// LastRestore returns how the store was restored last, and whether it ever was.
func LastRestore(ctx context.Context, s state.Store) (Restored, bool, error) {
	e, err := s.Get(ctx, restoredKey)
	if fault.Is(err, fault.NotFound) {
		return Restored{}, false, nil
	}
	var r Restored
	if err == nil {
		err = json.Unmarshal(e.Value, &r)
	}
	if err != nil {
		return Restored{}, false, fault.New(fault.KindOf(err), "engine.restored", restoredKey, err)
	}
	return r, true, nil
}

// MachineOf returns the machine that the key's belief is about.
func MachineOf(key string) (fleet.MachineName, bool) {
	name, ok := FleetOf(key)
	if !ok {
		return "", false
	}
	machine, ok := strings.CutPrefix(key, MachinesPrefix(name))
	return fleet.MachineName(machine), ok
}
