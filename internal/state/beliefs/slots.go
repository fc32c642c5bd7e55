package beliefs

import (
	"context"
	"slices"

	"hale/internal/core/budget"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/lossless"
)

// FreeSlots gives back the places of a fleet that is looked after no longer.
func FreeSlots(ctx context.Context, s state.Store, name fleet.Name) error {
	for {
		e, err := s.Get(ctx, SlotsKey)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var book budget.Slots
		rest, err := lossless.Unmarshal(e.Value, &book)
		if err != nil {
			return fault.New(fault.Permanent, "beliefs.free-slots", SlotsKey, err)
		}
		kept := slices.DeleteFunc(slices.Clone(book), func(x budget.Slot) bool { return x.Machine.Fleet() == name })
		if len(kept) == len(book) {
			return nil
		}
		data, _, err := rest.Marshal(kept)
		if err != nil {
			return fault.New(fault.Invalid, "beliefs.free-slots", SlotsKey, err)
		}
		_, err = s.Commit(ctx, state.Txn{If: []state.Compare{state.At(SlotsKey, e.Revision)},
			Then: []state.Write{state.Put(SlotsKey, data)}})
		if !fault.Is(err, fault.Conflict) {
			return err
		}
	}
}
