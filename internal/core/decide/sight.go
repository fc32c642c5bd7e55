package decide

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// leastDoubt is how many machines must fail by their checks alone before hale doubts its own sight because of them: in
// a fleet of one or two, a dead vantage looks like dead machines.
const leastDoubt = 3

// heedCanaries begins a doubt when the canaries say that hale itself is cut off, or have said nothing for too long, and
// lets it go when one of them answers.
func (r inference) heedCanaries() {
	v := r.s.Vantage
	switch v.Standing {
	case fleet.VantageIsolated:
		r.doubt(fleet.ReasonVantageIsolated, v.Detail, 0, 0)
	case fleet.VantageUnknown:
		if r.s.Now.Due(v.Since.Add(r.s.Spec.BlindAfter)) {
			r.doubt(fleet.ReasonVantageDoubtful, v.Detail, 0, 0)
		}
		r.sit.Whole.Doubt.CalmSince = 0
	case fleet.VantageOK:
		r.calmDown()
	default: // there is no watch
		if r.sit.Whole.Doubt.Reason == fleet.ReasonVantageIsolated {
			r.calmDown()
		}
	}
}

// heedProvider begins a doubt without canaries: when many machines at once fail by their checks alone while the
// provider says that all of those run, it is as likely that hale does not see them. What a parent incident explains
// does not count.
func (r inference) heedProvider(works []*work) {
	if r.s.Vantage.Standing != "" {
		return
	}
	d := &r.sit.Whole.Doubt
	switch {
	case d.Reason == "":
		silent, together := r.silent(works)
		switch {
		case most(together, r.s.Spec.Size), r.everyone(silent, works):
			r.doubt(fleet.ReasonVantageDoubtful, "", silent, pagePause)
		case r.everyone(silent+r.tally.Suspect, works): // first see whether the suspects fail, too
			for _, w := range works {
				w.fated = true
			}
		}
	case !noneMayRun(works, &r.s.Spec) && (most(r.missing(works, every), r.s.Spec.Size) ||
		r.everyone(r.missing(works, every), works) || r.nobodyAnswers(works)):
		if lasting := r.missing(works, func(w *work) bool { return !passing(w.M, &r.sit) }); lasting > 0 {
			r.doubt(d.Reason, "", lasting, pagePause)
		}
		d.CalmSince = 0
	case d.Reason == fleet.ReasonVantageDoubtful && d.CalmSince == 0:
		r.calmDown()
		for _, w := range works {
			r.judgeAfresh(w)
		}
	default:
		r.calmDown()
	}
}

// silent counts the machines that fail by their checks alone while they run, and those of them that fell together:
// within the time that the checks of all need to tell of one moment.
func (r inference) silent(works []*work) (all, together int) {
	var fell []fleet.Instant
	for _, w := range works {
		if w.runsAndFails(&r.s.Spec) && !silentPlace(w.M, &r.sit) && r.parentOf(w) == nil &&
			!guard.AtRest(w.M, &r.sit.Whole) && !isBeingStarted(w.M) {
			fell = append(fell, w.M.Health.SinceMono)
		}
	}
	if len(fell) == 0 {
		return 0, 0
	}
	all, latest := len(fell), slices.Max(fell)
	return all, len(slices.DeleteFunc(fell,
		func(at fleet.Instant) bool { return latest.Sub(at) > guard.SettleTime(r.s.Spec) }))
}

// isBeingStarted reports whether hale starts the machine just now: it was off until then, and silent for that reason.
func isBeingStarted(m *fleet.Machine) bool {
	return m.Repair != nil && m.Repair.Starts() && m.Repair.Intent != nil
}

// missing counts the machines that were not seen healthy since they failed by their checks, whatever was done to them
// meanwhile, or that failed otherwise and run again: a doubt ends when machines answer, or when their provider says
// that none of them runs.
func (r inference) missing(works []*work, counts func(*work) bool) int {
	n := 0
	for _, w := range works {
		i := w.M.Incident
		if i != nil && counts(w) && w.M.Health.Verdict != fleet.VerdictHealthy &&
			(i.Cause == fleet.CauseChecks || w.runsAgain()) && r.parentOf(w) == nil &&
			!guard.Surplus(w.M, &r.s.Spec) && !guard.AtRest(w.M, &r.sit.Whole) {
			n++
		}
	}
	return n
}

func every(*work) bool { return true }

// noneMayRun reports whether the provider says of every machine that is not well that it does not run: there is none
// that hale could fail to see.
func noneMayRun(works []*work, spec *fleet.Spec) bool {
	return !slices.ContainsFunc(works, func(w *work) bool {
		return w.M.Health.Verdict != fleet.VerdictHealthy && !guard.Surplus(w.M, spec) && !w.M.Current.None() &&
			!w.M.Health.Cause.Stopped()
	})
}

// runsAgain reports whether the machine was off, and the provider says that it runs.
func (w *work) runsAgain() bool {
	return w.M.Incident.Cause.Stopped() && w.View.Sighting(w.M.Current.ID).Instance.Power == fleet.PowerRunning
}

// most reports whether so many machines are enough for a doubt.
func most(failing, size int) bool { return failing >= leastDoubt && 2*failing > size }

// everyone reports whether so many are all that could answer: when a person has paused one of a fleet's three, two are.
func (r inference) everyone(failing int, works []*work) bool {
	size := r.s.Spec.Size
	running := size - r.mute
	for _, w := range works {
		if r.cannotAnswer(w.M) {
			running--
		}
	}
	return size >= leastDoubt && failing >= 2 && failing >= running
}

// nobodyAnswers reports whether no machine at all is well: that some of them need not be, because a person holds them
// since, does not end a doubt.
func (r inference) nobodyAnswers(works []*work) bool {
	silent := r.mute
	for _, w := range works {
		if w.M.Health.Verdict != fleet.VerdictHealthy && !guard.Surplus(w.M, &r.s.Spec) {
			silent++
		}
	}
	return silent >= r.s.Spec.Size
}

// cannotAnswer reports whether no answer of the machine is expected: it is not there, or off, or a person is at work on
// it. One that is held and well does answer.
func (r inference) cannotAnswer(m *fleet.Machine) bool {
	away := m.Current.None() || m.Health.Cause.Stopped() ||
		m.Health.Verdict != fleet.VerdictHealthy && guard.AtRest(m, &r.sit.Whole)
	return away && !guard.Surplus(m, &r.s.Spec)
}

// runsAndFails reports whether nothing is heard of the machine, while the provider says that it runs. One that refuses
// connections, or answers with a wrong page, is reached.
func (w *work) runsAndFails(spec *fleet.Spec) bool {
	m := w.M
	return m.Incident != nil && m.Health.Verdict == fleet.VerdictUnhealthy && m.Health.Cause == fleet.CauseChecks &&
		!guard.Speaks(w.View) &&
		w.View.Sighting(m.Current.ID).Instance.Power == fleet.PowerRunning && !guard.Surplus(m, spec)
}

// doubt begins a doubt, or keeps it up, and tells a person once, when it has lasted for the pause.
func (r inference) doubt(why fleet.Reason, detail string, failing int, pause time.Duration) {
	d := &r.sit.Whole.Doubt
	rec := fleet.Record{Kind: fleet.RecordVantage, Reason: why, Detail: detail, Failing: failing, Size: r.s.Spec.Size}
	if d.Reason != why {
		if d.Reason == "" {
			d.Since = r.s.Now.Wall
		}
		d.Reason = why
		r.record(rec)
	}
	d.CalmSince = 0
	if !d.Paged && r.s.Now.Reached(d.Since.Add(pause)) {
		d.Paged, d.Told = true, r.s.Now.Wall
		rec.Kind = fleet.RecordPaged
		r.record(rec)
	}
}

// calmDown lets a doubt go: first everything that is not well is judged afresh, and gets the time for it.
func (r inference) calmDown() {
	d := &r.sit.Whole.Doubt
	switch {
	case d.Reason == "":
	case d.CalmSince == 0:
		d.CalmSince, r.afresh = r.s.Now.Mono, true
		r.s.Now.Await(r.doubtEnds())
	case r.s.Now.Due(r.doubtEnds()): // until now it held repairs, and could come back
		r.record(fleet.Record{Kind: fleet.RecordVantage, Reason: fleet.ReasonUp, Took: r.s.Now.Wall.Sub(d.Since),
			Paged: d.Paged})
		*d = fleet.Doubt{}
	}
}

// doubtEnds returns when a doubt that calmed down is over.
func (r inference) doubtEnds() fleet.Instant {
	return guard.DoubtUntil(&r.sit.Whole.Doubt, &r.s.Spec)
}

// judgeAfresh forgets what was heard of a machine that is not well, and judges it by what is left.
func (r inference) judgeAfresh(w *work) {
	if w.broken || w.M.Health.Verdict == fleet.VerdictHealthy {
		return
	}
	r.wake(w)
	r.tally.Remove(w.M, &r.s.Spec)
	w.M.Afresh(r.s.Now, r.s.Spec)
	w.judgeHealth()
	r.tally.Add(w.M, &r.s.Spec)
}
