// Package defects says which panics are a fleet's business, and what is recorded of one.
package defects

import (
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/defect"
)

// Concerns reports whether a panic there is the fleet's business.
func Concerns(spec *policy.Spec, at defect.Place) bool {
	switch at.Part {
	case defect.Provider, defect.Commands, defect.Fence:
		return at.Of == string(spec.Provider)
	case defect.Target:
		return slices.ContainsFunc(spec.Notify.To, func(r policy.Recipient) bool { return string(r.Target) == at.Name })
	case defect.Check, defect.Owner, defect.Metric:
		return at.Of == string(spec.Name)
	case defect.Probes:
		return at.Of == "" || at.Of == string(spec.Name)
	case defect.Heartbeats:
		return slices.ContainsFunc(spec.Asked(), func(c *policy.Check) bool { return c.Kind == policy.CheckHeartbeat })
	case defect.Surface:
	}
	return false
}

// defectReasons name the parts in the fleet's words.
var defectReasons = map[defect.Part]fleet.Reason{
	defect.Provider:   fleet.ReasonProviderPanicked,
	defect.Commands:   fleet.ReasonCommandPanicked,
	defect.Fence:      fleet.ReasonFencePanicked,
	defect.Target:     fleet.ReasonTargetPanicked,
	defect.Check:      fleet.ReasonCheckPanicked,
	defect.Probes:     fleet.ReasonProbesPanicked,
	defect.Heartbeats: fleet.ReasonHeartbeatsPanicked,
	defect.Metric:     fleet.ReasonMetricPanicked,
	defect.Owner:      fleet.ReasonOwnerPanicked,
}

// Record says that the place began to panic.
func Record(e defect.Entry) record.Record {
	r := record.Record{Kind: record.Defect, Reason: defectReasons[e.Place.Part], Detail: e.Said}
	switch e.Place.Part {
	case defect.Target:
		r.Target = policy.TargetName(e.Place.Name)
	case defect.Check:
		r.Check = fleet.CheckName(e.Place.Name)
	case defect.Metric:
		r.Metric = fleet.MetricName(e.Place.Name)
	default:
	}
	return r
}
