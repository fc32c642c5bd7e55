package fleet

import "time"

// Neighbourhood is the smallest part of the network that is known to reach a machine: its host, or its network where
// the provider names no host. Of two machines in one, either bears witness to the way there.
type Neighbourhood struct {
	Host    HostName
	Network string
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
