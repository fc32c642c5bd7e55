package netprobe

import (
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

var pingKeys = kinds.CheckOf(policy.CheckPing, "", "One ICMP echo.", keys.Object[struct{}]{},
	nil, nil)
