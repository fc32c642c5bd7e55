package belief

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// HostReboots is how often a host took machines of the fleet along, which hale started again. It is never changed in
// place.
type HostReboots struct {
	Host fleet.HostName
	// At is when each was noticed, within the time of policy.Repair.AttemptsIn; the oldest first.
	At    []time.Time
	Paged bool `json:",omitempty"` // a person was told
}

// Most hosts that a fleet counts the reboots of, and most that it counts of one.
const (
	MostRebooting = 64
	MostReboots   = 32
)

// Lately returns the reboots that count now.
func (h *HostReboots) Lately(within time.Duration, now fleet.Now) []time.Time {
	at := slices.IndexFunc(h.At, func(t time.Time) bool { return !now.Reached(t.Add(within)) })
	if at < 0 {
		return nil
	}
	return h.At[at:]
}

// Take counts a reboot that a machine noticed, whose trouble began at the time: not, when another machine noticed it
// already.
func (h HostReboots) Take(began time.Time, now fleet.Now) HostReboots {
	if n := len(h.At); n > 0 && !began.After(h.At[n-1]) {
		return h
	}
	h.At = append(slices.Clone(h.At[max(0, len(h.At)-MostReboots+1):]), now.Wall)
	return h
}

func (h HostReboots) equal(o HostReboots) bool {
	return h.Host == o.Host && h.Paged == o.Paged && slices.EqualFunc(h.At, o.At, time.Time.Equal)
}
