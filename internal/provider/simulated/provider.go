package simulated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// Provider is one client's handle on a world.
type Provider struct {
	world  *World
	client string
	close  sync.Once
	closed chan struct{}
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Watcher  = (*Provider)(nil)

	_ provider.Resumer      = (*Provider)(nil)
	_ provider.Rescuer      = (*Provider)(nil)
	_ provider.SoftRebooter = (*Provider)(nil)
	_ provider.Keeper       = (*Provider)(nil)
	_ provider.Snapshotter  = (*Provider)(nil)
	_ provider.Rebuilder    = (*Provider)(nil)
	_ provider.Rehearser    = (*Provider)(nil)
	_ provider.GuestPinger  = (*Provider)(nil)
	_ provider.MeterReader  = (*Provider)(nil)
	_ provider.Evacuator    = (*Provider)(nil)
	_ provider.Migrator     = (*Provider)(nil)

	_ provider.ConsoleReader = (*Provider)(nil)
	_ provider.Screenshooter = (*Provider)(nil)
	_ provider.StartReader   = (*Provider)(nil)
	_ provider.StartNoter    = (*Provider)(nil)
)

var (
	errInjected    = errors.New("injected fault")
	errUnreachable = errors.New("unreachable")
	errForeign     = errors.New("it bears another mark")
	errAside       = errors.New("it was put aside")
)

// Close implements provider.Provider. The world goes on.
func (p *Provider) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// Identity implements provider.Reader.
func (p *Provider) Identity(ctx context.Context) (map[fleet.HostName]string, error) {
	ids := map[fleet.HostName]string{}
	err := p.read(ctx, OpIdentity, provider.Ref{}, func(time.Time) error {
		w := p.world
		for _, host := range w.options.Hosts {
			switch {
			case w.unreachable(p.client, host):
			case w.replaced(host):
				ids[host] = "other-than-" + w.identity(host)
			default:
				ids[host] = w.identity(host)
			}
		}
		if len(ids) == 0 {
			return fault.New(fault.Transient, "simulated.identity", "", errUnreachable)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.waitForAll(ctx)
	return ids, nil
}

// waitForAll takes the caller's time while a host hangs.
func (p *Provider) waitForAll(ctx context.Context) {
	if _, bounded := ctx.Deadline(); bounded && p.world.hangs() {
		<-ctx.Done()
	}
}

// List implements provider.Reader. Instances are sorted by host, name and id.
func (p *Provider) List(ctx context.Context) (provider.Listing, error) {
	var l provider.Listing
	err := p.read(ctx, OpList, provider.Ref{}, func(now time.Time) error {
		l = p.world.listing(p.client, now)
		if !slices.ContainsFunc(l.Hosts, func(a provider.HostAnswer) bool { return a.Err == nil }) {
			return fault.New(fault.Transient, "simulated.list", "", errUnreachable)
		}
		return nil
	})
	if err != nil {
		return provider.Listing{}, err
	}
	p.waitForAll(ctx)
	return l, nil
}

// Get implements provider.Reader.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (fleet.Instance, error) {
	var seen fleet.Instance
	err := p.read(ctx, OpGet, ref, func(now time.Time) error {
		g, err := p.world.at(ref)
		if err != nil {
			return err
		}
		seen = p.world.said(OpGet, g.report(g.state, now))
		return nil
	})
	return seen, err
}

// Start implements provider.Power. A paused instance goes on; the remains of a crashed one, and what was put aside, are a Conflict.
func (p *Provider) Start(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpStart, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.at(ref)
		if err == nil {
			err = w.sole(p.client, g, ref)
		}
		switch {
		case err != nil:
			return false, err
		case g.bears().Kept:
			return false, conflict(ref, errAside)
		}
		switch g.power {
		case fleet.PowerRunning:
			return false, nil
		case fleet.PowerPaused:
			if g.stop == fleet.StopRescue {
				return false, conflict(ref, errRescued)
			}
			w.setPower(g, now, fleet.PowerRunning, fleet.StopUnknown)
		case fleet.PowerCrashed:
			return false, conflict(ref, errors.New("its remains must be powered off first"))
		default:
			w.powerOn(g, now)
		}
		return true, nil
	})
}

// Resume implements provider.Resumer.
func (p *Provider) Resume(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpResume, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.at(ref)
		switch {
		case err != nil || g.power == fleet.PowerRunning:
			return false, err
		case g.power != fleet.PowerPaused || g.stop == fleet.StopIOError || g.stop == fleet.StopRescue:
			return false, conflict(ref, fmt.Errorf("it is %s %s", g.power, g.stop))
		}
		if err := w.sole(p.client, g, ref); err != nil {
			return false, err
		}
		w.setPower(g, now, fleet.PowerRunning, fleet.StopUnknown)
		return true, nil
	})
}

// RebootSoft implements provider.SoftRebooter. A guest that hangs, or never came up, does not listen.
func (p *Provider) RebootSoft(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpSoftReboot, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(ref)
		switch {
		case err != nil:
			return false, err
		case g.power != fleet.PowerRunning:
			return false, conflict(ref, fmt.Errorf("it is %s", g.power))
		case g.hangs() || g.has(NeverBoots) || now.Before(g.bootsAt):
			return false, nil
		}
		w.powerOn(g, now)
		return true, nil
	})
}

// Reboot implements provider.Power. An instance that is off is a Conflict.
func (p *Provider) Reboot(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpReboot, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(ref)
		if err != nil {
			return false, err
		}
		if g.power == fleet.PowerOff {
			return false, conflict(ref, errors.New("it is off"))
		}
		if err := w.sole(p.client, g, ref); err != nil {
			return false, err
		}
		w.powerOn(g, now)
		return true, nil
	})
}

// PowerOff implements provider.Power.
func (p *Provider) PowerOff(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpPowerOff, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(ref)
		if err == nil {
			err = w.sole(p.client, g, ref)
		}
		if err != nil || g.power == fleet.PowerOff {
			return false, err
		}
		w.setPower(g, now, fleet.PowerOff, fleet.StopExternal)
		return true, nil
	})
}

// Create implements provider.Builder. Of the template the network, the metadata and the kept disks are looked at, and the image is remembered.
func (p *Provider) Create(ctx context.Context, order provider.Order) error {
	return p.change(ctx, fleet.OpCreate, order.Ref, func(w *World, now time.Time) (bool, error) {
		if w.replaced(order.Host) {
			return false, nil
		}
		if err := w.alone(p.client, claim{order.Ref, order.Name}); err != nil {
			return false, err
		}
		if err := w.vacant(order.ID, order.Host, order.Name); err != nil {
			return false, err
		}
		if err := w.missing(order); err != nil {
			return false, err
		}
		order.Mark.Instance = order.ID
		g := w.add(now, order.ID, order.Host, order.Name, order.Mark)
		w.attach(g, order.Template)
		g.network, g.metadata, g.life.Image = order.Template.Network, order.Template.Metadata, order.Template.Image
		w.powerOn(g, now)
		w.infect(g, now)
		return true, nil
	})
}

// Rebuild implements provider.Rebuilder.
func (p *Provider) Rebuild(ctx context.Context, order provider.Order) error {
	return p.change(ctx, fleet.OpRebuild, order.Ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(order.Ref)
		switch {
		case err != nil:
			return false, err
		case g.power != fleet.PowerOff:
			return false, conflict(order.Ref, fmt.Errorf("it is %s", g.power))
		case g.mark.Kept:
			return false, conflict(order.Ref, errAside)
		}
		if err := w.alone(p.client, claim{Ref: order.Ref}); err != nil {
			return false, err
		}
		g.ills, g.life.DiskBoots = nil, 0
		w.powerOn(g, now)
		w.infect(g, now)
		return true, nil
	})
}

// Delete implements provider.Builder.
func (p *Provider) Delete(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpDelete, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(ref)
		there := !fault.Is(err, fault.NotFound)
		switch {
		case there && err != nil:
			return false, err
		case there && g.power != fleet.PowerOff:
			return false, conflict(ref, fmt.Errorf("it is %s", g.power))
		}
		if err := w.alone(p.client, claim{Ref: ref}); err != nil || !there {
			return false, err
		}
		w.remove(g, now)
		return true, nil
	})
}

// Certify implements provider.Builder.
func (p *Provider) Certify(ctx context.Context, ref provider.Ref) error {
	ref.Adopted = false // it has no mark to be written on
	return p.change(ctx, fleet.OpCertify, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(ref)
		if err != nil || g.mark.Certified && g.mark.Instance != "" {
			return false, err
		}
		g.mark.Certified, g.mark.Instance = true, g.id
		g.remember(now)
		return true, nil
	})
}

func conflict(ref provider.Ref, why error) error {
	return fault.New(fault.Conflict, "simulated.find", string(ref.ID), why)
}

// at returns the guest that the reference names, whatever its mark.
func (w *World) at(ref provider.Ref) (*guest, error) {
	if err := w.hostExists(ref.Host); err != nil {
		return nil, err
	}
	g := w.definition(ref.ID, ref.Host)
	if g == nil || w.replaced(ref.Host) {
		return nil, fault.New(fault.NotFound, "simulated.find", string(ref.ID), nil)
	}
	return g, nil
}

// mine returns the guest that the reference names if it bears the reference's mark.
func (w *World) mine(ref provider.Ref) (*guest, error) {
	g, err := w.at(ref)
	if err != nil {
		return nil, err
	}
	has := g.bears()
	if ref.Adopted {
		if has != (fleet.Mark{}) || ref.Mark != (fleet.Mark{}) {
			return nil, conflict(ref, errForeign)
		}
		return g, nil
	}
	if has == (fleet.Mark{}) || has.Installation != ref.Mark.Installation || has.Machine != ref.Mark.Machine ||
		has.Generation != ref.Mark.Generation {
		return nil, conflict(ref, errForeign)
	}
	return g, nil
}

// said returns what the provider says for what is so.
func (w *World) said(op fleet.Op, i fleet.Instance) fleet.Instance {
	f, lies := inForce(w, func(f Misreported) bool { return f.Instance == i.ID && (f.Op == "" || f.Op == op) })
	if lies {
		i.Power, i.Stop = f.Power, f.Stop
	}
	if network, fixed := w.options.Networks[i.Host]; fixed {
		i.Network = network
	}
	return i
}

// listing is the provider's answer to the client's List.
func (w *World) listing(client string, now time.Time) provider.Listing {
	var l provider.Listing
	shown := map[fleet.HostName]bool{}
	_, empty := inForce(w, func(EmptyLists) bool { return true })
	for i, host := range w.options.Hosts {
		answer := provider.HostAnswer{Name: host, Place: w.options.Places[host], Disabled: w.disabled(host),
			Independent: len(w.options.Hosts) > 1, Address: hostAddress(i)}
		if w.unreachable(client, host) {
			answer.Err = fault.New(fault.Transient, "simulated.list", string(host), errUnreachable)
		}
		shown[host] = answer.Err == nil && !empty && !w.replaced(host)
		l.Hosts = append(l.Hosts, answer)
	}
	stale, _ := inForce(w, func(StaleLists) bool { return true })
	then := now.Add(-stale.Age)
	for _, g := range w.sorted() {
		if s, existed := g.stateAt(then); existed && shown[g.host] {
			l.Instances = append(l.Instances, w.said(OpList, g.report(s, then)))
		}
	}
	return l
}

// sorted returns every guest, those lately removed included.
func (w *World) sorted() []*guest {
	all := slices.Clone(w.gone)
	for _, g := range w.guests {
		all = append(all, g)
	}
	for _, some := range w.stayed {
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b *guest) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	return all
}

// over reports why the handle cannot send: its context or the handle itself ended.
func (p *Provider) over(ctx context.Context) error {
	select {
	case <-p.closed:
		return net.ErrClosed
	default:
		return ctx.Err()
	}
}
