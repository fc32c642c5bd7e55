package engine

import (
	"context"
	"slices"

	"hale/internal/core/budget"
	"hale/internal/core/fault"
	"hale/internal/owner"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/lossless"
)

// readSlots reads the book of slots.
func (t *term) readSlots(ctx context.Context) (budget.Slots, error) {
	var book budget.Slots
	doc, err := t.read(ctx, beliefs.SlotsKey, &book)
	if err == nil {
		t.slotsDoc = doc
	}
	return book, err
}

// loadSlots makes the book agree with what this owner believes.
func (t *term) loadSlots(ctx context.Context) error {
	for {
		book, err := t.readSlots(ctx)
		if err != nil {
			return err
		}
		t.own.SetSlots(book)
		claims := t.own.Claims()
		if slices.Equal(claims, book) {
			return nil
		}
		if err = t.write(ctx, owner.Write{Slots: &claims}); err == nil {
			t.own.SetSlots(claims)
			return nil
		}
		was := t.slotsDoc.revision
		if _, read := t.readSlots(ctx); !fault.Is(err, fault.Conflict) || read != nil || t.slotsDoc.revision == was {
			return err
		}
	}
}

// followSlots tells the reigning goroutine whenever the book changes, until the watch breaks.
func (t *term) followSlots(ctx context.Context) error {
	entries, after, err := t.store.List(ctx, beliefs.SlotsKey)
	if err != nil {
		return err
	}
	for _, e := range entries {
		t.tellSlots(ctx, e)
	}
	for event, err := range t.store.Watch(ctx, beliefs.SlotsKey, after) {
		if err != nil {
			return err
		}
		if !event.Deleted {
			t.tellSlots(ctx, event.Entry)
		}
	}
	return nil
}

func (t *term) tellSlots(ctx context.Context, e state.Entry) {
	var book budget.Slots
	rest, err := lossless.Unmarshal(e.Value, &book)
	if err != nil || e.Key != beliefs.SlotsKey {
		return
	}
	t.tell(ctx, func(t *term) {
		if e.Revision > t.slotsDoc.revision {
			t.slotsDoc = stored{e.Revision, digestOf(e.Value), rest}
			t.own.SetSlots(book)
		}
	})
}
