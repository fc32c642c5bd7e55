package engine

import (
	"context"
	"time"

	"hale/internal/fleet"
	"hale/internal/inbox"
	"hale/internal/state"
)

// mailbox is what a term knows of its fleet's inbox.
type mailbox struct {
	revision int64                          // up to which it was read
	waiting  map[fleet.OrderID]inbox.Letter // told to the owner, and not taken up yet
}

// openInbox reads what was posted while the fleet had no owner.
func (t *term) openInbox(ctx context.Context) error {
	t.mail = mailbox{waiting: map[fleet.OrderID]inbox.Letter{}}
	if err := inbox.Trim(ctx, t.store, t.spec.Name); err != nil {
		t.log.Warn("old dead letters were not removed", "err", err)
	}
	return t.readInbox(ctx)
}

func (t *term) readInbox(ctx context.Context) error {
	letters, revision, err := inbox.Pending(ctx, t.store, t.spec.Name)
	if err != nil {
		return err
	}
	for _, l := range letters {
		t.receive(l)
	}
	t.mail.revision = revision
	return nil
}

// inboxPause is the wait before a broken watch of the inbox is taken up again.
const inboxPause = time.Second

// followInbox hands every letter that comes to the reigning goroutine, until ctx ends. A watch that breaks is followed
// by a reading of all that waits.
func (t *term) followInbox(ctx context.Context, after int64) {
	for ctx.Err() == nil {
		for l, err := range inbox.Follow(ctx, t.store, t.spec.Name, after) {
			if err != nil {
				t.log.Debug("the inbox could not be followed", "err", err)
				break
			}
			t.tell(ctx, func(t *term) { t.receive(l) })
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(inboxPause):
		}
		letters, revision, err := inbox.Pending(ctx, t.store, t.spec.Name)
		if err != nil {
			continue
		}
		after = revision
		t.tell(ctx, func(t *term) {
			for _, l := range letters {
				t.receive(l)
			}
		})
	}
}

// receive takes a letter in. The watch may tell of it once more, also when it is taken up.
func (t *term) receive(l inbox.Letter) {
	if l.Err == nil {
		if t.own.TellOrder(l.Order) {
			t.mail.waiting[l.Order.ID] = l
		}
		return
	}
	l.Order.ID = fleet.OrderID(l.Key) // whatever it says is not believed
	if t.own.TellVoid(l.Order.ID, l.Err.Error()) {
		t.log.Warn("a letter in the inbox is no order", "key", l.Key, "err", l.Err)
		t.mail.waiting[l.Order.ID] = l
	}
}

// settle adds to the transaction what takes the orders out of the inbox: each is there, and as it was read, or nothing
// is stored.
func (t *term) settle(txn *state.Txn, rulings []fleet.Ruling) error {
	for _, r := range rulings {
		l := t.mail.waiting[r.Order]
		still, gone := l.Taken()
		txn.If, txn.Then = append(txn.If, still), append(txn.Then, gone)
		if r.Refused == "" {
			continue
		}
		d := inbox.Dead{At: t.clock.now().Wall, Reason: r.Refused}
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
		delete(t.mail.waiting, r.Order)
	}
}
