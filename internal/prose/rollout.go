package prose

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// rolled says how another template goes through a fleet, or is taken back; empty: the record says nothing of that.
func rolled(r record.Record) string {
	because := words.Reason(fleet.Reason(r.Detail))
	switch r.Reason {
	case fleet.ReasonUpdated:
		return fmt.Sprintf("%s: the other template is in force now, and all machines (%d) have it", about(r),
			r.Size)
	case fleet.ReasonBatchDone:
		return about(r) + ": the machines of this batch are well, so the next one follows after the pause"
	case fleet.ReasonQueryBeyond:
		return about(r) + ": " + words.Reason(r.Reason) + bound(r)
	case fleet.ReasonRolloutWaits:
		if r.Metric != "" && r.Value == 0 && r.Detail != string(fleet.ReasonQueryBeyond) {
			return Because(about(r)+": no further machine is changed, since "+QueryMetric(r.Metric)+" says nothing",
				because)
		}
		return Because(about(r)+": no further machine is changed", because) + bound(r)
	case fleet.ReasonRolloutPaused:
		return about(r) + ": no further machine is changed until the rollout is resumed, by order of " + giver(r)
	case fleet.ReasonRolloutResumed:
		return about(r) + ": the rollout goes on, by order of " + giver(r)
	case fleet.ReasonRollsBack:
		if r.Detail == string(fleet.ReasonOrdered) {
			return about(r) + ": what was changed goes back to the template in force, by order of " + giver(r)
		}
		return about(r) + ": what was changed goes back to the template in force, as the policy says"
	case fleet.ReasonRolledBack:
		return about(r) + ": everything is as before: no machine is built from the other template any more"
	case fleet.ReasonBelieved:
		return about(r) + ": the rollout is stopped, since the store may know it as it was long ago: confirm it anew, " +
			"should machines still have the older template"
	case fleet.ReasonMends:
		return fmt.Sprintf("%s: what differs from the template in force (%s) is mended, by order of %s", about(r),
			machines(r.Size), giver(r))
	case fleet.ReasonMended:
		return fmt.Sprintf("%s: all machines (%d) are as the template in force says", about(r), r.Size)
	default:
		return ""
	}
}

// changed says that a machine is changed by an update, or built by one beyond the size.
func changed(r record.Record) string {
	if r.Op == fleet.OpAdjust {
		return fmt.Sprintf("%s: hale adjusts %s to the template, in place, by order of %s (%s)", about(r), instance(r),
			giver(r), r.Repair)
	}
	anew := " anew"
	if r.Instance == "" {
		anew = ""
	}
	if r.Detail != "" {
		return fmt.Sprintf("%s: hale builds the machine%s from the template in force (%s)", about(r), anew, r.Repair)
	}
	return fmt.Sprintf("%s: hale builds the machine%s from another template, by order of %s (%s)", about(r), anew,
		giver(r), r.Repair)
}

// bound says what the metric is that an update goes by, and where its bound is.
func bound(r record.Record) string {
	if r.Metric == "" {
		return ""
	}
	return Aside("", QueryMetric(r.Metric)+" is "+Figure(r.Value)+", and its bound "+Figure(r.Goal))
}

// QueryMetric names the metric that an update goes by.
func QueryMetric(m fleet.MetricName) string { return "metric " + string(m) }

// Rollout says how an update stands, in one line.
func Rollout(u *belief.Update, now time.Time) string {
	switch {
	case u.Undoes != nil && u.Stopped != "":
		return Because("the rollout was to be undone, and that stopped", words.Reason(u.Stopped))
	case u.Undoes != nil:
		return Because("the rollout is being undone for "+Span(max(0, now.Sub(u.Undoes.At))),
			words.Reason(u.Undoes.Why))
	case u.Stopped != "":
		return Because("the rollout stopped", words.Reason(u.Stopped))
	case u.IsPaused():
		return Aside(fmt.Sprintf("the rollout is paused by %s for %s", u.Paused.By,
			Span(max(0, now.Sub(u.Paused.At)))), u.Paused.Reason)
	case u.Mends:
		return "what differs from the template in force is mended"
	case !u.Proven:
		return "another template is tried"
	}
	return "another template goes through the fleet"
}

// Drift says in what a machine differs from the template in force.
func Drift(m fleet.MachineName, facts []string) string {
	return Because(string(m)+" differs from the template in force", strings.Join(facts, "; "))
}
