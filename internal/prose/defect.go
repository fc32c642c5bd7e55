package prose

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// panicked names the part of hale that did.
func panicked(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonProviderPanicked:
		return "what speaks with provider " + string(r.Provider)
	case fleet.ReasonCommandPanicked:
		return "what runs commands for machines of provider " + string(r.Provider)
	case fleet.ReasonFencePanicked:
		return "what cuts the power of hosts of provider " + string(r.Provider)
	case fleet.ReasonTargetPanicked:
		return "what tells " + targetOf(r)
	case fleet.ReasonCheckPanicked:
		if r.Check == "" {
			return "a check"
		}
		return "check " + string(r.Check)
	case fleet.ReasonProbesPanicked:
		return "what runs the checks"
	case fleet.ReasonHeartbeatsPanicked:
		return "what hears heartbeats"
	case fleet.ReasonMetricPanicked:
		if r.Metric == "" {
			return "what reads a metric"
		}
		return "what reads metric " + string(r.Metric)
	default:
		return "what looks after the fleet"
	}
}

func defectFound(r record.Record) string {
	return Because(about(r)+": a defect: "+panicked(r)+" panicked", Aside(words.Reason(r.Reason), r.Detail))
}

func defectOver(r record.Record) string {
	return fmt.Sprintf("%s: %s, which panicked %s%s, has not done so for an hour",
		about(r), panicked(r), timesOf(r.Size), within(r))
}

func timesOf(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func within(r record.Record) string {
	if r.Took <= 0 {
		return ""
	}
	return " within " + Span(r.Took)
}
