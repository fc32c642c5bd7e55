package simulated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hale/internal/fleet"
	"hale/internal/provider"
)

var errRescued = errors.New("another system runs in its place")

// Rescue implements provider.Rescuer. Unrescued ends it.
func (p *Provider) Rescue(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpRescue, ref, func(w *World, now time.Time) (bool, error) {
		g, err := w.mine(ref)
		switch {
		case err != nil || g.stop == fleet.StopRescue && g.power == fleet.PowerPaused:
			return false, err
		case g.power == fleet.PowerPaused:
			return false, conflict(ref, fmt.Errorf("it is %s", g.power))
		}
		w.rescue(g, now)
		return true, nil
	})
}

// rescue lets nothing of the guest run any more.
func (w *World) rescue(g *guest, now time.Time) {
	w.setPower(g, now, fleet.PowerOff, fleet.StopRescue)
	w.setPower(g, now, fleet.PowerPaused, fleet.StopRescue)
}

// Rescued is a person who has another system run in the guest's place.
type Rescued struct{ Instance fleet.InstanceID }

func (f Rescued) strike(w *World, _ *injection, now time.Time) error {
	g, err := w.find(f.Instance)
	if err == nil {
		w.rescue(g, now)
	}
	return err
}

// Unrescued is a person who has mended the guest, and has it boot from its own disk again.
type Unrescued struct{ Instance fleet.InstanceID }

func (f Unrescued) strike(w *World, _ *injection, now time.Time) error {
	g, err := w.find(f.Instance)
	switch {
	case err != nil:
		return err
	case g.power != fleet.PowerPaused || g.stop != fleet.StopRescue:
		return fmt.Errorf("%s is not rescued", f.Instance)
	}
	g.ills = nil
	w.powerOn(g, now)
	return nil
}
