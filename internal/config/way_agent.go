package config

import (
	"hale/internal/fleet"
)

var agentWay = wayOf(fleet.CheckAgent, "", "Ask the guest agent (QEMU's) inside the machine, by way of the provider: "+
	"no network comes into it. An instance that has no channel to its agent is unknown, not down.", object[struct{}]{},
	func(*fleetCompiler, at[struct{}], *fleet.Check) {}, func(*fleet.Check, *pairs) {})
