package engine

import (
	"context"
	"net/netip"

	"hale/internal/core/fleet"
	"hale/internal/engine/beside"
	"hale/internal/engine/fellows"
	"hale/internal/probe"
)

// While a machine is silent, who else is heard near it matters: machines of other fleets, and the host's own address,
// which is asked for as long as that.

// besides is what one owner asks beside its machines.
type besides struct {
	next  fleet.Instant // when to look again
	open  bool          // a machine was open when it was looked last
	hosts beside.Hosts
}

// lookBeside learns what there is to learn near the machines that are silent.
func (t *term) lookBeside(ctx context.Context, now fleet.Now) {
	open := len(t.own.Open()) > 0 || len(t.own.State().Whole.Parents) > 0
	if now.Mono < t.beside.next && (t.beside.open || !open) {
		return
	}
	t.beside.next, t.beside.open = now.Mono.Add(fellows.Every), open
	if open { // before anything is decided about a machine that fails first
		t.own.SetLots(t.fellows.Lots(t.spec.Provider, t.spec.Name))
	}
	silenced := t.own.Silenced()
	t.own.SetOthers(t.fellows.Hear(t.spec.Provider, t.spec.Name, silenced))
	t.askHosts(silenced)
	t.readMeters(ctx, now)
}

// askHosts has the hosts asked on which a machine is silent, and no others.
func (t *term) askHosts(silenced []fleet.Neighbourhood) {
	wanted := map[fleet.HostName]netip.Addr{}
	on := make(map[fleet.HostName]bool, len(silenced))
	for _, n := range silenced {
		on[n.Host] = true
	}
	for _, h := range t.own.State().Hosts {
		if h.Address.IsValid() && on[h.Name] {
			wanted[h.Name] = h.Address
		}
	}
	t.beside.hosts.Ask(t.probes, wanted)
	t.own.SetAnswers(t.beside.hosts.Answering())
}

// hearBeside takes in what canaries and hosts say, and reports whether the edge is one of theirs.
func (t *term) hearBeside(e probe.Edge) bool {
	canary, host := beside.Of(&e)
	switch {
	case t.own.Deaf():
	case canary && t.canaries.Hear(e, t.clock.Now()):
		t.lookAround()
	case host && t.beside.hosts.Hear(e):
		t.own.SetAnswers(t.beside.hosts.Answering())
	}
	return canary || host
}

// askCanaries has the canaries asked from now on.
func (t *term) askCanaries(c *beside.Canaries) {
	t.canaries = c
	t.own.SetVantage(c.Vantage())
}

// lookAround tells the picture how the vantage stands.
func (t *term) lookAround() {
	v, was := t.canaries.Vantage(), t.own.State().Vantage
	if v.Standing != was.Standing {
		t.log.Info("vantage", "standing", v.Standing, "detail", v.Detail)
	}
	t.own.SetVantage(v)
}
