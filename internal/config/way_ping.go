package config

import (
	"hale/internal/core/fleet"
	"hale/internal/keys"
)

var pingWay = wayOf(fleet.CheckPing, "", "One ICMP echo.", keys.Object[struct{}]{},
	func(*fleetCompiler, keys.At[struct{}], *fleet.Check) {}, func(*fleet.Check, *pairs) {})
