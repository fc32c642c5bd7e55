package engine

import (
	"strings"

	"hale/internal/core/fleet"
)

const (
	installationKey = "installation"
	fleetsPrefix    = "fleets/"
	slotsKey        = "slots"
)

func fleetPrefix(f fleet.Name) string       { return fleetsPrefix + string(f) + "/" }
func ownerKey(f fleet.Name) string          { return fleetPrefix(f) + "owner" }
func brakeKey(f fleet.Name) string          { return fleetPrefix(f) + "brake" }
func wholeKey(f fleet.Name) string          { return fleetPrefix(f) + "whole" }
func aliveKey(f fleet.Name) string          { return fleetPrefix(f) + "alive" }
func machinesPrefix(f fleet.Name) string    { return fleetPrefix(f) + "machines/" }
func machineKey(m fleet.MachineName) string { return machinesPrefix(m.Fleet()) + string(m) }
func pinKey(p fleet.ProviderName) string    { return "providers/" + string(p) + "/identity" }

// fleetOf returns the fleet that a key is about.
func fleetOf(key string) (fleet.Name, bool) {
	name, _, ok := strings.Cut(strings.TrimPrefix(key, fleetsPrefix), "/")
	return fleet.Name(name), ok && strings.HasPrefix(key, fleetsPrefix)
}
