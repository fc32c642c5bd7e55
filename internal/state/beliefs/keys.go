package beliefs

import (
	"strings"

	"hale/internal/core/fleet"
)

// The keys of what is the same for all fleets, and where those of fleets begin.
const (
	InstallationKey = "installation"
	FleetsPrefix    = "fleets/"
	SlotsKey        = "slots"
)

func fleetPrefix(f fleet.Name) string { return FleetsPrefix + string(f) + "/" }

// OwnerKey is where the fleet's owner lies, under its lease.
func OwnerKey(f fleet.Name) string { return fleetPrefix(f) + "owner" }

// BrakeKey is where the fleet's brake lies.
func BrakeKey(f fleet.Name) string { return fleetPrefix(f) + "brake" }

// WholeKey is where lies what is believed of the fleet as a whole.
func WholeKey(f fleet.Name) string { return fleetPrefix(f) + "whole" }

// AliveKey is where the owner writes that it could write.
func AliveKey(f fleet.Name) string { return fleetPrefix(f) + "alive" }

// MachinesPrefix begins the keys of the fleet's machines.
func MachinesPrefix(f fleet.Name) string { return fleetPrefix(f) + "machines/" }

// MachineKey is where lies what is believed of the machine.
func MachineKey(m fleet.MachineName) string { return MachinesPrefix(m.Fleet()) + string(m) }

// PinKey is where the identity of the provider lies that answered first.
func PinKey(p fleet.ProviderName) string { return "providers/" + string(p) + "/identity" }

// FleetOf returns the fleet that a key is about.
func FleetOf(key string) (fleet.Name, bool) {
	name, _, ok := strings.Cut(strings.TrimPrefix(key, FleetsPrefix), "/")
	return fleet.Name(name), ok && strings.HasPrefix(key, FleetsPrefix)
}
