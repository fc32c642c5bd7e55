package decide

import (
	"time"

	"hale/internal/fleet"
)

// remindAt returns when a person is told again of the machine's incident, and whether one is to be. A machine that shares the fate of
// others is spoken of with them. It is a deadline in wall time, so that it stands when hale is started anew.
func remindAt(m *fleet.Machine, spec *fleet.Spec) (time.Time, bool) {
	i := m.Incident
	if i == nil || !i.Paged || i.Parent != "" || spec.Notify.RemindEvery <= 0 {
		return time.Time{}, false
	}
	return again(i.Told, i.Opened, spec), true
}

// remindOf returns when a person is told again of a parent incident, and whether one is to be.
func remindOf(p *fleet.Parent, spec *fleet.Spec) (time.Time, bool) {
	if !p.Paged || spec.Notify.RemindEvery <= 0 {
		return time.Time{}, false
	}
	return again(p.Told, p.Opened, spec), true
}

func again(told, opened time.Time, spec *fleet.Spec) time.Time {
	if told.IsZero() { // it was written down before hale kept the time
		told = opened
	}
	return told.Add(spec.Notify.RemindEvery)
}

// remind tells a person again of what they were told of, when it is time.
func (w *work) remind() {
	at, ok := remindAt(w.M, &w.Situation.Spec)
	now := w.Situation.Now.Wall
	if !ok || now.Before(at) {
		return
	}
	i := w.M.Incident
	i.Told = now
	w.Record(fleet.Record{Kind: fleet.RecordReminded, Reason: i.For, Cause: i.Cause, Instance: w.M.Current.ID,
		Took: now.Sub(i.Opened), Joint: i.Joint})
}

// remindOfParent does so of a parent incident.
func (r *round) remindOfParent(p *fleet.Parent) {
	at, ok := remindOf(p, &r.s.Spec)
	if !ok || r.s.Now.Wall.Before(at) {
		return
	}
	p.Told = r.s.Now.Wall
	rec := about(*p)
	rec.Kind, rec.Reason, rec.Took = fleet.RecordReminded, fleet.ReasonSharedFate, r.s.Now.Wall.Sub(p.Opened)
	r.record(rec)
}

// remindOfBrakeAt returns when a person is told again that the brake is on, and whether one is to be: they were told of
// it, or another person put it on.
func remindOfBrakeAt(b *fleet.Brake, spec *fleet.Spec) (time.Time, bool) {
	if spec.Notify.RemindEvery <= 0 || b.By == "" && (!b.Engaged || !b.Paged) {
		return time.Time{}, false
	}
	since := b.Since
	if b.By != "" {
		since = b.At
	}
	if b.Told.After(since) {
		since = b.Told
	}
	return since.Add(spec.Notify.RemindEvery), true
}

// remindOfBrake tells a person again that nothing is repaired. While nothing fails, a brake that a person put on holds
// nothing.
func (r *round) remindOfBrake(b *fleet.Brake, rec fleet.Record) {
	at, ok := remindOfBrakeAt(b, &r.s.Spec)
	if !ok || r.s.Now.Wall.Before(at) || r.tally.Failing == 0 {
		return
	}
	b.Told = r.s.Now.Wall
	rec.Kind, rec.Reason, rec.Took = fleet.RecordReminded, fleet.ReasonBrake, r.s.Now.Wall.Sub(b.Since)
	if b.By != "" {
		rec.By, rec.Detail, rec.Took = b.By, b.Words, r.s.Now.Wall.Sub(b.At)
	}
	r.record(rec)
}

// remindOfDoubtAt returns when a person is told again that hale doubts its own sight, and whether one is to be.
func remindOfDoubtAt(d *fleet.Doubt, spec *fleet.Spec) (time.Time, bool) {
	if d.Reason == "" || !d.Paged || d.CalmSince != 0 || spec.Notify.RemindEvery <= 0 {
		return time.Time{}, false
	}
	return again(d.Told, d.Since, spec), true
}

// remindOfDoubt does so.
func (r *round) remindOfDoubt() {
	d := &r.sit.Whole.Doubt
	at, ok := remindOfDoubtAt(d, &r.s.Spec)
	if !ok || r.s.Now.Wall.Before(at) {
		return
	}
	d.Told = r.s.Now.Wall
	r.record(fleet.Record{Kind: fleet.RecordReminded, Reason: d.Reason, Size: r.s.Spec.Size,
		Took: r.s.Now.Wall.Sub(d.Since)})
}
