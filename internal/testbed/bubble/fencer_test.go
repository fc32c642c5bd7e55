package bubble

import (
	"context"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/engine/poller"
	"hale/internal/sim/world"
)

// powers are the power controllers of the world's hosts, as a server asks them: they have a network of their own.
type powers struct {
	r      *room
	client string
}

// fenceLimit is how long a try may take, as in the simulator.
const fenceLimit = 15 * time.Second

func (p powers) host(name fleet.HostName) world.Host {
	i := slices.IndexFunc(p.r.o.Hosts, func(h world.Host) bool { return fleet.HostName(h.Name) == name })
	if i < 0 {
		return world.Host{}
	}
	return p.r.o.Hosts[i]
}

// Means implements engine.Fencer.
func (p powers) Means(host fleet.HostName, seen []fleet.Name) fleet.Means {
	h := p.host(host)
	if slices.Contains(seen, p.r.spec.Name) {
		h.Delay += h.Heavier
	}
	if h.Fence+h.Cut == 0 {
		return fleet.Means{}
	}
	return fleet.Means{Tries: h.Fence, Cuts: h.Cut, Limit: fenceLimit, Delay: h.Delay}
}

// Access implements engine.Fencer.
func (p powers) Access(host fleet.HostName) (a fleet.Access, at time.Time) {
	p.r.truth(func(t *world.World) {
		switch open, known := t.Access(string(host)); {
		case !known:
			a = fleet.AccessUnknown
		case open:
			a, at = fleet.AccessOpen, time.Now()
		default:
			a, at = fleet.AccessCut, time.Now()
		}
	})
	return a, at
}

// SaidOff implements engine.Fencer.
func (p powers) SaidOff(host fleet.HostName) (at time.Time) {
	p.r.truth(func(t *world.World) {
		if t.SaidOff(string(host)) {
			at = time.Now()
		}
	})
	return at
}

// Watch implements engine.Fencer: here the truth is asked for each time.
func (powers) Watch([]fleet.HostName) {}

// Fence implements engine.Fencer.
func (p powers) Fence(ctx context.Context, host fleet.HostName, try int) (poller.Fenced, error) {
	ended := make(chan world.End, 1)
	p.r.truth(func(t *world.World) {
		order := world.Call{Op: world.Fence, Host: string(host), Try: try}
		t.Caller(p.client).Send(order, fenceLimit, func(e world.End) { ended <- e })
	})
	kind := fault.UnknownOutcome
	select {
	case <-ctx.Done():
	case end := <-ended:
		switch end {
		case world.Done, world.AlreadyOff:
			return poller.Fenced{Proof: fleet.ProofHostOff, Already: end == world.AlreadyOff}, nil
		case world.IsCut, world.AlreadyCut:
			return poller.Fenced{Proof: fleet.ProofAccessCut, Already: end == world.AlreadyCut}, nil
		case world.Transient:
			kind = fault.Transient
		case world.Permanent:
			kind = fault.Permanent
		default:
		}
	}
	return poller.Fenced{}, fault.New(kind, "bubble.fence", string(host), ctx.Err())
}
