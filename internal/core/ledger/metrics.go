package ledger

import (
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/resized"
	"hale/internal/core/round"
	"hale/internal/core/sizing"
)

// listenToMetrics notes which metrics say nothing, and tells a person of one that has not for too long.
func listenToMetrics(w *weighing) {
	silent, z := make([]resized.Silent, 0, len(w.state.Silent)), w.wanted.Sizing
	for i := range z.Metrics {
		m := &z.Metrics[i]
		at := w.state.SilentAt(m.Name)
		why, detail := muteFor(w, m)
		rec := record.Record{Kind: record.Metric, Reason: why, Metric: m.Name, Detail: detail}
		switch {
		case why == "" && at < 0:
		case why == "":
			s := &w.state.Silent[at]
			rec.Reason, rec.Paged, rec.Took = fleet.ReasonUp, s.Paged, w.S.Now.Wall.Sub(s.Since)
			w.Record(rec)
		case at < 0:
			w.Record(rec)
			silent = append(silent, patience(w, resized.Silent{Metric: m.Name, Why: why, Since: w.S.Now.Wall,
				SinceMono: w.S.Now.Mono}, rec))
		default:
			silent = append(silent, patience(w, w.state.Silent[at], rec))
		}
	}
	for _, s := range w.state.Silent {
		if z.Metric(s.Metric) == nil {
			w.Record(record.Record{Kind: record.Metric, Reason: fleet.ReasonRemoved, Metric: s.Metric, Paged: s.Paged})
		}
	}
	w.state.Silent = slices.Clip(silent)
}

// muteFor says why the metric says nothing. One that was asked a moment ago for the first time is given time to answer.
func muteFor(w *weighing, m *policy.Metric) (fleet.Reason, string) {
	g := fleet.Gauged(w.S.Gauges, m.Name)
	why, detail := sizing.Mute(m, g, w.S.Now)
	if why != fleet.ReasonUnread {
		return why, detail
	}
	if g == nil || w.S.Now.Within(m.Every+m.Late, g.Since) {
		return "", ""
	}
	return fleet.ReasonMetricSilent, detail
}

// patience tells a person of a metric that says nothing, when the time for that has come, and again and again.
func patience(w *weighing, s resized.Silent, rec record.Record) resized.Silent {
	switch {
	case !s.Paged && w.S.Now.Due(s.SinceMono.Add(max(w.wanted.Sizing.TellAfter, 1))):
		s.Paged, s.Told, rec.Kind = true, w.S.Now.Wall, record.Paged
	case s.Paged && round.RemindAgain(&s.Told, s.Since, &w.S.Spec, w.S.Now):
		rec.Kind = record.Reminded
	default:
		return s
	}
	rec.Took = w.S.Now.Wall.Sub(s.Since)
	w.Record(rec)
	return s
}
