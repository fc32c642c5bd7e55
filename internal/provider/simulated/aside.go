package simulated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hale/internal/fleet"
	"hale/internal/provider"
)

// Keep implements provider.Keeper.
func (p *Provider) Keep(ctx context.Context, ref provider.Ref, name string) error {
	return p.putAside(ctx, fleet.OpKeep, ref, fmt.Sprintf("%s-kept-g%d", name, ref.Mark.Generation), true)
}

// Restore implements provider.Keeper.
func (p *Provider) Restore(ctx context.Context, ref provider.Ref, name string) error {
	return p.putAside(ctx, fleet.OpRestore, ref, name, false)
}

func (p *Provider) putAside(ctx context.Context, op fleet.Op, ref provider.Ref, name string, kept bool) error {
	c := claim{Ref: ref}
	if !kept {
		c.name = name
	}
	return p.change(ctx, op, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(ref)
		switch {
		case err != nil || g.mark.Kept == kept:
			return false, err
		case g.power != fleet.PowerOff:
			return false, conflict(ref, fmt.Errorf("it is %s", g.power))
		case w.names[place{g.host, name}] != nil:
			return false, conflict(ref, errors.New("the name is taken"))
		}
		if err := w.alone(p.client, c); err != nil {
			return false, err
		}
		delete(w.names, place{g.host, g.name})
		g.name = name
		w.names[place{g.host, g.name}] = g
		g.mark.Kept, g.mark.Instance = kept, g.id
		g.disks, g.shelf = g.shelf, g.disks
		g.remember(now)
		return true, nil
	})
}
