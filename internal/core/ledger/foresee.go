package ledger

import (
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/sizing"
)

// foresee keeps the history of what was wanted, and says once a day how well it would have foretold that. Nothing goes
// by it.
func foresee(w *weighing, v *sizing.Verdict) {
	if !w.wanted.Sizing.Forecast {
		w.state.History = nil
		return
	}
	next, told := sizing.Remember(w.state.History, sizing.HourAt(w.S.Now.Wall), w.wanted.Sizing.Bound(v.Wants))
	w.state.History = next
	if told != nil {
		w.Record(record.Record{Kind: record.Size, Reason: fleet.ReasonForecast, Limit: told.Judged,
			Failing: told.Short, Size: told.Spare})
	}
}
