package courier

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
)

// prefix begins the keys of the position. A courier that has begun has the key without a fleet's name, too.
func (c *Courier) prefix() string { return "streams/" + c.o.Name + "/" }

// position is where a courier stands in the journal of one fleet.
type position struct{ Seq uint64 }

// load reads the position, and whether the courier ever began. It returns the revision of the store at which that was so.
func (c *Courier) load(ctx context.Context) (begun bool, revision int64, err error) {
	entries, revision, err := c.o.Store.List(ctx, c.prefix())
	if err != nil {
		return false, 0, err
	}
	if c.at == nil {
		c.at = map[fleet.Name]uint64{}
	}
	for _, e := range entries {
		name := fleet.Name(strings.TrimPrefix(e.Key, c.prefix()))
		var at position
		switch err := json.Unmarshal(e.Value, &at); {
		case err != nil:
			return false, 0, fault.New(fault.Permanent, "courier.load", e.Key, err)
		case name == "":
			begun = true
		default: // in this process it may have gone on without being kept
			c.at[name] = max(at.Seq, c.at[name])
		}
	}
	return begun, revision, nil
}

// begin notes that the courier has begun, and where.
func (c *Courier) begin(ctx context.Context) error {
	var writes []state.Write
	for _, name := range append(slices.Sorted(maps.Keys(c.at)), "") { // the word that it has begun comes last
		writes = append(writes, c.put(name))
	}
	return state.CommitAll(ctx, c.o.Store, func(yield func(state.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
	})
}

func (c *Courier) put(name fleet.Name) state.Write {
	return state.Put(c.prefix()+string(name), fmt.Appendf(nil, `{"Seq":%d}`, c.at[name]))
}

// keep stores the position in the fleets of what was handed over. Where that fails, something comes again after a
// restart.
func (c *Courier) keep(ctx context.Context) {
	moved := map[fleet.Name]bool{}
	for i := range c.pending {
		if e := &c.pending[i]; !e.Known {
			moved[e.Fleet] = true
		}
	}
	err := state.CommitAll(ctx, c.o.Store, func(yield func(state.Write, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(moved)) {
			if !yield(c.put(name), nil) {
				return
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		c.o.Log.Warn("the position of a stream is not kept: something may come again after a restart", "stream",
			c.o.Name, "err", fault.Plain(err))
	}
}
