package config

import (
	"hale/internal/core/fleet"
	"hale/internal/keys"
)

var agentWay = wayOf(fleet.CheckAgent, "", "Ask the guest agent (QEMU's) inside the machine, by way of the provider: "+
	"no network comes into it. An instance that has no channel to its agent is unknown, not down.",
	keys.Object[struct{}]{},
	func(*fleetCompiler, keys.At[struct{}], *fleet.Check) {}, func(*fleet.Check, *pairs) {})
