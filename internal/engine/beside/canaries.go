package beside

import (
	"net/netip"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/picture"
	"hale/internal/probe"
)

// Vantage says how the engine finds out whether its own network works. The zero value: it does not.
type Vantage struct {
	Canaries []netip.Addr // each once
	Every    time.Duration
	Timeout  time.Duration
}

// canaryMachine stands for a canary where a target names a machine; no machine has such a name.
const canaryMachine = fleet.MachineName("canary")

// A canary is down sooner than a machine, and up as soon as it answers: in doubt, the vantage is at fault.
const (
	canaryDownAfter = 2
	canaryUpAfter   = 1
)

// Canaries are probed beside the machines, and by the same engine. Each fleet's owner asks for itself, since fleets may
// be probed in different ways.
type Canaries struct {
	vantage Vantage
	probes  probe.Engine
	heard   *picture.Canaries
	epoch   uint64 // which tells these canaries from those that were asked before
}

// AskCanaries has them probed.
func AskCanaries(v Vantage, probes probe.Engine, epoch uint64, now fleet.Now) *Canaries {
	c := &Canaries{vantage: v, probes: probes, heard: picture.NewCanaries(v.Canaries, now), epoch: epoch}
	for _, a := range v.Canaries {
		probes.Set(probe.Target{ID: canaryID(a), Address: a, Epoch: epoch, Spec: &policy.Check{
			Name: canaryID(a).Check, Kind: policy.CheckPing, Every: v.Every, Timeout: v.Timeout,
			DownAfter: canaryDownAfter, UpAfter: canaryUpAfter,
		}})
	}
	return c
}

func canaryID(a netip.Addr) probe.ID {
	return probe.ID{Machine: canaryMachine, Check: fleet.CheckName(a.String())}
}

// Next has those of the other vantage probed in their place.
func (c *Canaries) Next(v Vantage, now fleet.Now) *Canaries {
	c.End()
	return AskCanaries(v, c.probes, c.epoch+1, now)
}

// End ends their probing.
func (c *Canaries) End() {
	for _, a := range c.vantage.Canaries {
		c.probes.Remove(canaryID(a))
	}
}

// Hear takes in what one of them says, and reports whether it was one of these.
func (c *Canaries) Hear(e probe.Edge, now fleet.Now) bool {
	a, err := netip.ParseAddr(string(e.Check))
	if err != nil || e.Epoch != c.epoch {
		return false
	}
	c.heard.Hear(a, e.Standing, e.Result, now)
	return true
}

// Forget lets go what they said.
func (c *Canaries) Forget(why fleet.ResultReason, now fleet.Now) { c.heard.Forget(why, now) }

// Vantage is how hale's own sight stands, by them.
func (c *Canaries) Vantage() fleet.Vantage { return c.heard.Vantage() }
