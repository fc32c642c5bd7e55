package unowned

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/journal"
)

// NoteReleased says, once, of each fleet that is in the store and not known, since it is no longer in the
// configuration, that it was let go: nothing of it is watched or touched any more.
func (u *Instances) NoteReleased(ctx context.Context, store state.Store, known map[fleet.Name]bool, now time.Time,
	log *slog.Logger) error {
	entries, _, err := store.List(ctx, beliefs.FleetsPrefix)
	if err != nil {
		return err
	}
	noted := maps.Clone(known)
	for _, entry := range entries {
		name, ok := beliefs.FleetOf(entry.Key)
		if !ok || noted[name] {
			continue
		}
		noted[name] = true
		if err := u.NoteRelease(ctx, store, name, now, log); err != nil {
			return err
		}
	}
	return nil
}

// NoteRelease says it of one fleet.
func (u *Instances) NoteRelease(ctx context.Context, store state.Store, name fleet.Name, now time.Time,
	log *slog.Logger) error {
	if err := beliefs.FreeSlots(ctx, store, name); err != nil {
		return err
	}
	left, since, err := beliefs.LetGo(ctx, store, name)
	if err != nil {
		return err
	}
	if left {
		u.Released(name, since)
		return nil
	}
	u.Released(name, now)
	log.Warn("the fleet is no longer in the configuration: it is not watched any more, and nothing was "+
		"destroyed", "fleet", name)
	book, err := journal.Open(ctx, store, name)
	if err != nil {
		return err
	}
	writes, err := book.Writes([]record.Record{{
		At: now, Fleet: name, Kind: record.Owner, Reason: fleet.ReasonFleetLeft}}, journal.Keep{})
	if err != nil {
		return err
	}
	_, err = store.Commit(ctx, state.Txn{Then: writes})
	return err
}
