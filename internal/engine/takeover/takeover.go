// Package takeover makes a store another installation of hale, which is gone for good.
//
// It promises that a store which has machines of its own stays what it is, and that the store becomes the other one
// together with the journal's word of it and the orders by which its fleets believe the world, or not at all.
package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/inbox"
	"hale/internal/state/journal"
)

// Wish is a person's, that this store becomes another installation of hale, which is gone for good.
type Wish struct {
	Installation fleet.Installation
	By, Reason   string
	// DryRun has it only say whether it could be.
	DryRun bool
}

// Done is what was ordered when it was.
type Done struct {
	// Orders are those to the fleets with instances of that installation, to believe the world; and Revision is from
	// which to await them.
	Orders   []fleet.Order
	Revision int64
}

// May says why the store cannot become the other installation, in words for a person (fault.Conflict): it has machines
// of its own, it is that installation, or no listed instance bears it. Any other error is the store's.
func May(ctx context.Context, store state.Store, t Wish, fleets []published.Fleet) error {
	is, err := beliefs.Installation(ctx, store)
	if err != nil {
		return err
	}
	if is == t.Installation {
		return cannot(t, "this hale is that installation")
	}
	if listed := marked(fleets); !slices.Contains(listed, t.Installation) {
		listed = slices.DeleteFunc(listed, func(i fleet.Installation) bool { return i == is })
		if len(listed) == 0 {
			return cannot(t, "no instance that is listed bears its mark, or that of any other installation")
		}
		return cannot(t, fmt.Sprintf("no instance that is listed bears its mark; those that are listed bear %v",
			listed))
	}
	return ownsNothing(ctx, store, t)
}

func cannot(t Wish, why string) error {
	return fault.New(fault.Conflict, "engine.take-over", string(t.Installation), errors.New(why))
}

// marked returns the installations that marked the listed instances of the fleets.
func marked(fleets []published.Fleet) []fleet.Installation {
	var out []fleet.Installation
	for _, s := range fleets {
		for _, v := range s.Machines {
			for _, seen := range v.Seen {
				i := &seen.Instance
				if by := i.Mark.Installation; i.Marked(v.Machine.Name, by) && !slices.Contains(out, by) {
					out = append(out, by)
				}
			}
		}
	}
	return out
}

// ownsNothing is an error when the store knows a machine that was built under its own id: that one would be a
// stranger's afterwards. What was adopted bears no mark.
func ownsNothing(ctx context.Context, store state.Store, t Wish) error {
	entries, _, err := store.List(ctx, beliefs.FleetsPrefix)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, ok := beliefs.FleetOf(entry.Key)
		if !ok || !strings.HasPrefix(entry.Key, beliefs.MachinesPrefix(name)) {
			continue
		}
		var m belief.Machine
		if err := json.Unmarshal(entry.Value, &m); err != nil {
			return fault.New(fault.Permanent, "engine.take-over", entry.Key, err)
		}
		if m.Generation > 0 || !m.Current.None() && !m.Current.Adopted {
			return cannot(t, fmt.Sprintf("this hale has machines of its own, as %s: restore that installation's "+
				"backup, or run its fleets in a hale with a data folder of its own", m.Name))
		}
	}
	return nil
}

// Rename gives the store the other id, and posts and writes down what follows, all or nothing. No fleet has an owner
// meanwhile; the fleets are as they stood, and now is the present.
func Rename(ctx context.Context, store state.Store, t Wish, fleets []published.Fleet, now time.Time) (Done, error) {
	if err := ownsNothing(ctx, store, t); err != nil {
		return Done{}, err
	}
	was, err := store.Get(ctx, beliefs.InstallationKey)
	if err != nil {
		return Done{}, err
	}
	txn := state.Txn{
		If:   []state.Compare{state.At(beliefs.InstallationKey, was.Revision)},
		Then: []state.Write{state.Put(beliefs.InstallationKey, []byte(t.Installation))},
	}
	var out Done
	now = now.UTC()
	for i := range fleets {
		name := fleets[i].Spec.Name
		txn.If = append(txn.If, state.Absent(beliefs.OwnerKey(name))) // as of another server
		if !slices.ContainsFunc(fleets[i].Machines,
			func(v situation.View) bool { return v.Shown(t.Installation).Marked > 0 }) {
			continue
		}
		o := fleet.Order{Kind: fleet.OrderRecover, Fleet: name, By: t.By, Reason: t.Reason, Believe: true, At: now,
			Expires: now.Add(fleet.OrderLife)}
		if o.ID, err = inbox.NewID(); err != nil {
			return Done{}, err
		}
		posted, err := inbox.Letters(o)
		if err != nil {
			return Done{}, err
		}
		book, err := journal.Open(ctx, store, name)
		if err != nil {
			return Done{}, err
		}
		told, err := book.Writes([]record.Record{{
			At: now, Fleet: name, Kind: record.Store, Reason: fleet.ReasonTakenOver, Order: o.ID, By: t.By,
			Detail: string(t.Installation)}}, journal.Keep{})
		if err != nil {
			return Done{}, err
		}
		txn.If, txn.Then = append(txn.If, posted.If...), slices.Concat(txn.Then, posted.Then, told)
		out.Orders = append(out.Orders, o)
	}
	out.Revision, err = store.Commit(ctx, txn)
	if fault.Is(err, fault.Conflict) {
		return Done{}, cannot(t, "another server looks after one of the fleets, or the store was taken over a "+
			"moment ago: try again")
	}
	return out, err
}
