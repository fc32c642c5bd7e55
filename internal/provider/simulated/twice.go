package simulated

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// Hosts are independent where there are several: what one has of an id or a name, another may have, too. So an order
// about what is off asks the others first, as provider.Ref.Excused says.

// Stay leaves the instance's definition on another host, off, as a migration does that does not remove it. It reports
// false, and leaves nothing, where the instance or its name is on that host.
func (w *World) Stay(id fleet.InstanceID, host fleet.HostName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.guests[id]
	if g == nil || w.names[place{host, g.name}] != nil || w.hostExists(host) != nil {
		return false
	}
	w.leftOff(&guest{
		id: id, host: host, name: g.name, state: state{mark: g.mark}, network: g.network, metadata: g.metadata,
		disks: g.disks,
	}, fleet.StopMoved)
	return true
}

// Copy makes another instance of the instance's definition, mark included, on the same host, off, as a person does.
// It reports false, and makes nothing, when the id or the name is taken.
func (w *World) Copy(of, id fleet.InstanceID, name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.guests[of]
	if g == nil || w.vacant(id, g.host, name) != nil {
		return false
	}
	w.leftOff(&guest{
		id: id, host: g.host, name: name, state: state{mark: g.mark}, network: g.network, metadata: g.metadata,
	}, fleet.StopUnknown)
	return true
}

// leftOff adds the guest, which is off and was not ordered from the provider.
func (w *World) leftOff(g *guest, by fleet.Stop) {
	now := time.Now()
	w.enter(now, g)
	w.setPower(g, now, fleet.PowerOff, by)
}

// Undefine has the instance bear no definition any more, as `virsh undefine` of one that runs: it is gone once it is
// off.
func (w *World) Undefine(id fleet.InstanceID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.guests[id]
	if g == nil || g.power == fleet.PowerOff {
		return false
	}
	g.transient = true
	w.tell(g)
	return true
}

// TakeAway removes what the host has of the id, behind everybody's back.
func (w *World) TakeAway(id fleet.InstanceID, host fleet.HostName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.definition(id, host); g != nil {
		w.remove(g, time.Now())
	}
}

// definition is what the host has of the id; nil: nothing.
func (w *World) definition(id fleet.InstanceID, host fleet.HostName) *guest {
	if g := w.guests[id]; g != nil && g.host == host {
		return g
	}
	for _, g := range w.stayed[id] {
		if g.host == host {
			return g
		}
	}
	return nil
}

// meant is the guest that a call is about; nil: none is.
func (w *World) meant(ref provider.Ref) *guest {
	if g := w.definition(ref.ID, ref.Host); g != nil {
		return g
	}
	return w.guests[ref.ID]
}

// claim is what an order takes for itself on ref.Host: an id, and a name where it is given.
type claim struct {
	provider.Ref
	name string
}

// alone refuses a claim that another host has, or may have.
func (w *World) alone(client string, c claim) error {
	var silent []string
	for _, host := range w.options.Hosts {
		switch {
		case host == c.Host, w.replaced(host):
		case w.unreachable(client, host):
			if !slices.Contains(c.Excused, host) {
				silent = append(silent, string(host))
			}
		default:
			if g := w.definition(c.ID, host); g != nil {
				return conflict(c.Ref, fmt.Errorf("%s's id is on %s, too, and is %s there", g.name, host, g.power))
			}
			if g := w.names[place{host, c.name}]; g != nil && !g.gaveWay(c.Mark) {
				return conflict(c.Ref, fmt.Errorf("the name %s belongs to %s on %s", c.name, g.id, host))
			}
		}
	}
	if len(silent) > 0 {
		why := fmt.Errorf("%s did not answer, and may have it, too", strings.Join(silent, " and "))
		return fault.New(fault.Transient, "simulated.find", string(c.ID), why)
	}
	return nil
}

// gaveWay reports whether the guest is an earlier instance of the mark's machine that is off: it does not hold the
// machine's name on other hosts.
func (g *guest) gaveWay(to fleet.Mark) bool {
	has := g.bears()
	return g.power == fleet.PowerOff && has.Installation == to.Installation && has.Machine == to.Machine &&
		has.Generation < to.Generation
}

// sole refuses an order about a guest that does not run and that another host has, or may have; of one that has its
// process here, that is paused or crashed, only what another host says counts.
func (w *World) sole(client string, g *guest, ref provider.Ref) error {
	switch g.power {
	case fleet.PowerRunning:
		return nil
	case fleet.PowerPaused, fleet.PowerCrashed:
		ref.Excused = w.options.Hosts
	default:
	}
	return w.alone(client, claim{Ref: ref})
}
