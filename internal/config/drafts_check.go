package config

import (
	"time"

	"hale/internal/fleet"
)

type checkDraft struct {
	ways      map[fleet.CheckKind]any // of each way, the *at of what is written under its key
	every     at[time.Duration]
	timeout   at[time.Duration]
	downAfter at[int]
	upAfter   at[int]
	down, up  at[share]
	notEvery  at[[]at[hoursDraft]]
	dependsOn at[[]at[string]]
}

// hoursDraft is a time of the day: a text, or with days and a zone.
type hoursDraft struct {
	times at[clock]
	days  at[[]at[time.Weekday]]
	zone  at[string]
}
