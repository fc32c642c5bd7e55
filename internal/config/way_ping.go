package config

import (
	"hale/internal/fleet"
)

var pingWay = wayOf(fleet.CheckPing, "", "One ICMP echo.", object[struct{}]{},
	func(*fleetCompiler, at[struct{}], *fleet.Check) {}, func(*fleet.Check, *pairs) {})
