package config

import (
	"time"

	"hale/internal/core/fleet"
)

// The defaults of what is no fleet's own.
const (
	defaultPoll = 5 * time.Second
	// What fleets share bounds what goes wrong with all of them at once, and leaves each its own policy until then.
	defaultSharedBrakePercent = 50
	defaultSharedBrakeAtLeast = 10
	defaultSharedInRepair     = 40
	defaultProviderInRepair   = 20
	defaultCanaryEvery        = time.Second
	defaultCanaryTimeout      = 500 * time.Millisecond
)

const maxSize = fleet.LargestSize
