// Package beside has the probes ask, beside a fleet's machines, what bears witness: canaries, that hale's own network
// works, and hosts with a machine that is silent, that they are reached.
package beside

import "hale/internal/probe"

// Of says what the edge is of: a canary, a host, or neither, but a machine.
func Of(e *probe.Edge) (canary, host bool) {
	return e.Machine == canaryMachine, e.Machine == hostMachine
}
