// Package exemplar is the fleet, and the town of hosts that it stands in, about which scores are published and which
// runs and tests of the simulator play that name no other.
//
// It promises that it changes with the defaults of the configuration only: a published figure is about this fleet.
package exemplar
