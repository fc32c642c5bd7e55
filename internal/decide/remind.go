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

// remindOfBrake tells a person again that nothing is repaired, if it is time. While nothing fails, a brake that a
// person put on holds nothing. The record has the brake's arithmetic.
func remindOfBrake(b *fleet.Brake, s *fleet.Snapshot, rec fleet.Record) []fleet.Record {
	at, ok := remindOfBrakeAt(b, &s.Spec)
	now := s.Now.Wall
	if !ok || now.Before(at) || rec.Failing == 0 {
		return nil
	}
	b.Told = now
	rec.Kind, rec.Reason, rec.Took = fleet.RecordReminded, fleet.ReasonBrake, now.Sub(b.Since)
	if b.By != "" {
		rec.By, rec.Detail, rec.Took = b.By, b.Words, now.Sub(b.At)
	}
	return []fleet.Record{rec}
}

// remindOfDoubtAt returns when a person is told again that hale doubts its own sight, and whether one is to be.
func remindOfDoubtAt(d *fleet.Doubt, spec *fleet.Spec) (time.Time, bool) {
	if d.Reason == "" || !d.Paged || d.CalmSince != 0 || spec.Notify.RemindEvery <= 0 {
		return time.Time{}, false
	}
	return again(d.Told, d.Since, spec), true
}

// remindOfDoubt does so.
func remindOfDoubt(d *fleet.Doubt, s *fleet.Snapshot) []fleet.Record {
	at, ok := remindOfDoubtAt(d, &s.Spec)
	if !ok || s.Now.Wall.Before(at) {
		return nil
	}
	d.Told = s.Now.Wall
	took := s.Now.Wall.Sub(d.Since)
	return []fleet.Record{{Kind: fleet.RecordReminded, Reason: d.Reason, Size: s.Spec.Size, Took: took}}
}
