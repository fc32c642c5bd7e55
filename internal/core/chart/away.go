package chart

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// DeadHost returns the host of the instance if it does not answer.
func (c *Chart) DeadHost(i belief.Incarnation) (fleet.Host, bool) {
	if i.None() {
		return fleet.Host{}, false
	}
	return guard.DeadHost(i.Host, c.Situation)
}

// Away reports whether the instance was left behind on a host that still does not answer: what was last seen of it
// counts no more.
func (c *Chart) Away(id fleet.InstanceID) bool {
	at := c.M.LeftAt(id)
	if at < 0 {
		return false
	}
	_, dead := c.DeadHost(c.M.Left[at].Incarnation)
	return dead
}

// HeldCut reports whether the instance was left behind cut, and its host, which answers, is known to be cut still: then
// it is turned off as any other.
func (c *Chart) HeldCut(id fleet.InstanceID) bool {
	at := c.M.LeftAt(id)
	// It may have been moved, not by hale.
	if at < 0 || !c.M.Left[at].Cut() || c.View.Sighting(id).Instance.Host != c.M.Left[at].Host {
		return false
	}
	return slices.ContainsFunc(c.Situation.Hosts, func(h fleet.Host) bool {
		return h.Name == c.M.Left[at].Host && h.Up && h.Fence.Access == fleet.AccessCut &&
			h.Fence.AccessAt > c.M.Left[at].Since
	})
}

// TakeBack makes what was left behind the machine again, where a repair ends without anything in its place: the next
// one looks at it and proves it off anew, since its host may have been turned on meanwhile, and the instance with it.
func (c *Chart) TakeBack(r *belief.Repair) {
	if !r.Removed || !c.M.Current.None() || c.M.LeftAt(r.Target.ID) < 0 {
		return
	}
	c.M.Current = r.Target
	c.M.Retrieve(r.Target.ID)
	c.M.Epoch++
}

// LeftRuns reports whether something that was left behind off is known to run by now, or what was left behind cut to be
// so no more: nothing is built beside it (L1).
func (c *Chart) LeftRuns() bool {
	return c.M.Rivalled() || slices.ContainsFunc(c.M.Left, func(l belief.LeftBehind) bool {
		return !c.Away(l.ID) && c.View.Sighting(l.ID).Instance.Power == fleet.PowerRunning
	})
}
