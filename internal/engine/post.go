package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"hale/internal/defect"
	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/journal"
	"hale/internal/notify"
	"hale/internal/outbox"
	"hale/internal/state"
)

// Post is who takes messages, and how they are worded.
type Post struct {
	// Find returns the target as it is configured now; nil: there is none such.
	Find func(name fleet.TargetName) notify.Target
	// Words makes the message of a letter, from the journal of its incident.
	Words func(l outbox.Letter, story []fleet.Record) notify.Message
}

func (p Post) find(name fleet.TargetName) notify.Target {
	if p.Find == nil {
		return nil
	}
	return p.Find(name)
}

// PostStatus is how a fleet's messages stand.
type PostStatus struct {
	Waiting int       // messages that a target has not taken yet
	Since   time.Time // of the oldest
	Dead    int
	// Target is one that does not take messages at the moment, and Detail is what it said; empty: none is known.
	Target fleet.TargetName
	Detail string
}

// postbox is what waits to be told. It belongs to the reigning goroutine.
type postbox struct {
	letters []*letter // oldest first
	dead    []outbox.Kept[outbox.Dead]
	busy    map[fleet.TargetName]bool // a message is on its way there; one at a time
	tryAt   fleet.Instant             // when to try the store again; 0: now
	changed bool                      // since it was shown
	// tale is the journal as it was read last, for the stories of the letters that wait.
	tale []fleet.Record
}

// letter is one that waits.
type letter struct {
	stored  outbox.Kept[outbox.Letter]
	is      outbox.Letter // as it is, stored or not
	dead    []outbox.Dead // that came of it, and are not stored yet
	records []fleet.Record
}

func (l *letter) settled() bool {
	return len(l.records) == 0 && slices.Equal(l.stored.Value.Sendings, l.is.Sendings)
}

// loadPost reads what waits from earlier terms, and what somebody took back from the dead letters.
func (t *term) loadPost(ctx context.Context) error {
	waiting, err := outbox.Waiting(ctx, t.store, t.spec.Name)
	if err != nil {
		return err
	}
	if t.box.dead, err = outbox.DeadLetters(ctx, t.store, t.spec.Name); err != nil {
		return err
	}
	if t.box.busy == nil {
		t.box.busy = make(map[fleet.TargetName]bool)
	}
	for _, k := range waiting {
		if !slices.ContainsFunc(t.box.letters, func(l *letter) bool { return l.stored.Key == k.Key }) {
			t.box.letters = append(t.box.letters, &letter{stored: k, is: k.Value})
		}
	}
	t.box.changed = true
	return nil
}

// enclosed are letters, and what puts them in.
type enclosed struct {
	letters []outbox.Kept[outbox.Letter]
	state.Txn
}

// enclose returns a letter for each record that is one, with the claims of those that are told for several fleets.
func (t *term) enclose(ctx context.Context, records []fleet.Record) (enclosed, error) {
	var e enclosed
	for _, r := range records {
		l, ok := outbox.Compose(&t.spec, t.installation, t.start.Nonce, r)
		if _, over := aboutProvider(&r); !ok && !over {
			continue
		}
		l, claims, err := t.share(ctx, l)
		if err != nil {
			return enclosed{}, err
		}
		e.If, e.Then = append(e.If, claims.If...), append(e.Then, claims.Then...)
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

// posted takes over the letters that a transaction put in.
func (t *term) posted(letters []outbox.Kept[outbox.Letter], revision int64) {
	for _, k := range letters {
		k.Revision = revision
		t.box.letters = append(t.box.letters, &letter{stored: k, is: k.Value})
		t.box.changed = true
	}
}

// post writes down what became of messages, and sends those that are due.
func (t *term) post(ctx context.Context) error {
	now := t.clock.now()
	t.crowd(now.Wall)
	for _, l := range t.box.letters {
		t.tryLetter(ctx, l, now.Wall)
	}
	if err := t.settlePost(ctx, now); err != nil {
		return err
	}
	if len(t.box.letters) == 0 {
		t.box.tale = nil
	}
	if t.box.changed {
		t.box.changed = false
		t.publish(now)
	}
	return nil
}

// crowd gives up the oldest letters when too many wait.
func (t *term) crowd(now time.Time) {
	for i := range max(0, len(t.box.letters)-outbox.MaxWaiting) {
		l := t.box.letters[i]
		for _, s := range l.is.Sendings {
			t.giveUp(l, s.Target, fleet.ReasonOutboxFull, now)
		}
	}
}

func (t *term) giveUp(l *letter, target fleet.TargetName, why fleet.Reason, now time.Time) {
	is, rec, dead := l.is.GiveUp(target, why, now)
	t.became(l, is, rec, dead)
}

// became notes what a letter is from now on, and what came of it.
func (t *term) became(l *letter, is outbox.Letter, rec fleet.Record, dead *outbox.Dead) {
	l.is = is
	if rec.Kind != "" {
		l.records = append(l.records, t.own.About(t.clock.now(), rec))
	}
	if dead != nil {
		l.dead = append(l.dead, *dead)
	}
}

// tryLetter sends a letter on each of its ways that is due and free.
func (t *term) tryLetter(ctx context.Context, l *letter, now time.Time) {
	for _, s := range l.is.Sendings {
		policy, known := t.recipient(s.Target)
		target := t.tells.find(s.Target)
		switch {
		case t.box.busy[s.Target]:
		case !known:
			t.giveUp(l, s.Target, fleet.ReasonTargetGone, now)
		case now.Before(s.DueAt(now)):
		case target == nil:
			is, rec, dead := l.is.After(s.Target, policy, outbox.Outcome{Refused: true, Detail: "there is no such target"}, now)
			t.became(l, is, rec, dead)
		default:
			t.box.busy[s.Target] = true
			t.deliver(ctx, l, target, policy)
		}
	}
}

func (t *term) recipient(name fleet.TargetName) (fleet.Recipient, bool) {
	for _, r := range t.spec.Notify.To {
		if r.Target == name {
			return r, true
		}
	}
	return fleet.Recipient{}, false
}

// sendLimit bounds one try, beyond what the targets themselves allow.
const sendLimit = 6 * time.Minute

// deliver tries the letter once. How it went comes back as news.
func (t *term) deliver(ctx context.Context, l *letter, target notify.Target, policy fleet.Recipient) {
	is, tale := l.is, t.box.tale
	told := func(o outbox.Outcome, tale []fleet.Record) news {
		return func(t *term) {
			delete(t.box.busy, policy.Target)
			t.box.tale = tale
			is, rec, dead := l.is.After(policy.Target, policy, o, t.clock.now().Wall)
			t.became(l, is, rec, dead)
		}
	}
	t.apart(ctx, "tell "+string(policy.Target), func() news {
		tale = t.recall(ctx, is.Record, tale)
		sctx, cancel := context.WithTimeout(ctx, sendLimit)
		defer cancel()
		_, err := target.Send(sctx, t.tells.Words(is, storyOf(is.Record, tale)))
		o := outbox.Outcome{Taken: err == nil}
		if err != nil {
			o = outbox.Outcome{Refused: notify.Refused(err), Later: notify.Later(err), Detail: notify.Why(err)}
		}
		return told(o, tale)
	}, func(p *defect.Panic) news { return told(outbox.Outcome{Detail: p.Error()}, nil) })
}

// recall returns the journal at least up to the record, as far as it can be read.
func (t *term) recall(ctx context.Context, upTo fleet.Record, tale []fleet.Record) []fleet.Record {
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

// longestStory is as much of the past as a message has, in records.
const longestStory = 40

// storyOf returns what happened in the record's incident before it, oldest first.
func storyOf(r fleet.Record, tale []fleet.Record) []fleet.Record {
	var story []fleet.Record
	for _, past := range slices.Backward(tale) {
		same := r.Incident != "" && past.Incident == r.Incident || r.Incident == "" && r.Parent != "" && past.Parent == r.Parent
		if past.Seq < r.Seq && same && len(story) < longestStory {
			story = append(story, past)
		}
	}
	slices.Reverse(story)
	return story
}

// settlePost writes down what became of messages.
func (t *term) settlePost(ctx context.Context, now fleet.Now) error {
	if t.box.tryAt != 0 && !now.Due(t.box.tryAt) {
		return nil
	}
	for _, l := range t.box.letters {
		if l.settled() {
			continue
		}
		t.box.changed = true
		err := t.settleLetter(ctx, l)
		if fault.Is(err, fault.NoSpace) { // what was taken is not sent again in this term, and written down later
			t.box.tryAt = now.Mono + storePause
			return nil
		}
		if err != nil {
			return err
		}
	}
	t.box.tryAt = 0
	t.box.letters = slices.DeleteFunc(t.box.letters, func(l *letter) bool { return l.settled() && len(l.is.Sendings) == 0 })
	return nil
}

// settleLetter writes one letter, its dead letters and its records in one transaction that also compares the owner's lease.
func (t *term) settleLetter(ctx context.Context, l *letter) error {
	txn, err := outbox.Change(l.stored, l.is, l.dead)
	if err != nil {
		return err
	}
	txn.If = append(txn.If, state.Held(ownerKey(t.spec.Name), t.ownerRev, t.lease.ID()))
	records, err := t.book.Writes(l.records)
	if err != nil {
		return err
	}
	txn.Then = append(txn.Then, records...)
	forgotten := outbox.Expired(t.box.dead, t.clock.now().Wall)
	forgotten = forgotten[:min(len(forgotten), state.MaxOps-len(txn.Then))]
	txn.Then = append(txn.Then, forgotten...)
	rev, err := t.store.Commit(ctx, txn)
	if err != nil {
		return err
	}
	t.book.Advance(l.records)
	t.box.dead = t.box.dead[len(forgotten):]
	for _, d := range l.dead {
		t.box.dead = append(t.box.dead, outbox.Kept[outbox.Dead]{Key: outbox.DeadKey(d), Revision: rev, Value: d})
	}
	for _, r := range l.records {
		if r.Kind == fleet.RecordUndelivered {
			t.log.Error("a message was given up; hale notify dead shows it", "target", r.Target, "reason", r.Reason, "err", r.Detail)
		}
	}
	l.stored.Revision, l.stored.Value, l.dead, l.records = rev, l.is, nil, nil
	return nil
}

// status says how the messages stand.
func (b *postbox) status() PostStatus {
	s := PostStatus{Waiting: len(b.letters), Dead: len(b.dead)}
	for _, l := range b.letters {
		if s.Since.IsZero() || l.is.Since.Before(s.Since) {
			s.Since = l.is.Since
		}
		for _, w := range l.is.Sendings {
			if w.Tries > 0 && s.Target == "" {
				s.Target, s.Detail = w.Target, strings.TrimSpace(w.Detail)
			}
		}
	}
	return s
}
