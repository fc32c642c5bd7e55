package netprobe

import (
	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/kinds"
)

var pingKeys = kinds.CheckOf(fleet.CheckPing, "", "One ICMP echo.", keys.Object[struct{}]{},
	nil, nil)
