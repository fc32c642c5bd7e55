package engine

import "hale/internal/fleet"

const installationKey = "installation"

func fleetPrefix(f fleet.Name) string       { return "fleets/" + string(f) + "/" }
func ownerKey(f fleet.Name) string          { return fleetPrefix(f) + "owner" }
func brakeKey(f fleet.Name) string          { return fleetPrefix(f) + "brake" }
func aliveKey(f fleet.Name) string          { return fleetPrefix(f) + "alive" }
func machinesPrefix(f fleet.Name) string    { return fleetPrefix(f) + "machines/" }
func machineKey(m fleet.MachineName) string { return machinesPrefix(m.Fleet()) + string(m) }
func pinKey(p fleet.ProviderName) string    { return "providers/" + string(p) + "/identity" }
