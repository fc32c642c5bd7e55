package fleet

import "time"

// Neighbourhood is the smallest part of the network that is known to reach a machine: its host, or its network where
// the provider names no host. Of two machines in one, either bears witness to the way there.
type Neighbourhood struct {
	Host    HostName
	Network string
}

// Neighbourhood returns the one that the instance lies in.
func (i *Incarnation) Neighbourhood() Neighbourhood {
	if i.Host != "" {
		return Neighbourhood{Host: i.Host}
	}
	return Neighbourhood{Network: i.Network}
}

// Hearing is what is heard in one neighbourhood, now, from where hale stands.
type Hearing struct {
	Neighbourhood
	Expected int // machines that should be heard
	Heard    int // of them, those that are
	// Delay is within which one of those would have failed a check by now, if the way there were broken.
	Delay time.Duration
}

// Join returns what two fleets hear in one neighbourhood. The witness that would fall silent sooner says more.
func (h Hearing) Join(other Hearing) Hearing {
	switch {
	case other.Heard == 0:
	case h.Heard == 0:
		h.Delay = other.Delay
	default:
		h.Delay = min(h.Delay, other.Delay)
	}
	h.Expected += other.Expected
	h.Heard += other.Heard
	return h
}

// HearsWithin returns how long it takes at most until a check of the fleet fails once a machine is silent, and whether
// there is one that goes over the network.
func (s *Spec) HearsWithin() (d time.Duration, some bool) {
	for i := range s.Checks {
		c := &s.Checks[i]
		if c.Kind == CheckAgent {
			continue
		}
		if t := c.Every + c.Timeout; !some || t < d {
			d, some = t, true
		}
	}
	return d, some
}

// SilencePolicy is what a fleet makes of silence to which nothing bears witness: no other machine near by is heard, and
// nothing else says that the machine is dead.
type SilencePolicy string

// What such silence means. The zero value holds.
const (
	SilenceHolds SilencePolicy = "hold" // only the way there may be broken: a person is told
	SilenceActs  SilencePolicy = "act"  // the machine has failed
)
