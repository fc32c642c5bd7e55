package rollout

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/round"
	"hale/internal/core/sizing"
)

// answer is what the update's metric says. The zero value: none is asked.
type answer struct {
	asked        bool
	metric       fleet.MetricName
	value, bound float64
	at           fleet.Instant // of the newest reading
	// holds says why no further machine begins, and nothing is proven; empty: nothing speaks against it.
	holds  fleet.Reason
	failed bool // it was beyond the bound for as long as the policy says, since machines were changed
}

// ask returns what the metric says of an update to another template; begun says that it changed a machine. What goes
// back to the template in force is asked about nothing.
func ask(r *round.Round, l *belief.Ledger, begun bool) answer {
	q, m := r.S.Spec.Update.Query, r.S.Spec.QueryMetric()
	if q == nil || l.Update.Edition == l.Edition {
		return answer{}
	}
	a := answer{asked: true, metric: q.Metric, bound: q.Bound()}
	if m == nil { // no configuration that was checked has such a query
		a.holds = fleet.ReasonMetricSilent
		return a
	}
	g := fleet.Gauged(r.S.Gauges, q.Metric)
	a.holds, _ = sizing.Mute(m, g, r.S.Now)
	if a.holds == fleet.ReasonUnread && g != nil && !r.S.Now.Within(m.Every+m.Late, g.Since) {
		a.holds = fleet.ReasonMetricSilent // it had the time to say something
	}
	if a.holds != "" {
		return a
	}
	since := fleet.Instant(0) // it is beyond the bound without a break
	for i := len(g.Points) - 1; i >= 0; i-- {
		p := &g.Points[i]
		if !m.Believable(p.Value) {
			continue
		}
		if a.at == 0 {
			a.at, a.value = p.At, p.Value
		}
		if !q.Beyond(p.Value) {
			break
		}
		since = p.At
	}
	if since == 0 {
		return a
	}
	a.holds = fleet.ReasonQueryBeyond
	a.failed = begun && a.at.Sub(since) >= q.For
	return a
}

// clears reports whether the metric was read since, and speaks for the template. Without a metric nothing speaks
// against it.
func (a *answer) clears(since fleet.Instant) bool {
	return !a.asked || a.holds == "" && a.at > since
}
