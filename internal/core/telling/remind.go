package telling

import (
	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Reminds reports whether a person is to be told again of the machine's incident now. A machine that shares the fate of
// others is spoken of with them. It is a deadline in wall time, so that it stands when hale is started anew.
func Reminds(m *belief.Machine, spec *policy.Spec, now fleet.Now) bool {
	i := m.Incident
	return i != nil && i.Paged && i.Parent == "" && round.IsTime(i.Told, i.Opened, spec, now)
}

// Remind tells a person again of what they were told of, when it is time.
func Remind(c *chart.Chart) {
	i, now := c.M.Incident, c.Situation.Now.Wall
	if !Reminds(c.M, &c.Situation.Spec, c.Situation.Now) {
		return
	}
	i.Told = now
	c.Record(record.Record{Kind: record.Reminded, Reason: i.For, Cause: i.Cause, Instance: c.M.Current.ID,
		Took: now.Sub(i.Opened), Joint: i.Joint})
}

// RemindOfBrake tells a person again that nothing is repaired, if it is time: they were told that the brake is on, or
// another person put it on. While nothing fails, a brake that a person put on holds nothing. The record has the brake's
// arithmetic.
func RemindOfBrake(b *belief.Brake, s *situation.Situation, rec record.Record) []record.Record {
	since := b.Since
	if b.By != "" {
		since = b.At
	}
	told := since
	if b.Told.After(since) {
		told = b.Told
	}
	if rec.Failing == 0 || b.By == "" && (!b.Engaged || !b.Paged) || !round.RemindAgain(&told, since, &s.Spec, s.Now) {
		return nil
	}
	b.Told = told
	rec.Kind, rec.Reason, rec.Took = record.Reminded, fleet.ReasonBrake, s.Now.Wall.Sub(b.Since)
	if b.By != "" {
		rec.By, rec.Detail, rec.Took = b.By, b.Words, s.Now.Wall.Sub(b.At)
	}
	return []record.Record{rec}
}

// RemindOfDoubt tells a person again that hale doubts its own sight, if it is time.
func RemindOfDoubt(d *belief.Doubt, s *situation.Situation) []record.Record {
	if d.Reason == "" || !d.Paged || d.CalmSince != 0 || !round.RemindAgain(&d.Told, d.Since, &s.Spec, s.Now) {
		return nil
	}
	took := s.Now.Wall.Sub(d.Since)
	return []record.Record{{Kind: record.Reminded, Reason: d.Reason, Size: s.Spec.Size, Took: took}}
}
