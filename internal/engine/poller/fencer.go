package poller

import (
	"context"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Fencer cuts the power of a provider's hosts, or their access to storage or network.
type Fencer interface {
	// Means says how often the host's power can be tried to be cut, how often then its access, how long one try may
	// take, and for how long the host is left as it is before. Seen are the fleets, of all owners, with machines on it
	// when it answered last; nil: unknown.
	Means(host fleet.HostName, seen []fleet.Name) fleet.Means
	// Access is what was last said of the host's access, and when.
	Access(host fleet.HostName) (fleet.Access, time.Time)
	// SaidOff is when the host's power controller said last that it is off; zero: it says that it is on, or nothing.
	SaidOff(host fleet.HostName) time.Time
	// Watch has the controllers of these hosts asked often from now on, and of no others.
	Watch(hosts []fleet.HostName)
	// Fence makes one of these tries, from 1. Without an error the host is proven off, or cut. fault.UnknownOutcome:
	// something was asked for, and nothing knows what became of it. It may be tried again after any error.
	Fence(ctx context.Context, host fleet.HostName, try int) (Fenced, error)
}

// Fenced is what one try proved.
type Fenced struct {
	Proof   fleet.Proof // that the host is off, or cut
	Already bool        // it was so before anything was asked for
}

// fenced says of each host how its power can be cut, and of one that does not answer whether users may be served by it.
func (s *Poller) fenced(hosts []fleet.Host) []fleet.Host {
	f := s.Source.Fencer
	if f == nil {
		return hosts
	}
	now := s.clock.Now().Mono
	cuts := false
	var silent []fleet.HostName
	for i := range hosts {
		h := &hosts[i]
		h.Fence = f.Means(h.Name, s.seen[h.Name])
		if !h.Up && h.Fence.Tries+h.Fence.Cuts > 0 {
			h.Serves = s.serves == nil || s.serves(h.Name)
			silent = append(silent, h.Name)
			if at := f.SaidOff(h.Name); !at.IsZero() {
				h.Fence.OffAt = now.Add(-time.Since(at))
			}
		}
		if h.Fence.Cuts > 0 {
			cuts = true
			if access, at := f.Access(h.Name); access != fleet.AccessUnknown {
				h.Fence.Access, h.Fence.AccessAt = access, now.Add(-time.Since(at))
			}
		}
	}
	if cuts && s.rests != nil {
		silent = append(silent, s.rests()...)
	}
	f.Watch(silent)
	return hosts
}

// remember notes which fleets have machines on each host that answered.
func (s *Poller) remember(l provider.Listing) {
	if s.Source.Fencer == nil {
		return
	}
	for _, h := range l.Hosts {
		if h.Err == nil {
			s.seen[h.Name] = []fleet.Name{}
		}
	}
	for i := range l.Instances {
		in := &l.Instances[i]
		if seen := s.seen[in.Host]; in.Power == fleet.PowerRunning && in.Mark.Fleet != "" &&
			!slices.Contains(seen, in.Mark.Fleet) {
			s.seen[in.Host] = append(seen, in.Mark.Fleet)
		}
	}
}
