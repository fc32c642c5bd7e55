package outbox

import (
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/state"
)

// Box is what one fleet has to tell, from the record that is stored to the answer of each target. It sends and writes
// nothing itself: Due returns what is to be sent, Told takes in how that ended, Unsettled returns what is to be
// written, and Settled takes note that it is. Not safe for concurrent use.
type Box struct {
	about   func(fleet.Now, record.Record) record.Record // completes a record about the fleet
	waiting []*entry                                     // oldest first
	dead    []Stored[Dead]
	busy    map[policy.TargetName]bool // a message is on its way there; one at a time
	tryAt   fleet.Instant              // when to try a full store again; 0: now
	changed bool                       // since it was shown
}

// entry is a letter that waits.
type entry struct {
	stored  Stored[Letter]
	is      Letter // as it is, stored or not
	dead    []Dead // that came of it, and are not stored yet
	records []record.Record
}

func (e *entry) settled() bool {
	return len(e.records) == 0 && slices.Equal(e.stored.Value.Sendings, e.is.Sendings)
}

// Delivery is one try to tell a target.
type Delivery struct {
	Letter Letter
	To     policy.Recipient
	entry  *entry
}

// Settlement is what is to be written of one letter, together with Records, in a transaction that also compares the
// owner's lease.
type Settlement struct {
	state.Txn
	Records []record.Record
	entry   *entry
}

// Standing is how a fleet's messages stand.
type Standing struct {
	Waiting int       // messages that a target has not taken yet
	Since   time.Time // of the oldest
	Dead    int
	// Target is one that does not take messages at the moment, and Detail is what it said; empty: none is known.
	Target policy.TargetName
	Detail string
}

// NewBox returns an empty one. about completes a record about the fleet.
func NewBox(about func(fleet.Now, record.Record) record.Record) *Box {
	return &Box{about: about, busy: make(map[policy.TargetName]bool)}
}

// Load takes over what the store has: letters of earlier terms, and what a person took back from the dead ones.
func (b *Box) Load(waiting []Stored[Letter], dead []Stored[Dead]) {
	b.dead = dead
	for _, k := range waiting {
		if !slices.ContainsFunc(b.waiting, func(e *entry) bool { return e.stored.Key == k.Key }) {
			b.waiting = append(b.waiting, &entry{stored: k, is: k.Value})
		}
	}
	b.changed = true
}

// Posted takes over the letters that a transaction of the revision put in.
func (b *Box) Posted(letters []Stored[Letter], revision int64) {
	for _, k := range letters {
		k.Revision = revision
		b.waiting = append(b.waiting, &entry{stored: k, is: k.Value})
		b.changed = true
	}
}

// Due returns the tries that are due, one per target, and gives up what has no way any more: letters beyond MaxWaiting,
// and those to targets that are not among the recipients. To a target that does not exist a try has failed already.
func (b *Box) Due(now fleet.Now, to []policy.Recipient, exists func(policy.TargetName) bool) []Delivery {
	for _, e := range b.waiting[:max(0, len(b.waiting)-MaxWaiting)] {
		for _, s := range e.is.Sendings {
			b.giveUp(e, s.Target, fleet.ReasonOutboxFull, now)
		}
	}
	var due []Delivery
	for _, e := range b.waiting {
		for _, s := range e.is.Sendings {
			i := slices.IndexFunc(to, func(r policy.Recipient) bool { return r.Target == s.Target })
			switch {
			case b.busy[s.Target]:
			case i < 0:
				b.giveUp(e, s.Target, fleet.ReasonTargetGone, now)
			case now.Wall.Before(s.DueAt(now.Wall)):
			case !exists(s.Target):
				b.after(e, to[i], Outcome{Refused: true, Detail: "there is no such target"}, now)
			default:
				b.busy[s.Target] = true
				due = append(due, Delivery{Letter: e.is, To: to[i], entry: e})
			}
		}
	}
	return due
}

// Told takes in how a try ended. The target is free again.
func (b *Box) Told(d Delivery, o Outcome, now fleet.Now) {
	delete(b.busy, d.To.Target)
	b.after(d.entry, d.To, o, now)
}

func (b *Box) after(e *entry, to policy.Recipient, o Outcome, now fleet.Now) {
	is, rec, dead := e.is.After(to.Target, to, o, now.Wall)
	b.became(e, is, rec, dead, now)
}

func (b *Box) giveUp(e *entry, target policy.TargetName, why fleet.Reason, now fleet.Now) {
	is, rec, dead := e.is.GiveUp(target, why, now.Wall)
	b.became(e, is, rec, dead, now)
}

// became notes what a letter is from now on, and what came of it.
func (b *Box) became(e *entry, is Letter, rec record.Record, dead *Dead, now fleet.Now) {
	e.is = is
	if rec.Kind != "" {
		e.records = append(e.records, b.about(now, rec))
	}
	if dead != nil {
		e.dead = append(e.dead, *dead)
	}
}

// Unsettled returns what is to be written next, if there is anything, and the store is not known to be full.
func (b *Box) Unsettled(now fleet.Now) (Settlement, bool, error) {
	if b.tryAt != 0 && !now.Due(b.tryAt) {
		return Settlement{}, false, nil
	}
	i := slices.IndexFunc(b.waiting, func(e *entry) bool { return !e.settled() })
	if i < 0 {
		b.tryAt = 0
		return Settlement{}, false, nil
	}
	e := b.waiting[i]
	b.changed = true
	txn, err := Change(e.stored, e.is, e.dead)
	return Settlement{Txn: txn, Records: e.records, entry: e}, err == nil, err
}

// Forgettable returns the writes that forget dead letters beyond the bounds, at most as many as room.
func (b *Box) Forgettable(now time.Time, room int) []state.Write {
	over := Expired(b.dead, now)
	return over[:min(len(over), room)]
}

// Settled takes note that the settlement is written, with so many dead letters forgotten, in a transaction of the
// revision.
func (b *Box) Settled(s Settlement, forgotten int, revision int64) {
	e := s.entry
	b.tryAt = 0
	b.dead = b.dead[forgotten:]
	for _, d := range e.dead {
		b.dead = append(b.dead, Stored[Dead]{Key: DeadKey(d), Revision: revision, Value: d})
	}
	e.stored.Revision, e.stored.Value, e.dead, e.records = revision, e.is, nil, nil
	if len(e.is.Sendings) == 0 {
		b.waiting = slices.DeleteFunc(b.waiting, func(o *entry) bool { return o == e })
	}
}

// Full takes note that the store is full. What was taken is not sent again, and is written down after the pause.
func (b *Box) Full(now fleet.Now, pause fleet.Instant) { b.tryAt = now.Mono + pause }

// Empty reports whether nothing waits.
func (b *Box) Empty() bool { return len(b.waiting) == 0 }

// Changed reports whether it is another one since it was asked last.
func (b *Box) Changed() bool {
	changed := b.changed
	b.changed = false
	return changed
}

// Standing says how the messages stand.
func (b *Box) Standing() Standing {
	s := Standing{Waiting: len(b.waiting), Dead: len(b.dead)}
	for _, e := range b.waiting {
		if s.Since.IsZero() || e.is.Since.Before(s.Since) {
			s.Since = e.is.Since
		}
		for _, w := range e.is.Sendings {
			if w.Tries > 0 && s.Target == "" {
				s.Target, s.Detail = w.Target, strings.TrimSpace(w.Detail)
			}
		}
	}
	return s
}
