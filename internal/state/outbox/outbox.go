// Package outbox keeps messages in the store until their targets have taken them.
//
// It promises that a message is put in by the same transaction that stores the record it tells of; that it has a key of
// its own, which never changes, so that what comes twice can be told from two things, and which no other message ever
// has, also when an old store was restored; and that nothing is forgotten: a message ends taken, or as a dead letter
// with the reason. It bounds itself: see MaxWaiting, MaxDead and KeepDead. When and how often a message is tried is a
// pure function (Letter.After), and what one fleet's owner does next about all of them is a state machine (Box). It
// sends nothing by itself: the engine does.
package outbox

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// The bounds of one fleet's outbox.
const (
	MaxWaiting = 1000                // letters; the oldest give way
	MaxDead    = 500                 // dead letters; the oldest are forgotten
	KeepDead   = 30 * 24 * time.Hour // how long a dead letter is kept
)

// The pauses between the tries of one message.
const (
	FirstPause   = 5 * time.Second // it doubles
	LongestPause = 15 * time.Minute
	longestWish  = time.Hour // that a receiver may ask for
)

// maxRefusals is how often in a row a target may call a message wrong.
const maxRefusals = 8

// longestDetail bounds what is kept of an error.
const longestDetail = 500

// Letter is a message that waits for one target or several.
type Letter struct {
	Key    string
	Event  policy.NotifyEvent
	Record record.Record // what it tells of
	Since  time.Time     // when it was put in; its tries are counted from then
	// Sendings are to the targets that have not taken it yet, sorted by name.
	Sendings []Sending
	// Fleets are all that it is about, where one letter tells of several; empty: the record's alone.
	Fleets []fleet.Name `json:",omitempty"`
}

// Sending is a letter's way to one target.
type Sending struct {
	Target   policy.TargetName
	Tries    int       `json:",omitempty"`
	Refusals int       `json:",omitempty"` // in a row, at the end
	NextAt   time.Time `json:",omitzero"`  // wall time; zero: at once
	Detail   string    `json:",omitempty"` // how the last try ended
}

// Dead is a message that a target did not take, and that is not tried any more.
type Dead struct {
	Key    string
	Event  policy.NotifyEvent
	Record record.Record
	Target policy.TargetName
	Tries  int
	At     time.Time // when it was given up
	Reason fleet.Reason
	Detail string `json:",omitempty"`
	// Fleets are those of the letter.
	Fleets []fleet.Name `json:",omitempty"`
}

// Compose returns the letter that a stored record is to the fleet's targets, and whether it is one. The installation's
// id, the nonce of the start that stores the record (package starts), and the record's number make the key.
func Compose(spec *policy.Spec, installation fleet.Installation, nonce string, r record.Record) (Letter, bool) {
	event, ok := r.Notifies()
	if !ok {
		return Letter{}, false
	}
	l := Letter{Key: KeyOf(installation, nonce, r), Event: event, Record: r, Since: r.At}
	for _, to := range spec.Notify.To {
		if wants(&to, event, &r) {
			l.Sendings = append(l.Sendings, Sending{Target: to.Target})
		}
	}
	return l, len(l.Sendings) > 0
}

// wants reports whether the recipient is told of the record. A repair that ends what a person was told of is told by
// the same letter to those who want every repair that worked.
func wants(to *policy.Recipient, event policy.NotifyEvent, r *record.Record) bool {
	if event == policy.NotifyDaily && to.Target != r.Target {
		return false
	}
	return to.Wants(event) || r.Heals() && to.Wants(policy.NotifyRepair)
}

// shortID is how much of the installation's id is in a key.
const shortID = 8

// KeyOf returns the key of the message about a record. A store that lost its last writes, or that was restored, gives a
// number twice. The nonce is another one then, for a store loses writes only between two starts.
func KeyOf(installation fleet.Installation, nonce string, r record.Record) string {
	id := string(installation)
	return fmt.Sprintf("%s-%s-%s-%d", id[:min(shortID, len(id))], r.Fleet, nonce, r.Seq)
}

// Outcome is how one try ended.
type Outcome struct {
	Taken   bool
	Refused bool          // the target takes the message, or hale's way of sending it, to be wrong
	Later   time.Duration // for which it wants to be left alone
	Detail  string
}

// After returns the letter as it is after a try for the target; what became of it, as a record that has neither number
// nor time (zero kind: nothing yet); and the dead letter, if it is one now.
func (l Letter) After(target policy.TargetName, policy policy.Recipient, o Outcome,
	now time.Time) (Letter, record.Record, *Dead) {
	i := l.index(target)
	if i < 0 {
		return l, record.Record{}, nil
	}
	l.Sendings = slices.Clone(l.Sendings)
	s := &l.Sendings[i]
	s.Tries++
	if o.Taken {
		s.Detail = ""
		rec := l.ending(*s, record.Notified, "")
		l.Sendings = slices.Delete(l.Sendings, i, i+1)
		return l, rec, nil
	}
	s.Detail = o.Detail[:min(len(o.Detail), longestDetail)]
	s.Refusals++
	if !o.Refused {
		s.Refusals = 0
	}
	s.NextAt = now.Add(max(pause(s.Tries), min(o.Later, longestWish)))
	switch {
	case s.Refusals >= maxRefusals:
		return l.giveUp(i, fleet.ReasonTargetRefuses, now)
	case s.Tries >= policy.Attempts, s.NextAt.After(l.Since.Add(policy.AttemptsIn)):
		return l.giveUp(i, fleet.ReasonTriesSpent, now)
	}
	return l, record.Record{}, nil
}

// GiveUp returns the letter without the target, the record that says so, and the dead letter.
func (l Letter) GiveUp(target policy.TargetName, why fleet.Reason, now time.Time) (Letter, record.Record, *Dead) {
	i := l.index(target)
	if i < 0 {
		return l, record.Record{}, nil
	}
	l.Sendings = slices.Clone(l.Sendings)
	return l.giveUp(i, why, now)
}

func (l Letter) giveUp(i int, why fleet.Reason, now time.Time) (Letter, record.Record, *Dead) {
	s := l.Sendings[i]
	l.Sendings = slices.Delete(l.Sendings, i, i+1)
	return l, l.ending(s, record.Undelivered, why), &Dead{
		Key: l.Key, Event: l.Event, Record: l.Record, Target: s.Target, Tries: s.Tries, At: now, Reason: why,
		Detail: s.Detail, Fleets: l.Fleets,
	}
}

// ending is the record of what became of a sending. It belongs to the same machine and incident as what the letter
// tells of.
func (l Letter) ending(s Sending, kind record.Kind, why fleet.Reason) record.Record {
	return record.Record{
		Kind: kind, Reason: why, Machine: l.Record.Machine, Incident: l.Record.Incident, Parent: l.Record.Parent,
		Target: s.Target, Event: l.Event, Tries: s.Tries, Detail: s.Detail,
	}
}

func (l Letter) index(target policy.TargetName) int {
	return slices.IndexFunc(l.Sendings, func(s Sending) bool { return s.Target == target })
}

// DueAt returns when the sending is tried next. A time further off than any pause was kept by another clock, and counts
// for nothing.
func (s Sending) DueAt(now time.Time) time.Time {
	if s.NextAt.After(now.Add(longestWish)) {
		return now
	}
	return s.NextAt
}

// Revived returns the letter that a dead one becomes when a person wants it tried again: as a new one, from now.
func (d Dead) Revived(now time.Time) Letter {
	return Letter{Key: d.Key, Event: d.Event, Record: d.Record, Since: now, Sendings: []Sending{{Target: d.Target}},
		Fleets: d.Fleets}
}

func pause(tries int) time.Duration {
	d := FirstPause
	for ; tries > 1 && d < LongestPause; tries-- {
		d *= 2
	}
	return min(d, LongestPause)
}
