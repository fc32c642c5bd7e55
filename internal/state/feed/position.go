package feed

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
)

// prefix begins the keys of the position. A feed that has begun has the key without a fleet's name, too.
func (f *Feed) prefix() string { return "streams/" + f.o.Name + "/" }

// position is where a feed stands in the journal of one fleet.
type position struct{ Seq uint64 }

// load reads the position, and whether the feed ever began. It returns the revision of the store at which that was so.
func (f *Feed) load(ctx context.Context) (begun bool, revision int64, err error) {
	entries, revision, err := f.o.Store.List(ctx, f.prefix())
	if err != nil {
		return false, 0, err
	}
	if f.at == nil {
		f.at = map[fleet.Name]uint64{}
	}
	for _, e := range entries {
		name := fleet.Name(strings.TrimPrefix(e.Key, f.prefix()))
		var at position
		switch err := json.Unmarshal(e.Value, &at); {
		case err != nil:
			return false, 0, fault.New(fault.Permanent, "feed.load", e.Key, err)
		case name == "":
			begun = true
		default: // in this process it may have gone on without being kept
			f.at[name] = max(at.Seq, f.at[name])
		}
	}
	return begun, revision, nil
}

// begin notes that the feed has begun, and where.
func (f *Feed) begin(ctx context.Context) error {
	var writes []state.Write
	for _, name := range append(slices.Sorted(maps.Keys(f.at)), "") { // the word that it has begun comes last
		writes = append(writes, f.put(name))
	}
	return state.CommitAll(ctx, f.o.Store, func(yield func(state.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
	})
}

func (f *Feed) put(name fleet.Name) state.Write {
	data, err := json.Marshal(position{f.at[name]})
	if err != nil {
		panic(err) // it is a number
	}
	return state.Put(f.prefix()+string(name), data)
}

// keep stores the position in the fleets of what was handed over. Where that fails, something comes again after a
// restart.
func (f *Feed) keep(ctx context.Context) {
	moved := map[fleet.Name]bool{}
	for i := range f.pending {
		if e := &f.pending[i]; !e.Known {
			moved[e.Fleet] = true
		}
	}
	err := state.CommitAll(ctx, f.o.Store, func(yield func(state.Write, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(moved)) {
			if !yield(f.put(name), nil) {
				return
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		f.o.Log.Warn("the position of a stream is not kept: something may come again after a restart", "stream",
			f.o.Name, "err", fault.Plain(err))
	}
}
