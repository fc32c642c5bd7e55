package process

import (
	"context"

	"github.com/google/uuid"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/beliefs"
)

// Installation returns the store's random id, made at first use.
func Installation(ctx context.Context, store state.Store) (fleet.Installation, error) {
	for {
		entry, err := store.Get(ctx, beliefs.InstallationKey)
		if err == nil {
			return fleet.Installation(entry.Value), nil
		}
		if !fault.Is(err, fault.NotFound) {
			return "", err
		}
		_, err = store.Commit(ctx, state.Txn{
			If:   []state.Compare{state.Absent(beliefs.InstallationKey)},
			Then: []state.Write{state.Put(beliefs.InstallationKey, []byte(uuid.NewString()))},
		})
		if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.UnknownOutcome) {
			return "", err
		}
	}
}
