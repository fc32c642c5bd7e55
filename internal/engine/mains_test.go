package engine_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/engine/poller"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// mains are what can turn the hosts of a world off, and what can cut them from storage and network. They have a network
// of their own.
type mains struct {
	world *simulated.World
	means fleet.Means

	mu  sync.Mutex
	off map[fleet.HostName]bool
	cut map[fleet.HostName]bool
}

// mainsTake is how long one try takes.
const mainsTake = 3 * time.Second

func newMains(w *simulated.World, means fleet.Means) *mains {
	return &mains{world: w, means: means, off: map[fleet.HostName]bool{}, cut: map[fleet.HostName]bool{}}
}

// Means implements engine.Fencer: the same for every host.
func (m *mains) Means(fleet.HostName, []fleet.Name) fleet.Means { return m.means }

// Access implements engine.Fencer.
func (m *mains) Access(host fleet.HostName) (fleet.Access, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.means.Cuts == 0:
		return fleet.AccessUnknown, time.Time{}
	case m.cut[host]:
		return fleet.AccessCut, time.Now()
	}
	return fleet.AccessOpen, time.Now()
}

// SaidOff implements engine.Fencer.
func (m *mains) SaidOff(host fleet.HostName) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.off[host] {
		return time.Time{}
	}
	return time.Now()
}

// Watch implements engine.Fencer: the truth is at hand each time.
func (m *mains) Watch([]fleet.HostName) {}

// Fence implements engine.Fencer.
func (m *mains) Fence(ctx context.Context, host fleet.HostName, try int) (poller.Fenced, error) {
	const op = "mains.fence"
	select {
	case <-time.After(mainsTake):
	case <-ctx.Done():
		return poller.Fenced{}, fault.New(fault.UnknownOutcome, op, string(host), ctx.Err())
	}
	done, struck, verb := poller.Fenced{Proof: fleet.ProofHostOff}, m.off, verbs.LosesPower
	if try > m.means.Tries {
		done.Proof, struck, verb = fleet.ProofAccessCut, m.cut, verbs.CutsAccess
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if struck[host] {
		done.Already = true
		return done, nil
	}
	struck[host] = true
	lift, err := m.world.Inject(simulated.Happens{Verb: verb, Host: host})
	if err != nil {
		return poller.Fenced{}, fault.New(fault.Permanent, op, string(host), err)
	}
	if done.Proof == fleet.ProofHostOff {
		lift() // its machines stay off; that nobody reaches it has other reasons
	}
	return done, nil
}

// areOff returns the hosts that were turned off, sorted.
func (m *mains) areOff() []fleet.HostName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.off))
}
