package engine

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/defect"
	"hale/internal/engine/notes"
	"hale/internal/owner"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/journal"
	"hale/internal/state/outbox"
	"hale/internal/state/starts"
)

func freshID() fleet.InstanceID { return fleet.InstanceID(uuid.NewString()) }

// storeAll stores what was decided, and lets what follows from it happen.
func (t *term) storeAll(ctx context.Context, now fleet.Now) error {
	for {
		t.docs = append(t.docs, make([]stored, t.own.Len()-len(t.docs))...)
		w, ok := t.own.Ready(now)
		if !ok {
			return nil
		}
		err := t.write(ctx, w)
		if w.Slots != nil && fault.Is(err, fault.Conflict) {
			was := t.slotsDoc.revision
			book, read := t.readSlots(ctx)
			if read != nil {
				return read
			}
			if t.slotsDoc.revision != was { // else it was not the book
				t.own.Overtaken(book)
				continue
			}
		}
		if err != nil {
			return err
		}
		for _, b := range t.own.Stored(t.clock.Now()) {
			t.perform(ctx, b.Index, b.Action)
		}
		if w.Fleet {
			t.telling.Stored()
		}
		if w.Alive {
			t.log.Info("the store has space again: acting")
			t.trouble, t.idle, t.foreseen = "", time.Time{}, nil
		}
		if w.Believes {
			t.poller.Roll.Believe(w.Believed, notes.Builds(t.spec.Mode == policy.ModeAct && t.spec.Rolled()))
		}
	}
}

// document is one value to be stored under its key, guarded by what is believed to be there.
type document struct {
	key   string
	value any
	was   *stored
}

// documents are the values of a write, with the keys under which they are stored.
func (t *term) documents(ctx context.Context, w *owner.Write) []document {
	var docs []document
	if w.Fleet {
		docs = append(docs, document{beliefs.BrakeKey(t.spec.Name), w.Brake, &t.brakeDoc},
			document{beliefs.WholeKey(t.spec.Name), w.Whole, &t.wholeDoc})
	}
	for i := range w.Machines {
		m := &w.Machines[i]
		docs = append(docs, document{beliefs.MachineKey(m.Belief.Name), &m.Belief, &t.docs[m.Index]})
	}
	if w.Slots != nil {
		docs = append(docs, document{beliefs.SlotsKey, *w.Slots, &t.slotsDoc})
	}
	if w.Alive {
		var was stored
		if e, err := t.store.Get(ctx, beliefs.AliveKey(t.spec.Name)); err == nil {
			was.revision = e.Revision
		}
		docs = append(docs, document{beliefs.AliveKey(t.spec.Name), t.clock.Now().Wall, &was})
	}
	return docs
}

// mostRecords is how many records go into one transaction beside what they are about. Each may bring a message along.
const mostRecords = 32

// write stores what is to be stored together. When a hundred hosts go at once, most of the records go before the rest:
// killed in between, hale tells something twice, and not never.
func (t *term) write(ctx context.Context, w owner.Write) error {
	for w.Fleet && len(w.Records) > mostRecords {
		if err := t.writeTogether(ctx, owner.Write{Records: w.Records[:mostRecords]}); err != nil {
			return err
		}
		w.Records = w.Records[mostRecords:]
	}
	return t.writeTogether(ctx, w)
}

// writeTogether stores it in one transaction that also compares the owner's lease. What is unchanged is not written.
func (t *term) writeTogether(ctx context.Context, w owner.Write) error {
	for i := range w.Records {
		if err := w.Records[i].Valid(); err != nil {
			t.defects.Note(t.place(), "a record", &defect.Panic{Value: err.Error()})
		}
	}
	docs := t.documents(ctx, &w)
	txn := state.Txn{If: []state.Compare{state.Held(beliefs.OwnerKey(t.spec.Name), t.ownerRev, t.lease.ID())}}
	fresh := make([]stored, len(docs))
	for i, d := range docs {
		data, rest, err := d.was.rest.Marshal(d.value)
		if err != nil {
			return fault.New(fault.Invalid, "engine.write", d.key, err)
		}
		if fresh[i] = (stored{value: digestOf(data), rest: rest}); fresh[i].value == d.was.value {
			continue
		}
		txn.If = append(txn.If, state.At(d.key, d.was.revision))
		txn.Then = append(txn.Then, state.Put(d.key, data))
	}
	writes, err := t.book.Writes(w.Records, t.keep())
	if err != nil {
		return err
	}
	txn.Then = append(txn.Then, writes...)
	for _, name := range w.Believed {
		txn.Then = append(txn.Then, starts.Noting(t.poller.Source.Name, name))
	}
	if err := t.settle(&txn, w.Rulings); err != nil {
		return err
	}
	letters, rev, err := t.commit(ctx, txn, w.Records)
	if err != nil || rev == 0 {
		return err
	}
	t.wrote = rev
	t.book.Advance(w.Records)
	t.settled(w.Rulings)
	t.box.Posted(letters, rev)
	for i, d := range docs {
		if fresh[i].value != d.was.value {
			fresh[i].revision = rev
			*d.was = fresh[i]
		}
	}
	return nil
}

// keep says which of the fleet's records are kept.
func (t *term) keep() journal.Keep {
	return journal.Keep{Now: t.clock.Now().Wall, For: t.spec.History, Bytes: journal.Share(t.fleets())}
}

// fade removes the records that have outlived their time, where nothing new is written that would do it.
func (t *term) fade(ctx context.Context) error {
	if keep := t.keep(); !t.book.Overdue(keep) {
		return nil
	}
	return t.write(ctx, owner.Write{})
}

// mostClaims is how often a transaction is made anew because another fleet told people first.
const mostClaims = 8

// commit does the transaction together with the letters of the records, and returns them. 0: there was nothing to do.
func (t *term) commit(ctx context.Context, txn state.Txn, records []record.Record) ([]outbox.Stored[outbox.Letter],
	int64,
	error) {
	var tried []state.Compare
	for n := 0; ; n++ {
		e, err := t.enclose(ctx, records)
		if err != nil {
			return nil, 0, err
		}
		whole := state.Txn{If: slices.Concat(txn.If, e.If), Then: slices.Concat(txn.Then, e.Then)}
		if len(whole.Then) == 0 {
			return nil, 0, nil
		}
		if n > 0 && slices.Equal(e.If, tried) {
			// it was not about the claims
			return nil, 0, fault.New(fault.Conflict, "engine.write", whole.Subject(), nil)
		}
		rev, err := t.store.Commit(ctx, whole)
		if err == nil {
			return e.letters, rev, nil
		}
		if !fault.Is(err, fault.Conflict) || len(e.If) == 0 || n == mostClaims {
			return nil, 0, err
		}
		tried = e.If
	}
}

// storePause is the wait before a full store is tried again with messages, a second in Instants.
const storePause = 1_000_000_000

// refused returns when to try again, since the store did not take what was decided, or the error that ends the term.
// While the store has no space, people see how things stand, and nothing is done.
func (t *term) refused(now fleet.Now, err error) (fleet.Instant, error) {
	acted := t.own.State().Acting != fleet.ReasonStoreFull
	if !t.own.Refused(err, now) {
		return 0, err
	}
	if acted {
		t.log.Error("the store is full: not acting until there is space", "err", fault.Plain(err))
		t.idle = now.Wall
	}
	t.trouble = fault.Plain(err)
	t.foresee(now)
	t.publish(now)
	return t.own.Next(), nil
}

// foresee keeps how the machines stand as far as it cannot be written down.
func (t *term) foresee(now fleet.Now) {
	was := t.foreseen
	t.foreseen = make(map[int]belief.Health)
	for _, m := range t.own.Foresee(now) {
		is := m.Belief.Health
		if old, ok := was[m.Index]; ok && old.Verdict == is.Verdict && old.Cause == is.Cause {
			is.Since, is.SinceMono = old.Since, old.SinceMono
		}
		if stored := t.own.View(m.Index).Machine.Health; stored != is {
			t.foreseen[m.Index] = is
		}
	}
}

// together returns how many of the beliefs, from the first on, fit into one transaction.
func (t *term) together(all []round.Decided) int {
	const (
		ofOne    = 1                      // its document
		reserved = 1 + journal.MostRanges // the lease, and what the journal lets go
		ofText   = 4 << 10
	)
	room, bytes := state.MaxOps-reserved, state.MaxBytes/2 // a document may have grown
	for n := range all {
		m := &all[n]
		room -= ofOne + t.book.Takes(m.Records)
		for i := range m.Records {
			if _, tells := m.Records[i].Notifies(); tells {
				room--
			}
		}
		bytes -= t.docs[m.Index].value.size + ofText*(ofOne+len(m.Records))
		if room < 0 || bytes < 0 {
			return n
		}
	}
	return len(all)
}
