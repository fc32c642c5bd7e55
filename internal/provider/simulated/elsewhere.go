package simulated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

var errNowhere = errors.New("no other host takes it")

// Evacuate implements provider.Evacuator. The guest begins anew, on the host with the fewest.
func (p *Provider) Evacuate(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpEvacuate, ref, func(w *World, now time.Time) (bool, error) {
		return w.leave(ref, func(g *guest) error {
			if !w.unreachable("", g.host) {
				return conflict(ref, errors.New("its host answers"))
			}
			if err := w.moveOut(g, now); err != nil {
				return err
			}
			g.ills, g.life.DiskBoots = nil, 0
			w.powerOn(g, now)
			w.infect(g, now)
			return nil
		})
	})
}

// Migrate implements provider.Migrator.
func (p *Provider) Migrate(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpMigrate, ref, func(w *World, now time.Time) (bool, error) {
		return w.leave(ref, func(g *guest) error {
			if g.power != fleet.PowerRunning {
				return conflict(ref, fmt.Errorf("it is %s", g.power))
			}
			return w.moveOut(g, now)
		})
	})
}

// leave moves the guest that the reference names, unless it has left already.
func (w *World) leave(ref provider.Ref, move func(*guest) error) (bool, error) {
	if g, ok := w.guests[ref.ID]; ok && g.host != ref.Host {
		return false, nil
	}
	g, err := w.mine(ref)
	if err == nil {
		err = move(g)
	}
	return err == nil, err
}

// moveOut puts the guest on the host with the fewest guests that takes it.
func (w *World) moveOut(g *guest, now time.Time) error {
	load := map[fleet.HostName]int{}
	for _, other := range w.guests {
		load[other.host]++
	}
	best, found := fleet.HostName(""), false
	for _, h := range w.options.Hosts {
		_, taken := w.names[place{h, g.name}]
		if h != g.host && !taken && !w.unreachable("", h) && !w.disabled(h) && (!found || load[h] < load[best]) {
			best, found = h, true
		}
	}
	if !found {
		return fault.New(fault.Permanent, "simulated.move", string(g.id), errNowhere)
	}
	w.transfer(g, best, now)
	return nil
}
