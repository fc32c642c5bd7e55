// Package starts counts the starts of engines in the store, and gives each a random name.
//
// It promises that a start is in the store before anything is done in its name, that its number is one more than that
// of any start that the store knows, and that its nonce was never used and never will be: not after the store lost its
// last writes, not in a copy of it, and not after an old one was restored. So the number says how old a store is, the
// nonce tells two starts of the same number apart, and what bears a nonce does not repeat. It keeps the latest Keep of
// them. Beside them it keeps the names of those starts that were noted at a provider's, for as long as they may stand
// there: what stands there and is not among them was noted by another store than this one, or by this one before it
// lost it. It needs the store only.
package starts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
)

// Keep is how many starts are known at most; the oldest are forgotten.
const Keep = 256

// nonceLength is in letters of 5 bits: two starts in a million have the same nonce once in a million installations.
const nonceLength = 12

const prefix = "starts/"

// The keys sort by the numbers.
func key(number uint64) string { return fmt.Sprintf("%s%020d", prefix, number) }

// Start is one start of an engine on a store.
type Start struct {
	Number uint64    // from 1
	Nonce  string    // lower-case letters and digits, the same number of them always
	At     time.Time // by the wall clock of its time
}

// Name is what the start is called at a provider's.
func (s Start) Name() fleet.StartName { return fleet.NameStart(s.Number, s.Nonce) }

// Begin counts a start. Two that begin at once are two starts. A start is counted again when the outcome of its write
// is unknown, so that a number may be left out. The errors are those of a store; fault.NoSpace: it is full, and nothing
// was counted.
func Begin(ctx context.Context, s state.Store) (Start, error) {
	for {
		known, err := Known(ctx, s)
		if err != nil {
			return Start{}, err
		}
		start := Start{Number: 1, Nonce: strings.ToLower(rand.Text())[:nonceLength], At: time.Now()}
		if n := len(known); n > 0 {
			start.Number = known[n-1].Number + 1
		}
		data, err := json.Marshal(start)
		if err != nil {
			return Start{}, fault.New(fault.Invalid, "starts.begin", "", err)
		}
		txn := state.Txn{
			If:   []state.Compare{state.Absent(key(start.Number))},
			Then: []state.Write{state.Put(key(start.Number), data)},
		}
		if len(known) >= Keep {
			txn.Then = append(txn.Then, state.DeleteRange(prefix, key(known[len(known)-Keep+1].Number)))
		}
		switch _, err := s.Commit(ctx, txn); {
		case err == nil:
			return start, nil
		case !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.UnknownOutcome):
			return Start{}, err
		}
	}
}

// Known returns the latest starts that the store has, oldest first; none: no engine that counts them ever ran on it.
// fault.Permanent: one cannot be read.
func Known(ctx context.Context, s state.Store) ([]Start, error) {
	entries, _, err := s.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	known := make([]Start, len(entries))
	for i, e := range entries {
		err := json.Unmarshal(e.Value, &known[i])
		if err == nil && key(known[i].Number) != e.Key {
			err = fmt.Errorf("it says that it is start %d", known[i].Number)
		}
		if err != nil {
			return nil, fault.New(fault.Permanent, "starts.read", e.Key, err)
		}
	}
	return known, nil
}
