package engine

import (
	"context"
	"slices"
	"time"

	"hale/internal/fleet"
	"hale/internal/inbox"
	"hale/internal/state"
)

// mailbox is what a term knows of its fleet's inbox.
type mailbox struct {
	revision int64                          // up to which it was read
	waiting  map[fleet.OrderID]inbox.Letter // told to the picture, and not taken up yet
	settled  map[fleet.OrderID]bool         // taken up in this term; the watch may still tell of them
	void     []inbox.Letter                 // that are no orders
}

// openInbox reads what was posted while nobody owned the fleet.
func (t *term) openInbox(ctx context.Context) error {
	t.mail = mailbox{waiting: map[fleet.OrderID]inbox.Letter{}, settled: map[fleet.OrderID]bool{}}
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

// followInbox hands every letter that comes to the reigning goroutine, until ctx ends. A watch that breaks is followed by a reading of
// all that waits.
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

// receive takes a letter in, once.
func (t *term) receive(l inbox.Letter) {
	if l.Err != nil {
		l.Order.ID = fleet.OrderID(l.Key) // whatever it says is not believed
	}
	if _, known := t.mail.waiting[l.Order.ID]; known || t.mail.settled[l.Order.ID] {
		return
	}
	t.mail.waiting[l.Order.ID] = l
	if l.Err == nil {
		t.picture.TellOrder(l.Order)
		return
	}
	t.log.Warn("a letter in the inbox is no order", "key", l.Key, "err", l.Err)
	t.mail.void = append(t.mail.void, l)
	t.picture.Stir()
}

// voidsAtOnce is how many letters that are no orders are put aside together, in one transaction.
const voidsAtOnce = 16

// voids returns the rulings on letters that are no orders, and the records that say so.
func (t *term) voids() ([]fleet.Ruling, []fleet.Record) {
	var rulings []fleet.Ruling
	var records []fleet.Record
	for _, l := range t.mail.void[:min(len(t.mail.void), voidsAtOnce)] {
		rulings = append(rulings, fleet.Ruling{Order: l.Order.ID, Refused: fleet.ReasonMalformed})
		records = append(records, t.about(fleet.Record{Kind: fleet.RecordOrder, Reason: fleet.ReasonMalformed, Detail: l.Err.Error()}))
	}
	return rulings, records
}

// settle adds to the transaction what takes the orders out of the inbox: each is there, and as it was read, or nothing is stored.
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
		t.mail.settled[r.Order] = true
		t.mail.void = slices.DeleteFunc(t.mail.void, func(l inbox.Letter) bool { return l.Order.ID == r.Order })
		t.picture.OrderSettled(r.Order)
	}
}
