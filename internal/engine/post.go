package engine

import (
	"context"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/engine/dedup"
	"hale/internal/notify"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/journal"
	"hale/internal/state/outbox"
)

// Post is who takes messages, and how they are worded.
type Post struct {
	// Find returns the target as it is configured now; nil: there is none such.
	Find func(name policy.TargetName) notify.Target
	// Words makes the message of a letter, from the journal of its incident.
	Words func(l outbox.Letter, story []record.Record) notify.Message
}

func (p Post) find(name policy.TargetName) notify.Target {
	if p.Find == nil {
		return nil
	}
	return p.Find(name)
}

// loadPost reads what waits from earlier terms, and what a person took back from the dead letters.
func (t *term) loadPost(ctx context.Context) error {
	waiting, err := outbox.Waiting(ctx, t.store, t.spec.Name)
	if err != nil {
		return err
	}
	dead, err := outbox.DeadLetters(ctx, t.store, t.spec.Name)
	if err != nil {
		return err
	}
	t.box.Load(waiting, dead)
	return nil
}

// pages are those that other fleets may have told people already.
func (t *term) pages() dedup.Pages {
	return dedup.Pages{Store: t.store, Spec: &t.spec, Fellows: t.fellows}
}

// enclosed are letters, and what puts them in.
type enclosed struct {
	letters []outbox.Stored[outbox.Letter]
	state.Txn
}

// enclose returns a letter for each record that is one, with the claims of those that are told for several fleets.
func (t *term) enclose(ctx context.Context, records []record.Record) (enclosed, error) {
	var e enclosed
	for _, r := range records {
		l, ok := outbox.Compose(&t.spec, t.installation, t.start.Nonce, r)
		c, several := t.pages().InCommon(&r)
		if !ok && !c.Over {
			continue
		}
		if several {
			var claims state.Txn
			var err error
			if l, claims, err = t.pages().Share(ctx, l, c); err != nil {
				return enclosed{}, err
			}
			e.If, e.Then = append(e.If, claims.If...), append(e.Then, claims.Then...)
		}
		if len(l.Sendings) == 0 {
			continue
		}
		k, w, err := outbox.Posting(l)
		if err != nil {
			return enclosed{}, err
		}
		e.letters, e.Then = append(e.letters, k), append(e.Then, w)
	}
	return e, nil
}

// post sends the messages that are due, and writes down what became of those that were sent.
func (t *term) post(ctx context.Context) error {
	now := t.clock.Now()
	exists := func(name policy.TargetName) bool { return t.tells.find(name) != nil }
	for _, d := range t.box.Due(now, t.spec.Notify.To, exists) {
		t.deliver(ctx, d)
	}
	if err := t.settlePost(ctx, now); err != nil {
		return err
	}
	if t.box.Empty() {
		t.tale = nil
	}
	if t.box.Changed() {
		t.publish(now)
	}
	return nil
}

// sendLimit bounds one try, beyond what the targets themselves allow.
const sendLimit = 6 * time.Minute

// deliver tries the letter once. How it went comes back as news.
func (t *term) deliver(ctx context.Context, d outbox.Delivery) {
	target, tale := t.tells.find(d.To.Target), t.tale
	told := func(o outbox.Outcome, tale []record.Record) news {
		return func(t *term) {
			t.tale = tale
			t.box.Told(d, o, t.clock.Now())
		}
	}
	t.apart(ctx, "tell "+string(d.To.Target), func() news {
		tale = t.recall(ctx, d.Letter.Record, tale)
		sctx, cancel := context.WithTimeout(ctx, sendLimit)
		defer cancel()
		_, err := target.Send(sctx, t.tells.Words(d.Letter, outbox.Story(d.Letter.Record, tale)))
		o := outbox.Outcome{Taken: err == nil}
		if err != nil {
			o = outbox.Outcome{Refused: notify.Refused(err), Later: notify.Later(err), Detail: notify.Why(err)}
		}
		return told(o, tale)
	}, func(p *defect.Panic) news { return told(outbox.Outcome{Detail: p.Error()}, nil) })
}

// recall returns the journal at least up to the record, as far as it can be read.
func (t *term) recall(ctx context.Context, upTo record.Record, tale []record.Record) []record.Record {
	if n := len(tale); n > 0 && tale[n-1].Seq >= upTo.Seq || upTo.Incident == "" && upTo.Parent == "" {
		return tale
	}
	records, _, err := journal.Read(ctx, t.store, t.spec.Name)
	if err != nil {
		t.log.Warn("a message goes out without its story", "err", err)
		return tale
	}
	return records
}

// settlePost writes down what became of messages.
func (t *term) settlePost(ctx context.Context, now fleet.Now) error {
	for {
		s, some, err := t.box.Unsettled(now)
		if err != nil || !some {
			return err
		}
		err = t.settleLetter(ctx, s)
		if fault.Is(err, fault.NoSpace) {
			t.box.Full(now, storePause)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// settleLetter writes one letter, its dead letters and its records in one transaction that also compares the owner's
// lease.
func (t *term) settleLetter(ctx context.Context, s outbox.Settlement) error {
	txn := s.Txn
	txn.If = append(txn.If, state.Held(beliefs.OwnerKey(t.spec.Name), t.ownerRev, t.lease.ID()))
	records, err := t.book.Writes(s.Records, t.keep())
	if err != nil {
		return err
	}
	txn.Then = append(txn.Then, records...)
	forgotten := t.box.Forgettable(t.clock.Now().Wall, state.MaxOps-len(txn.Then))
	txn.Then = append(txn.Then, forgotten...)
	rev, err := t.store.Commit(ctx, txn)
	if err != nil {
		return err
	}
	t.wrote = rev
	t.book.Advance(s.Records)
	t.box.Settled(s, len(forgotten), rev)
	for _, r := range s.Records {
		if r.Kind == record.Undelivered {
			t.log.Error("a message was given up; hale notify dead shows it", "target", r.Target, "reason", r.Reason,
				"err", r.Detail)
		}
	}
	return nil
}
