//go:build !linux

package bulkprobe

import (
	"errors"
	"time"
)

// errNoSockets says that this system is asked in the ordinary way only.
var errNoSockets = errors.New("bulkprobe: there are shards for Linux only")

func newSockets(*shard, Options, time.Time) (wire, error) { return nil, errNoSockets }
