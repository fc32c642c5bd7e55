// Package rollout takes another template through a fleet: which machines try it first, which follow, when it is proven,
// when it goes no further, and how it is taken back. It builds machines anew that differ from the template in force,
// too.
//
// It promises that no machine is chosen beyond what the policy allows at once, that none follows before the template
// proved itself, and that what cannot be known holds it. It begins nothing: package decide does, as far as the guard
// lets it.
package rollout

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// New returns the update that a person ordered: to the template in force, which needs no trial, or to another.
func New(r *round.Round, l *belief.Ledger, o *fleet.Order) *belief.Update {
	u := &belief.Update{Template: r.S.Wanted.Template, Edition: max(l.Editions, l.Edition) + 1, Order: o.ID, By: o.By}
	if u.Template.Builds(l.Template) {
		u.Edition, u.Proven = l.Edition, true
	}
	return u
}

// Book books how far an update came: whether it is proven, has failed, or is in force everywhere.
func Book(r *round.Round, l *belief.Ledger) *belief.Ledger {
	if !l.Update.Goes() {
		return l
	}
	b := booking{Round: r, was: l, u: *l.Update, p: progressOf(r, l)}
	b.q = ask(r, l, b.p.begun())
	switch {
	// put back, or changed once more: this one is not wanted
	case b.isOutspoken():
		b.u.Stopped = fleet.ReasonWithdrawn
		b.say(record.Change, fleet.ReasonWithdrawn, "")
	case b.p.failed != "" || b.q.failed:
		return b.fail()
	case b.isOver():
		return b.settle()
	default:
		b.prove()
		b.goOn()
		b.hurry()
		b.alarm()
		b.sayWhy()
	}
	if b.u.Equal(l.Update) {
		return l
	}
	return l.Updated(&b.u)
}

// booking is the book of one update in one round.
type booking struct {
	*round.Round
	was *belief.Ledger
	u   belief.Update
	p   progress
	q   answer
}

func (b *booking) say(kind record.Kind, reason fleet.Reason, detail string) {
	rec := record.Record{Kind: kind, Reason: reason, Order: b.u.Order, By: b.u.By, Size: b.p.machines - b.p.beyond,
		Detail: detail}
	if b.q.holds != "" && (reason == b.q.holds || detail == string(b.q.holds)) {
		rec.Metric, rec.Value, rec.Goal = b.q.metric, b.q.value, b.q.bound
	}
	b.Record(rec)
}

// isOutspoken reports whether the configuration asks for another template than the one on its way. What mends or undoes
// goes to the one in force, whatever the configuration asks for next.
func (b *booking) isOutspoken() bool {
	return b.u.Undoes == nil && !b.u.Mends && b.S.Wanted != nil && !b.u.Template.Builds(b.S.Wanted.Template)
}

// isOver reports whether there is no more to do. An update waits until all machines are well; what takes one back, only
// for those that it changed.
func (b *booking) isOver() bool {
	if b.u.Undoes != nil {
		return b.p.old == 0 && b.p.under == 0 && b.p.fine == b.p.changed
	}
	return b.p.old == 0 && b.p.well == b.p.machines
}

// settle ends the update.
func (b *booking) settle() *belief.Ledger {
	next := b.was.Updated(nil)
	switch {
	case b.u.Undoes != nil:
		b.say(record.Change, fleet.ReasonRolledBack, string(b.u.Undoes.Why))
	case b.u.Mends:
		b.say(record.Change, fleet.ReasonMended, "")
	default:
		b.say(record.Change, fleet.ReasonUpdated, "")
		next.Template, next.Edition = b.u.Template, b.u.Edition
	}
	return next
}

// prove books whether those that are to try the template first have stood the time.
func (b *booking) prove() {
	soak := b.S.Spec.Update.Soak
	switch {
	case b.u.Proven:
	case b.p.tried < min(pilots(b.Round), b.p.serving) || b.p.well < b.p.on:
		b.u.Calm = 0
	case b.u.Calm == 0:
		b.u.Calm = b.S.Now.Mono
		b.S.Now.Await(b.u.Calm.Add(soak))
	case b.S.Now.Due(b.u.Calm.Add(soak)) && b.q.clears(b.u.Calm):
		b.u.Proven = true
		b.say(record.Change, fleet.ReasonProven, "")
		b.Again = true
	}
}

// goOn begins the next batch, when the last one is whole and its machines are well, and the pause is over.
func (b *booking) goOn() {
	batch, pause := batchOf(b.Round, b.was)
	switch {
	case batch == 0, !b.u.Proven:
		b.u.Upto, b.u.Rest = 0, 0
		return
	case b.u.Upto == 0: // those that tried it first had their time
		b.u.Upto, b.Again = b.p.changed+batch, true
		return
	case b.p.changed < b.u.Upto || b.p.fine < b.p.changed:
		b.u.Rest = 0
		return
	case b.u.Rest == 0:
		b.u.Rest = b.S.Now.Mono
		if pause > 0 {
			b.say(record.Change, fleet.ReasonBatchDone, "")
		}
	}
	if at := b.u.Rest.Add(pause); b.S.Now.Due(at) {
		b.u.Upto, b.u.Rest, b.Again = b.p.changed+batch, 0, true
	} else {
		b.S.Now.Await(at)
	}
}

// batchOf returns how many machines of the update follow together, and the time between two batches. 0: one follows as
// soon as another is done. What takes an update back does not pause.
func batchOf(r *round.Round, l *belief.Ledger) (batch int, pause time.Duration) {
	batch, pause = r.S.Spec.Update.Batch.Of(l.Posts()), r.S.Spec.Update.Pause
	if l.Update.Undoes != nil {
		pause = 0
	}
	if batch == 0 && pause > 0 {
		batch = r.S.Spec.Places()
	}
	return batch, pause
}

// hurry tells a person of an update that is not taken back in its time.
func (b *booking) hurry() {
	if b.u.Undoes == nil || b.u.Undoes.Paged || b.S.Spec.Update.UndoWithin == 0 {
		return
	}
	if at := b.u.Undoes.Since.Add(b.S.Spec.Update.UndoWithin); !b.S.Now.Due(at) {
		b.S.Now.Await(at)
		return
	}
	undoes := *b.u.Undoes
	undoes.Paged, b.u.Undoes = true, &undoes
	b.say(record.Paged, fleet.ReasonUndoSlow, "")
}

// alarm tells a person of a metric that has held the update for long: it says nothing, or it was beyond its bound
// before any machine was changed.
func (b *booking) alarm() {
	switch {
	case b.q.holds == "" || b.u.IsPaused():
		b.u.Mute, b.u.MutePaged = 0, false
		return
	case b.u.Mute == 0:
		b.u.Mute = b.S.Now.Mono
	}
	switch at := b.u.Mute.Add(b.S.Spec.BlindAfter); {
	case b.u.MutePaged:
	case !b.S.Now.Due(at):
		b.S.Now.Await(at)
	default:
		b.u.MutePaged = true
		b.say(record.Paged, fleet.ReasonRolloutHeld, string(b.q.holds))
	}
}

// sayWhy records why no further machine begins, once for each reason.
func (b *booking) sayWhy() {
	why := fleet.Reason("")
	switch {
	case b.u.IsPaused():
		why = fleet.ReasonRolloutPaused // it was recorded as it was ordered
	case len(b.S.Unready) > 0 && b.p.old > 0:
		why = fleet.ReasonAfter
	case b.q.holds != "":
		why = b.q.holds
	case awaits(b.Round, b.was):
		why = fleet.ReasonSurgeFirst
	case isShort(b.Round, b.was, &b.p) && (b.u.Upto == 0 || b.p.changed < b.u.Upto):
		why = fleet.ReasonInService
	}
	if why != b.u.Said && why != "" && why != fleet.ReasonRolloutPaused && why != fleet.ReasonUnread {
		b.say(record.Change, fleet.ReasonRolloutWaits, string(why))
	}
	b.u.Said = why
}

// pilots returns how many machines are to try another template first.
func pilots(r *round.Round) int { return max(1, r.S.Spec.Update.Pilots) }
