package fleets

import (
	"time"

	"hale/internal/config/times"
	"hale/internal/keys"
)

type checkDraft struct {
	own       keys.Own
	every     keys.At[time.Duration]
	timeout   keys.At[time.Duration]
	downAfter keys.At[int]
	upAfter   keys.At[int]
	down, up  keys.At[share]
	notEvery  keys.At[[]keys.At[times.Hours]]
	dependsOn keys.At[[]keys.At[string]]
	then      keys.At[checkThen]
	vantages  keys.At[int]
	agree     keys.At[int]
}

// checkThen is what follows when a check is down.
type checkThen string

const (
	thenHeal checkThen = "heal"
	thenTell checkThen = "tell"
)
