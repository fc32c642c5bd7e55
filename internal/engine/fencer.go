package engine

import (
	"context"

	"hale/internal/fleet"
)

// Fencer cuts the power of a provider's hosts.
type Fencer interface {
	// Means says how often the host's power can be tried to be cut, and how long one try may take.
	Means(host fleet.HostName) fleet.Means
	// Fence makes one of these tries, from 1. Without an error the host is proven off; already says that it was so before anything was ordered.
	// fault.UnknownOutcome: something was ordered, and nobody knows what became of it. It may be tried again after any error.
	Fence(ctx context.Context, host fleet.HostName, try int) (already bool, err error)
}

// serves returns a function that says whether a machine of any fleet on the provider is not known to fail on the host. Of a fleet that another server looks
// after nothing is known here: then there may be one.
func (e *Engine) serves(of fleet.ProviderName) func(fleet.HostName) bool {
	return func(host fleet.HostName) bool {
		for _, f := range e.Status() {
			if f.Spec.Provider != of {
				continue
			}
			if f.Acting == fleet.ReasonNotOwner {
				return true
			}
			for i := range f.Machines {
				m := &f.Machines[i].Machine
				if m.Current.Host == host && !m.Current.None() && m.Health.Verdict != fleet.VerdictUnhealthy {
					return true
				}
			}
		}
		return false
	}
}

// fenced says of each host how its power can be cut, and of one that does not answer whether somebody may be served by it.
func (s *sentinel) fenced(hosts []fleet.Host) []fleet.Host {
	if s.src.Fencer == nil {
		return hosts
	}
	for i := range hosts {
		h := &hosts[i]
		if h.Fence = s.src.Fencer.Means(h.Name); !h.Up && h.Fence.Tries > 0 {
			h.Serves = s.serves == nil || s.serves(h.Name)
		}
	}
	return hosts
}
