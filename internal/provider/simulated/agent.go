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

var errNoAgent = errors.New("the guest's agent does not answer")

// PingGuest implements provider.GuestPinger. The agent answers as long as the guest lives, whatever its network does. Where it does not, the
// answer comes when ctx ends.
func (p *Provider) PingGuest(ctx context.Context, ref provider.Ref) error {
	answers := false
	err := p.read(ctx, OpPing, ref, func(now time.Time) error {
		g, err := p.world.at(ref)
		if err != nil {
			return err
		}
		lives := g.lives(now) || g.power == fleet.PowerRunning && g.has(AgentLies)
		answers = lives && !g.has(AgentMute) && !p.world.muted(g)
		return nil
	})
	if err != nil || answers {
		return err
	}
	select {
	case <-ctx.Done():
	case <-p.closed:
	}
	return fault.New(fault.Conflict, "simulated."+string(OpPing), string(ref.ID), errNoAgent)
}

// Meter implements provider.MeterReader. The processors of a guest that hangs spin; those of one that has halted stand
// still.
func (p *Provider) Meter(ctx context.Context, ref provider.Ref) (provider.Meter, error) {
	var m provider.Meter
	err := p.read(ctx, OpMeter, ref, func(now time.Time) error {
		g, err := p.world.at(ref)
		switch {
		case err != nil:
			return err
		case g.power != fleet.PowerRunning:
			return conflict(ref, fmt.Errorf("it is %s", g.power))
		case g.has(Halted):
			m = "halted"
		default:
			m = provider.Meter(now.String())
		}
		return nil
	})
	return m, err
}

// hangs reports whether the guest does nothing any more, spinning or not.
func (s state) hangs() bool { return s.has(Hung) || s.has(Halted) }

// lives reports whether the guest's system runs, reachable or not.
func (s state) lives(now time.Time) bool {
	return s.power == fleet.PowerRunning && !now.Before(s.bootsAt) && !s.has(NeverBoots) && !s.hangs()
}
