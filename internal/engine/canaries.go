package engine

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

// beginCanaries has the canaries probed, beside the machines and by the same engine. Each fleet's owner asks for
// itself, since fleets may be probed in different ways.
func (t *term) beginCanaries(now fleet.Now, epoch uint64) {
	t.canaries, t.canaryEpoch = picture.NewCanaries(t.vantage.Canaries, now), epoch
	t.own.SetVantage(t.canaries.Vantage())
	for _, a := range t.vantage.Canaries {
		t.probes.Set(probe.Target{ID: canaryID(a), Address: a, Epoch: epoch, Spec: &policy.Check{
			Name: canaryID(a).Check, Kind: policy.CheckPing, Every: t.vantage.Every, Timeout: t.vantage.Timeout,
			DownAfter: canaryDownAfter, UpAfter: canaryUpAfter,
		}})
	}
}

func canaryID(a netip.Addr) probe.ID {
	return probe.ID{Machine: canaryMachine, Check: fleet.CheckName(a.String())}
}

func (t *term) endCanaries() {
	for _, a := range t.vantage.Canaries {
		t.probes.Remove(canaryID(a))
	}
}

// hearCanary takes in what a canary says.
func (t *term) hearCanary(e probe.Edge) {
	a, err := netip.ParseAddr(string(e.Check))
	if err != nil || e.Epoch != t.canaryEpoch || t.own.Deaf() {
		return
	}
	t.canaries.Hear(a, e.Standing, e.Result, t.clock.Now())
	t.lookAround()
}

// lookAround tells the picture how the vantage stands.
func (t *term) lookAround() {
	v, was := t.canaries.Vantage(), t.own.State().Vantage
	if v.Standing != was.Standing {
		t.log.Info("vantage", "standing", v.Standing, "detail", v.Detail)
	}
	t.own.SetVantage(v)
}
