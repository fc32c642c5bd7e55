package prose

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/resized"
	"hale/internal/core/sizing"
	"hale/internal/prose/words"
)

// Opinion says what one opinion wants, with its numbers.
func Opinion(o *policy.Opinion, s *sizing.Said) string {
	switch {
	case s.Why == fleet.ReasonNoSay && o.Kind == policy.OpinionSchedule:
		return string(o.Name) + " has no say: none of its windows is open"
	case s.Why == fleet.ReasonNoSay:
		return string(o.Name) + " has no say at this time"
	case s.Why != "":
		return Because(string(o.Name)+" has no opinion, so that nothing is removed",
			Aside("metric "+string(o.Metric)+": "+
				words.Reason(s.Why), s.Detail))
	case o.Kind == policy.OpinionSchedule:
		return fmt.Sprintf("%s wants %s: one of its windows is open", o.Name, machines(s.Wants))
	}
	said := fmt.Sprintf("%s wants %s: %s is %s", o.Name, machines(s.Wants), o.Metric, Figure(s.Value))
	switch {
	case o.Kind == policy.OpinionTarget && o.PerMachine:
		said += fmt.Sprintf(" for a target of %s, which is %s in all machines", Figure(s.Goal), Figure(s.Total))
	case o.Kind == policy.OpinionTarget:
		said += fmt.Sprintf(", and each machine is to have %s of it", Figure(s.Goal))
	}
	if s.Low != s.Wants || s.High != s.Wants {
		said += fmt.Sprintf("; within its windows, %s", between(s.Low, s.High))
	}
	if s.Young {
		said += "; its window is not full yet, so that it wants no fewer"
	}
	return said
}

func between(low, high int) string {
	if low == high {
		return machines(low)
	}
	return fmt.Sprintf("%d to %d machines", min(low, high), max(low, high))
}

// Metric says what a metric is, and how old that is; or since when it says nothing, and why.
func Metric(m *policy.Metric, value *float64, age time.Duration, silent *resized.Silent, now time.Time) string {
	of := map[policy.MetricKind]string{
		policy.MetricPrometheus: "by Prometheus", policy.MetricCheck: "by check " + string(m.Check.Check),
		policy.MetricProvider: "by the provider", policy.MetricCommand: "by a program",
	}[m.Kind]
	var said []string
	switch {
	case value != nil:
		said = append(said, fmt.Sprintf("is %s, read %s ago", Figure(*value), Span(age)))
	case silent == nil:
		said = append(said, "was not read yet")
	}
	if silent != nil {
		told := ""
		if silent.Paged {
			told = "; a person was told"
		}
		said = append(said, fmt.Sprintf("says nothing for %s: %s%s", Span(max(0, now.Sub(silent.Since))),
			words.Reason(silent.Why), told))
	}
	return fmt.Sprintf("%s (%s) ", m.Name, of) + strings.Join(said, " and ")
}

// Forecast says what history foretells for this hour, and how well it did today.
func Forecast(h *resized.History) string {
	said := "history knows nothing of this hour"
	if h.Foretold > 0 {
		said = "history foretells " + machines(h.Foretold) + " for this hour"
	}
	if h.Judged > 0 {
		said += fmt.Sprintf("; of the %d hours that it foretold today it was too small in %d, and had %d machine-hours "+
			"to spare", h.Judged, h.Short, h.Spare)
	}
	return said
}

// Leaver says which machine goes, and why it is that one.
func Leaver(machine fleet.MachineName, why fleet.Reason) string {
	return fmt.Sprintf("%s: %s", machine, words.Reason(why))
}

// Machines counts them.
func Machines(n int) string { return machines(n) }
