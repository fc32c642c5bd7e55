package inference

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// leastDoubt is how many machines must fail by their checks alone before hale doubts its own sight because of them: in
// a fleet of one or two, a dead vantage looks like dead machines.
const leastDoubt = 3

// HeedCanaries begins a doubt when the canaries say that hale itself is cut off, or have said nothing for too long, and
// lets it go when one of them answers.
func (r *Inference) HeedCanaries() {
	v := r.S.Vantage
	switch v.Standing {
	case fleet.VantageIsolated:
		r.doubt(fleet.ReasonVantageIsolated, v.Detail, 0, 0)
	case fleet.VantageUnknown:
		if r.S.Now.Due(v.Since.Add(r.S.Spec.BlindAfter)) {
			r.doubt(fleet.ReasonVantageDoubtful, v.Detail, 0, 0)
		}
		r.Sit.Whole.Doubt.CalmSince = 0
	case fleet.VantageOK:
		r.calmDown()
	default: // there is no watch
		if r.Sit.Whole.Doubt.Reason == fleet.ReasonVantageIsolated {
			r.calmDown()
		}
	}
}

// HeedProvider begins a doubt without canaries: when many machines at once fail by their checks alone while the
// provider says that all of those run, it is as likely that hale does not see them. What a parent incident explains
// does not count. It reports whether whatever is not well is to be judged afresh, since the doubt calms down.
func (r *Inference) HeedProvider(members []*round.Member) (afresh bool) {
	if r.S.Vantage.Standing != "" {
		return false
	}
	d := &r.Sit.Whole.Doubt
	switch {
	case d.Reason == "":
		silent, together := r.silent(members)
		switch {
		case most(together, r.S.Spec.Size), r.everyone(silent, members):
			r.doubt(fleet.ReasonVantageDoubtful, "", silent, round.PagePause)
		case r.everyone(silent+r.Tally.Suspect, members): // first see whether the suspects fail, too
			for _, w := range members {
				w.Fated = true
			}
		}
	case !noneMayRun(members, &r.S.Spec) && (most(r.missing(members, every), r.S.Spec.Size) ||
		r.everyone(r.missing(members, every), members) || r.nobodyAnswers(members)):
		if lasting := r.missing(members, func(w *round.Member) bool { return !passing(w.On.M, &r.Sit) }); lasting > 0 {
			r.doubt(d.Reason, "", lasting, round.PagePause)
		}
		d.CalmSince = 0
	case d.Reason == fleet.ReasonVantageDoubtful && d.CalmSince == 0:
		r.calmDown()
		return true
	default:
		r.calmDown()
	}
	return false
}

// silent counts the machines that fail by their checks alone while they run, and those of them that fell together:
// within the time that the checks of all need to tell of one moment.
func (r *Inference) silent(members []*round.Member) (all, together int) {
	var fell []fleet.Instant
	for _, w := range members {
		if runsAndFails(w, &r.S.Spec) && !silentPlace(w.On.M, &r.Sit) && r.ParentOf(w) == nil &&
			!guard.AtRest(w.On.M, &r.Sit.Whole) && !isBeingStarted(w.On.M) {
			fell = append(fell, w.On.M.Health.SinceMono)
		}
	}
	if len(fell) == 0 {
		return 0, 0
	}
	all = len(fell)
	latest := slices.Max(fell)
	return all, len(slices.DeleteFunc(fell,
		func(at fleet.Instant) bool { return latest.Sub(at) > guard.SettleTime(r.S.Spec) }))
}

// isBeingStarted reports whether hale starts the machine just now: it was off until then, and silent for that reason.
func isBeingStarted(m *belief.Machine) bool {
	return m.Repair != nil && m.Repair.Starts() && m.Repair.Intent != nil
}

// missing counts the machines that were not seen healthy since they failed by their checks, whatever was done to them
// meanwhile, or that failed otherwise and run again: a doubt ends when machines answer, or when their provider says
// that none of them runs.
func (r *Inference) missing(members []*round.Member, counts func(*round.Member) bool) int {
	n := 0
	for _, w := range members {
		i := w.On.M.Incident
		if i != nil && counts(w) && w.On.M.Health.Verdict != belief.VerdictHealthy &&
			(i.Cause == belief.CauseChecks || runsAgain(w)) && r.ParentOf(w) == nil &&
			!guard.Surplus(w.On.M, &r.S.Spec) && !guard.AtRest(w.On.M, &r.Sit.Whole) {
			n++
		}
	}
	return n
}

func every(*round.Member) bool { return true }

// noneMayRun reports whether the provider says of every machine that is not well that it does not run: there is none
// that hale could fail to see.
func noneMayRun(members []*round.Member, spec *policy.Spec) bool {
	return !slices.ContainsFunc(members, func(w *round.Member) bool {
		m := w.On.M
		return m.Health.Verdict != belief.VerdictHealthy && !guard.Surplus(m, spec) && !m.Current.None() &&
			!m.Health.Cause.Stopped()
	})
}

// runsAgain reports whether the machine was off, and the provider says that it runs.
func runsAgain(w *round.Member) bool {
	return w.On.M.Incident.Cause.Stopped() && w.On.View.Sighting(w.On.M.Current.ID).Instance.Power == fleet.PowerRunning
}

// most reports whether so many machines are enough for a doubt.
func most(failing, size int) bool { return failing >= leastDoubt && 2*failing > size }

// everyone reports whether so many are all that could answer: when a person has paused one of a fleet's three, two are.
func (r *Inference) everyone(failing int, members []*round.Member) bool {
	size := r.S.Spec.Size
	running := size - r.Mute
	for _, w := range members {
		if r.CannotAnswer(w.On.M) {
			running--
		}
	}
	return size >= leastDoubt && failing >= 2 && failing >= running
}

// nobodyAnswers reports whether no machine at all is well: that some of them need not be, because a person holds them
// since, does not end a doubt.
func (r *Inference) nobodyAnswers(members []*round.Member) bool {
	silent := r.Mute
	for _, w := range members {
		if w.On.M.Health.Verdict != belief.VerdictHealthy && !guard.Surplus(w.On.M, &r.S.Spec) {
			silent++
		}
	}
	return silent >= r.S.Spec.Size
}

// CannotAnswer reports whether no answer of the machine is expected: it is not there, or off, or a person is at work on
// it. One that is held and well does answer.
func (r *Inference) CannotAnswer(m *belief.Machine) bool {
	away := m.Current.None() || m.Health.Cause.Stopped() ||
		m.Health.Verdict != belief.VerdictHealthy && guard.AtRest(m, &r.Sit.Whole)
	return away && !guard.Surplus(m, &r.S.Spec)
}

// runsAndFails reports whether nothing is heard of the machine, while the provider says that it runs. One that refuses
// connections, or answers with a wrong page, is reached.
func runsAndFails(w *round.Member, spec *policy.Spec) bool {
	m := w.On.M
	return m.Incident != nil && m.Health.Verdict == belief.VerdictUnhealthy && m.Health.Cause == belief.CauseChecks &&
		!guard.Speaks(w.On.View) &&
		w.On.View.Sighting(m.Current.ID).Instance.Power == fleet.PowerRunning && !guard.Surplus(m, spec)
}

// doubt begins a doubt, or keeps it up, and tells a person once, when it has lasted for the pause.
func (r *Inference) doubt(why fleet.Reason, detail string, failing int, pause time.Duration) {
	d := &r.Sit.Whole.Doubt
	rec := record.Record{Kind: record.Vantage, Reason: why, Detail: detail, Failing: failing, Size: r.S.Spec.Size}
	if d.Reason != why {
		if d.Reason == "" {
			d.Since = r.S.Now.Wall
		}
		d.Reason = why
		r.Record(rec)
	}
	d.CalmSince = 0
	if !d.Paged && r.S.Now.Reached(d.Since.Add(pause)) {
		d.Paged, d.Told = true, r.S.Now.Wall
		rec.Kind = record.Paged
		r.Record(rec)
	}
}

// calmDown lets a doubt go: first everything that is not well is judged afresh, and gets the time for it.
func (r *Inference) calmDown() {
	d := &r.Sit.Whole.Doubt
	switch {
	case d.Reason == "":
	case d.CalmSince == 0:
		d.CalmSince, r.Afresh = r.S.Now.Mono, true
		r.S.Now.Await(r.doubtEnds())
	case r.S.Now.Due(r.doubtEnds()): // until now it held repairs, and could come back
		r.Record(record.Record{Kind: record.Vantage, Reason: fleet.ReasonUp, Took: r.S.Now.Wall.Sub(d.Since),
			Paged: d.Paged})
		*d = belief.Doubt{}
	}
}

// doubtEnds returns when a doubt that calmed down is over.
func (r *Inference) doubtEnds() fleet.Instant {
	return guard.DoubtUntil(&r.Sit.Whole.Doubt, &r.S.Spec)
}
