package netprobe

import (
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

var agentKeys = kinds.CheckOf(policy.CheckAgent, "",
	"Ask the guest agent (QEMU's) inside the machine, by way of the provider: "+
		"no network comes into it. An instance that has no channel to its agent is unknown, not down.",
	keys.Object[struct{}]{},
	nil, nil)
