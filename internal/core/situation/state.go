package situation

import (
	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// State is what is known of a fleet beside its machines, at one moment. The picture keeps it, a round of decisions
// rests on it, the guard asks it, and status shows it: all of them the same one.
type State struct {
	Now  fleet.Now
	Spec policy.Spec // with what is in force (Ledger.Force)
	// Acting is empty when hale may act, or why it may not.
	Acting fleet.Reason
	// SteadyAt ends the amnesty: until then every machine is judged afresh and nothing disruptive is begun (L9).
	SteadyAt fleet.Instant
	Provider fleet.ProviderState
	Roll     fleet.Roll   // the starts of hale that are noted at the provider's
	Hosts    []fleet.Host // sorted by name
	// Silent are the hosts of those that do not answer, where each speaks for itself.
	Silent []fleet.Silence
	// Cannot are the operations that the provider is known not to have.
	Cannot  []fleet.Op
	Vantage fleet.Vantage
	// Answers are the hosts that answer at an address of their own, where a machine of the fleet is silent.
	Answers []fleet.HostName
	// Still are the silent instances with processors that stood still between two readings.
	Still []fleet.InstanceID
	// Tolls count the other fleets, in each scope of Spec.Limits.Brakes.
	Tolls []belief.Toll
	// Unready are the fleets of Spec.After that do not serve, or may not.
	Unready []Ahead
	// Brake is the fleet's own; to the guard it is the one under which the fleet stands, its own or a shared one.
	Brake belief.Brake
	Whole belief.Whole
	// Gauges are what the metrics of Spec.Sizing were read to be, sorted by metric.
	Gauges []fleet.Gauge
	// Slots are the machines in repair of all fleets, to the guard also those that this round began to repair. They
	// count only under Spec.Limits.Shared.
	Slots budget.Slots
}

// Ahead is how a fleet stands that comes before this one.
type Ahead struct {
	Fleet fleet.Name
	Known bool // else nothing is: it was not heard of yet
	Size  int  // machines that are to serve
	Well  int  // those of them that are healthy
}
