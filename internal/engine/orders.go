package engine

import (
	"context"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/engine/process"
	"hale/internal/state"
	"hale/internal/state/inbox"
)

// openInbox reads what was posted while the fleet had no owner.
func (t *term) openInbox(ctx context.Context) error {
	t.letters = map[fleet.OrderID]inbox.Letter{}
	if err := inbox.Trim(ctx, t.store, t.spec.Name); err != nil {
		t.log.Warn("old dead letters were not removed", "err", err)
	}
	letters, _, err := inbox.Pending(ctx, t.store, t.spec.Name)
	for _, l := range letters {
		t.receive(l)
	}
	return err
}

// followPause is the wait before a broken watch is taken up again.
const followPause = time.Second

// follow has a part of the store read and watched, each time until the watch breaks, until ctx ends.
func (t *term) follow(ctx context.Context, once func(context.Context) error) {
	t.wg.Go(func() {
		t.defects.Keep(ctx, t.place(), func(ctx context.Context) {
			for ctx.Err() == nil {
				if err := once(ctx); err != nil {
					t.log.Debug("the store could not be followed", "err", err)
				}
				_ = process.Rest(ctx, followPause)
			}
		})
	})
}

// followInbox hands every letter to the reigning goroutine, until the watch breaks.
func (t *term) followInbox(ctx context.Context) error {
	letters, after, err := inbox.Pending(ctx, t.store, t.spec.Name)
	if err != nil {
		return err
	}
	t.tell(ctx, func(t *term) {
		for _, l := range letters {
			t.receive(l)
		}
	})
	for l, err := range inbox.Follow(ctx, t.store, t.spec.Name, after) {
		if err != nil {
			return err
		}
		t.tell(ctx, func(t *term) { t.receive(l) })
	}
	return nil
}

// receive takes a letter in. The watch may tell of it once more, also when it is taken up.
func (t *term) receive(l inbox.Letter) {
	if l.Err == nil {
		if t.own.TellOrder(l.Order) {
			t.letters[l.Order.ID] = l
		}
		return
	}
	l.Order.ID = fleet.OrderID(l.Key) // whatever it says is not believed
	if t.own.TellVoid(l.Order.ID, l.Err.Error()) {
		t.log.Warn("a letter in the inbox is no order", "key", l.Key, "err", l.Err)
		t.letters[l.Order.ID] = l
	}
}

// settle adds to the transaction what takes the orders out of the inbox: each is there, and as it was read, or nothing
// is stored.
func (t *term) settle(txn *state.Txn, rulings []fleet.Ruling) error {
	for _, r := range rulings {
		l := t.letters[r.Order]
		still, gone := l.Taken()
		txn.If, txn.Then = append(txn.If, still), append(txn.Then, gone)
		if r.Refused == "" {
			continue
		}
		d := inbox.Dead{At: t.clock.Now().Wall, Reason: r.Refused}
		if l.Err != nil {
			d.Detail = l.Err.Error()
		}
		grave, err := l.Bury(d)
		if err != nil {
			return err
		}
		txn.Then = append(txn.Then, grave)
	}
	return nil
}

// settled forgets orders that were taken out of the inbox.
func (t *term) settled(rulings []fleet.Ruling) {
	for _, r := range rulings {
		delete(t.letters, r.Order)
	}
}
