package engine

import (
	"context"
	"slices"
	"time"

	"hale/internal/decide"
	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/outbox"
	"hale/internal/starts"
	"hale/internal/state"

	"github.com/google/uuid"
)

func freshID() fleet.InstanceID { return fleet.InstanceID(uuid.NewString()) }

// adopt stores a decision, and lets what follows from it happen.
func (t *term) adopt(ctx context.Context, d decide.Decision) error {
	if err := t.adoptWhole(ctx, d); err != nil {
		return err
	}
	return t.adoptAll(ctx, d.Machines)
}

// adoptWhole stores what is about the fleet as a whole: the brake, parents and doubts, and what the owner itself has to say.
func (t *term) adoptWhole(ctx context.Context, d decide.Decision) error {
	rulings, records := t.voids()
	rulings = append(rulings, d.Orders...)
	records = append(append(records, t.pending...), d.Records...)
	if d.Brake == t.picture.Brake() && d.Whole.Equal(t.picture.Whole()) && len(records) == 0 && len(rulings) == 0 {
		return nil
	}
	docs := []document{{brakeKey(t.spec.Name), d.Brake, &t.brakeDoc}, {wholeKey(t.spec.Name), d.Whole, &t.wholeDoc}}
	b := batch{docs: docs, records: records, rulings: rulings}
	for _, name := range d.Believed {
		b.notings = append(b.notings, starts.Noting(t.sentinel.src.Name, name))
	}
	if err := t.write(ctx, b); err != nil {
		return err
	}
	if d.Believes {
		t.sentinel.roll.believe(d.Believed, t.spec.Mode == fleet.ModeAct && t.spec.Rolled())
	}
	t.picture.AdoptBrake(d.Brake)
	t.picture.AdoptWhole(d.Whole, t.clock.now())
	t.pending = nil // before makeRoom, which may have more to say
	t.makeRoom()
	t.toldDefects()
	return nil
}

// makeRoom takes note of machines that are new to the picture, and of what it has to say.
func (t *term) makeRoom() {
	for len(t.docs) < t.picture.Len() {
		t.docs = append(t.docs, stored{})
	}
	for _, rec := range t.picture.News() {
		t.pending = append(t.pending, t.about(rec))
	}
}

func (t *term) adoptMachine(ctx context.Context, m decide.Machine) error {
	taken, err := t.storeMachine(ctx, m)
	if err != nil || !taken {
		return err
	}
	t.picture.Adopt(m)
	for _, a := range m.Actions {
		t.perform(ctx, m.Index, a)
	}
	return nil
}

// document is one value to be stored under its key, guarded by what is believed to be there.
type document struct {
	key   string
	value any
	was   *stored
}

// batch is what is stored together.
type batch struct {
	docs    []document
	records []fleet.Record
	rulings []fleet.Ruling // on orders from which it follows: they leave the inbox
	notings []state.Write  // of starts that the store knows from now on
}

// write stores a batch in one transaction that also compares the owner's lease. What is unchanged is not written.
func (t *term) write(ctx context.Context, b batch) error {
	txn := state.Txn{If: []state.Compare{state.Held(ownerKey(t.spec.Name), t.ownerRev, t.lease.ID())}}
	fresh := make([]stored, len(b.docs))
	for i, d := range b.docs {
		data, rest, err := d.was.rest.Marshal(d.value)
		if err != nil {
			return fault.New(fault.Invalid, "engine.write", d.key, err)
		}
		if fresh[i] = (stored{value: string(data), rest: rest}); fresh[i].value == d.was.value {
			continue
		}
		txn.If = append(txn.If, state.At(d.key, d.was.revision))
		txn.Then = append(txn.Then, state.Put(d.key, data))
	}
	writes, err := t.book.Writes(b.records)
	if err != nil {
		return err
	}
	txn.Then = append(append(txn.Then, writes...), b.notings...)
	if err := t.settle(&txn, b.rulings); err != nil {
		return err
	}
	letters, rev, err := t.commit(ctx, txn, b.records)
	if err != nil || rev == 0 {
		return err
	}
	t.book.Advance(b.records)
	t.settled(b.rulings)
	t.posted(letters, rev)
	for i, d := range b.docs {
		if fresh[i].value != d.was.value {
			fresh[i].revision = rev
			*d.was = fresh[i]
		}
	}
	return nil
}

// mostClaims is how often a transaction is made anew because another fleet told people first.
const mostClaims = 8

// commit does the transaction together with the letters of the records, and returns them. 0: there was nothing to do.
func (t *term) commit(ctx context.Context, txn state.Txn, records []fleet.Record) ([]outbox.Kept[outbox.Letter], int64, error) {
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
			return nil, 0, fault.New(fault.Conflict, "engine.write", whole.Subject(), nil) // it was not about the claims
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

// storePause is the wait before a full store is tried again.
const storePause = 1_000_000_000 // one second, in Instants

// sufferStore deals with a store that did not take a decision: a full one is waited for, with the evidence kept; any other
// trouble ends the term, so that everything is read and judged afresh.
func (t *term) sufferStore(now fleet.Now, err error) (fleet.Instant, error) {
	if !fault.Is(err, fault.NoSpace) {
		return 0, err
	}
	if t.picture.Acting() != fleet.ReasonStoreFull {
		t.log.Error("the store is full: not acting until there is space", "err", err)
		t.idle = now.Wall
	}
	t.picture.SetActing(fleet.ReasonStoreFull)
	t.trouble = fault.Plain(err)
	t.tryAt = now.Mono + storePause
	t.next = t.tryAt
	t.foresee(now)
	t.publish(now)
	return t.tryAt, nil
}

// tryStore writes a sign of life to see whether the store has space again.
func (t *term) tryStore(ctx context.Context, now fleet.Now) error {
	if !now.Due(t.tryAt) {
		return nil
	}
	rec := t.about(fleet.Record{Kind: fleet.RecordOwner, Reason: fleet.ReasonActing, Detail: string(fleet.ReasonStoreFull)})
	var was stored
	if e, err := t.store.Get(ctx, aliveKey(t.spec.Name)); err == nil {
		was.revision = e.Revision
	}
	err := t.write(ctx, batch{docs: []document{{aliveKey(t.spec.Name), now.Wall, &was}}, records: []fleet.Record{rec}})
	if err != nil {
		_, err = t.sufferStore(now, err)
		return err
	}
	t.log.Info("the store has space again: acting")
	t.picture.SetActing("")
	t.trouble, t.idle, t.foreseen = "", time.Time{}, nil
	return nil
}

// foresee judges the machines by what is known now, although nothing of it can be written down, and so nothing follows
// from it: people see how they stand, and not how they stood when the store took something last.
func (t *term) foresee(now fleet.Now) {
	was := t.foreseen
	t.foreseen = make(map[int]fleet.Health)
	for _, m := range t.decider.Decide(t.picture.Snapshot(now)).Machines {
		is := m.Belief.Health
		if old, ok := was[m.Index]; ok && old.Verdict == is.Verdict && old.Cause == is.Cause {
			is.Since, is.SinceMono = old.Since, old.SinceMono
		}
		if stored := t.picture.View(m.Index).Machine.Health; stored != is {
			t.foreseen[m.Index] = is
		}
	}
}

// about completes a record about the fleet.
func (t *term) about(r fleet.Record) fleet.Record {
	r.At, r.Fleet, r.Provider = t.clock.now().Wall, t.spec.Name, t.spec.Provider
	return r
}
