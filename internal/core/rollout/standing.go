package rollout

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Standing is how an update stands, for those who ask.
type Standing struct {
	Update *belief.Update
	// Machines are those that stay in the fleet: Done of them are as the update wants them, Under are being changed,
	// and Left are not begun. Well of those that are done are healthy.
	Machines, Done, Under, Left, Well int
	// Batch is how many may be changed until the next look at all of them; 0: there are no batches.
	Batch int
	// Why no further machine begins now; empty: nothing speaks against it. Until is when that is over, where it is a
	// matter of time.
	Why   fleet.Reason
	Until fleet.Instant
	// Metric is the one that it goes by, with its newest Value and its Bound; empty: none.
	Metric       fleet.MetricName
	Value, Bound float64
	Read         bool // there is a value
}

// Stands returns how the fleet's update stands; false: there is none.
func Stands(s *situation.State, machines []situation.View) (Standing, bool) {
	l := s.Whole.Ledger
	if l == nil || l.Update == nil {
		return Standing{}, false
	}
	r := &round.Round{S: situation.Situation{State: *s, Machines: machines}}
	u, p := l.Update, progressOf(r, l)
	q := ask(r, l, p.begun())
	batch, pause := batchOf(r, l)
	out := Standing{Update: u, Machines: p.machines, Done: p.machines - p.old, Under: p.under, Well: p.well,
		Left: p.old, Batch: batch, Metric: q.metric, Value: q.value, Bound: q.bound, Read: q.at != 0}
	for i := range machines {
		if m := &machines[i].Machine; stays(l, m) && m.Repair.CarriesOut(u.Order) && !u.Stands(m) {
			out.Left--
		}
	}
	switch {
	case !u.Goes():
		out.Why = u.Stopped
	case u.IsPaused():
		out.Why = fleet.ReasonRolloutPaused
	case q.holds != "":
		out.Why = q.holds
	case !u.Proven && u.Calm != 0:
		out.Why, out.Until = fleet.ReasonProving, u.Calm.Add(s.Spec.Update.Soak)
	case u.Rest != 0:
		out.Why, out.Until = fleet.ReasonBatchDone, u.Rest.Add(pause)
	case anyRests(r, l):
		out.Why = fleet.ReasonSpareOff
	case awaits(r, l):
		out.Why = fleet.ReasonSurgeFirst
	case isShort(r, l, &p):
		out.Why = fleet.ReasonInService
	}
	return out, true
}
