package engine

import (
	"context"
	"slices"
	"time"

	"hale/internal/decide"
	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/guard"
	"hale/internal/lossless"
	"hale/internal/state"
)

// The budgets that fleets share are kept in one book, under one key: whoever begins a repair enters it in the transaction that
// stores the repair, which holds only if nobody changed the book meanwhile. So no two owners take the same last place.

// slot returns what the book is to say of the machine; nil: nothing.
func (t *term) slot(m *fleet.Machine) *fleet.Slot {
	spec := t.picture.Spec()
	if len(spec.Limits.Shared) == 0 || m.Repair == nil || !m.Repair.Kind.Budgeted() {
		return nil
	}
	if old, ok := t.picture.Slots().Of(m.Name); ok && old.Repair == m.Repair.ID {
		return &old // where it lay when the repair began
	}
	s := guard.SlotOf(m, spec, t.picture.Hosts())
	return &s
}

// entered returns the book as it is to be once the belief is stored, and whether that differs from the present one.
func (t *term) entered(m *fleet.Machine) (book fleet.Slots, differs bool) {
	now := t.picture.Slots()
	old, has := now.Of(m.Name)
	want := t.slot(m)
	switch {
	case want == nil && !has, want != nil && has && *want == old:
		return now, false
	case want == nil:
		return now.Without(m.Name), true
	}
	return now.With(*want), true
}

// storeMachine stores a decision about a machine. It reports false when another owner was faster to take the place that a repair needs:
// then nothing is stored, and the machine is decided on once more.
func (t *term) storeMachine(ctx context.Context, m decide.Machine) (taken bool, err error) {
	for {
		if t.outdated && t.begins(m) {
			t.picture.Again(m.Index)
			return false, nil
		}
		docs := []document{t.belief(m)}
		book, differs := t.entered(&m.Belief)
		if differs {
			docs = append(docs, document{slotsKey, book, &t.slotsDoc})
		}
		err = t.write(ctx, batch{docs: docs, records: m.Records, rulings: m.Orders})
		if err == nil && differs {
			t.picture.SetSlots(book)
		}
		if !differs || !fault.Is(err, fault.Conflict) {
			return err == nil, err
		}
		was := t.slotsDoc.revision
		if read := t.readSlots(ctx); read != nil {
			return false, read
		}
		if t.slotsDoc.revision == was {
			return false, err // it was not the book
		}
		t.outdated = true
	}
}

// begins reports whether the decision begins a repair that needs a place in the book.
func (t *term) begins(m decide.Machine) bool {
	was := t.picture.View(m.Index).Machine.Repair
	return t.slot(&m.Belief) != nil && (was == nil || was.ID != m.Belief.Repair.ID)
}

// readSlots reads the book.
func (t *term) readSlots(ctx context.Context) error {
	var book fleet.Slots
	doc, err := t.read(ctx, slotsKey, &book)
	if err != nil {
		return err
	}
	t.slotsDoc = doc
	t.picture.SetSlots(book)
	return nil
}

// loadSlots makes the book agree with what this owner believes: repairs that ended without it, as when hale died or the fleet had
// no owner, give their places back.
func (t *term) loadSlots(ctx context.Context) error {
	for {
		if err := t.readSlots(ctx); err != nil {
			return err
		}
		book := t.picture.Slots()
		for _, s := range book {
			if s.Machine.Fleet() != t.spec.Name {
				continue
			}
			i, known := t.picture.Index(s.Machine)
			if !known || t.slot(&t.picture.View(i).Machine) == nil || t.picture.View(i).Machine.Repair.ID != s.Repair {
				book = book.Without(s.Machine)
			}
		}
		for i := range t.picture.Len() {
			if s := t.slot(&t.picture.View(i).Machine); s != nil {
				book = book.With(*s)
			}
		}
		if slices.Equal(book, t.picture.Slots()) {
			return nil
		}
		err := t.write(ctx, batch{docs: []document{{slotsKey, book, &t.slotsDoc}}})
		if err == nil {
			t.picture.SetSlots(book)
			return nil
		}
		was := t.slotsDoc.revision
		if read := t.readSlots(ctx); !fault.Is(err, fault.Conflict) || read != nil || t.slotsDoc.revision == was {
			return err
		}
	}
}

// followSlots tells the reigning goroutine whenever the book changes, until ctx ends.
func (t *term) followSlots(ctx context.Context) {
	for ctx.Err() == nil {
		entries, after, err := t.store.List(ctx, slotsKey)
		if err == nil {
			for _, e := range entries {
				t.tellSlots(ctx, e)
			}
			for event, err := range t.store.Watch(ctx, slotsKey, after) {
				if err != nil {
					break
				}
				if !event.Deleted {
					t.tellSlots(ctx, event.Entry)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(inboxPause):
		}
	}
}

func (t *term) tellSlots(ctx context.Context, e state.Entry) {
	var book fleet.Slots
	rest, err := lossless.Unmarshal(e.Value, &book)
	if err != nil || e.Key != slotsKey {
		return
	}
	t.tell(ctx, func(t *term) {
		if e.Revision > t.slotsDoc.revision {
			t.slotsDoc = stored{e.Revision, string(e.Value), rest}
			t.picture.SetSlots(book)
		}
	})
}

// freeSlots gives back the places of a fleet that nobody looks after any more.
func freeSlots(ctx context.Context, s state.Store, name fleet.Name) error {
	for {
		e, err := s.Get(ctx, slotsKey)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var book fleet.Slots
		rest, err := lossless.Unmarshal(e.Value, &book)
		if err != nil {
			return fault.New(fault.Permanent, "engine.free-slots", slotsKey, err)
		}
		kept := slices.DeleteFunc(slices.Clone(book), func(x fleet.Slot) bool { return x.Machine.Fleet() == name })
		if len(kept) == len(book) {
			return nil
		}
		data, _, err := rest.Marshal(kept)
		if err != nil {
			return fault.New(fault.Invalid, "engine.free-slots", slotsKey, err)
		}
		_, err = s.Commit(ctx, state.Txn{If: []state.Compare{state.At(slotsKey, e.Revision)}, Then: []state.Write{state.Put(slotsKey, data)}})
		if !fault.Is(err, fault.Conflict) {
			return err
		}
	}
}
