package outbox

import (
	"context"
	"fmt"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/lossless"
)

const root = "outbox/"

// The keys sort by the numbers of the records.
func waitingPrefix(name fleet.Name) string { return root + string(name) + "/waiting/" }
func deadPrefix(name fleet.Name) string    { return root + string(name) + "/dead/" }

func waitingKey(l Letter) string {
	return fmt.Sprintf("%s%020d", waitingPrefix(l.Record.Fleet), l.Record.Seq)
}

// revivedKey is that of a letter to one target, beside the one to all of them.
func revivedKey(d Dead) string {
	return fmt.Sprintf("%s%020d.%s", waitingPrefix(d.Record.Fleet), d.Record.Seq, d.Target)
}

// DeadKey is where a dead letter is kept.
func DeadKey(d Dead) string {
	return fmt.Sprintf("%s%020d.%s", deadPrefix(d.Record.Fleet), d.Record.Seq, d.Target)
}

// Stored is something as the store has it.
type Stored[T any] struct {
	Key      string
	Revision int64
	Value    T
	Rest     *lossless.Rest // of it, which this version does not know
}

// Waiting returns a fleet's letters, oldest first.
func Waiting(ctx context.Context, s state.Store, name fleet.Name) ([]Stored[Letter], error) {
	return list[Letter](ctx, s, waitingPrefix(name))
}

// DeadLetters returns a fleet's dead letters, oldest first.
func DeadLetters(ctx context.Context, s state.Store, name fleet.Name) ([]Stored[Dead], error) {
	return list[Dead](ctx, s, deadPrefix(name))
}

func list[T any](ctx context.Context, s state.Store, prefix string) ([]Stored[T], error) {
	entries, _, err := s.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	out := make([]Stored[T], 0, len(entries))
	for _, e := range entries {
		k := Stored[T]{Key: e.Key, Revision: e.Revision}
		if k.Rest, err = lossless.Unmarshal(e.Value, &k.Value); err != nil {
			return nil, fault.New(fault.Permanent, "outbox.read", e.Key, err)
		}
		out = append(out, k)
	}
	return out, nil
}

// Posting returns the write that puts a new letter in. Its revision is that of the transaction.
func Posting(l Letter) (Stored[Letter], state.Write, error) {
	w, err := put(waitingKey(l), l, nil)
	return Stored[Letter]{Key: waitingKey(l), Value: l}, w, err
}

// Change returns the writes that bring a letter up to date, with the dead letters that came of it, and the compare that
// guards them. It removes a letter without deliveries that still wait.
func Change(was Stored[Letter], is Letter, dead []Dead) (state.Txn, error) {
	txn := state.Txn{If: []state.Compare{state.At(was.Key, was.Revision)}}
	if len(is.Sendings) == 0 {
		txn.Then = append(txn.Then, state.Delete(was.Key))
	} else {
		w, err := put(was.Key, is, was.Rest)
		if err != nil {
			return state.Txn{}, err
		}
		txn.Then = append(txn.Then, w)
	}
	for _, d := range dead {
		w, err := put(DeadKey(d), d, nil)
		if err != nil {
			return state.Txn{}, err
		}
		txn.Then = append(txn.Then, w)
	}
	return txn, nil
}

func put(key string, value any, rest *lossless.Rest) (state.Write, error) {
	data, _, err := rest.Marshal(value)
	if err != nil {
		return state.Write{}, fault.New(fault.Invalid, "outbox.write", key, err)
	}
	return state.Put(key, data), nil
}

// Revive takes a dead letter back among those that wait, from now. fault.Conflict: it is not as it was any more.
func Revive(ctx context.Context, s state.Store, d Stored[Dead], now time.Time) error {
	key := revivedKey(d.Value)
	w, err := put(key, d.Value.Revived(now), nil)
	if err != nil {
		return err
	}
	_, err = s.Commit(ctx, state.Txn{
		If:   []state.Compare{state.At(d.Key, d.Revision), state.Absent(key)},
		Then: []state.Write{w, state.Delete(d.Key)},
	})
	return err
}

// Expired returns the writes that forget dead letters beyond the bounds, given all of them, oldest first.
func Expired(dead []Stored[Dead], now time.Time) []state.Write {
	var out []state.Write
	for i, d := range dead {
		if len(dead)-i <= MaxDead && now.Sub(d.Value.At) < KeepDead {
			break
		}
		if len(out) == state.MaxOps {
			break
		}
		out = append(out, state.Delete(d.Key))
	}
	return out
}
