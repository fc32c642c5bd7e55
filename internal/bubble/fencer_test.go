package bubble

import (
	"context"
	"slices"
	"sync"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider/simulated"
	"hale/internal/sim"
	"hale/internal/sim/world"
)

// powers are the power controllers of the hosts, which have a network of their own.
type powers struct {
	r    *room
	mu   sync.Mutex
	dead map[fleet.HostName]int  // how many faults keep it silent
	mute map[fleet.HostName]int  // how many lose its answers
	cut  map[fleet.HostName]bool // it turned the host off, and nobody turned that on again
}

func newPowers(r *room) *powers {
	return &powers{r: r, dead: map[fleet.HostName]int{}, mute: map[fleet.HostName]int{}, cut: map[fleet.HostName]bool{}}
}

// These are how long a try may take, and how long one does, in the middle of what room A draws from.
const (
	fenceLimit = 15 * time.Second
	fenceTakes = 5 * time.Second
)

// Means implements engine.Fencer.
func (p *powers) Means(host fleet.HostName) fleet.Means {
	i := slices.IndexFunc(p.r.o.Hosts, func(h world.Host) bool { return fleet.HostName(h.Name) == host })
	if i < 0 || p.r.o.Hosts[i].Fence == 0 {
		return fleet.Means{}
	}
	return fleet.Means{Tries: p.r.o.Hosts[i].Fence, Limit: fenceLimit}
}

// Fence implements engine.Fencer.
func (p *powers) Fence(ctx context.Context, host fleet.HostName, _ int) (already bool, err error) {
	p.mu.Lock()
	dead := p.dead[host] > 0
	p.mu.Unlock()
	if dead {
		<-ctx.Done()
		return false, fault.New(fault.Transient, "bubble.fence", string(host), ctx.Err())
	}
	if !pause(ctx, fenceTakes) {
		return false, fault.New(fault.UnknownOutcome, "bubble.fence", string(host), ctx.Err())
	}
	p.mu.Lock()
	already, mute := p.cut[host], p.mute[host] > 0
	p.cut[host] = true
	p.mu.Unlock()
	if !already {
		lift, err := p.r.world.Inject(simulated.HostLosesPower{Host: host})
		if err != nil {
			return false, fault.New(fault.Permanent, "bubble.fence", string(host), err)
		}
		lift() // its machines stay off; that nobody reaches it has other reasons
	}
	if mute {
		<-ctx.Done()
		return false, fault.New(fault.UnknownOutcome, "bubble.fence", string(host), ctx.Err())
	}
	return already, nil
}

// back says that somebody turned the host on.
func (p *powers) back(host fleet.HostName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut[host] = false
}

// controllers breaks the power controllers of the event's hosts in one way.
func controllers(of func(p *powers) map[fleet.HostName]int) act {
	return func(r *room, e sim.Event) func() {
		hosts := r.hosts(e)
		change := func(by int) {
			r.powers.mu.Lock()
			defer r.powers.mu.Unlock()
			for _, h := range hosts {
				of(r.powers)[h] += by
			}
		}
		change(1)
		return func() { change(-1) }
	}
}

func deadControllers(p *powers) map[fleet.HostName]int { return p.dead }
func muteControllers(p *powers) map[fleet.HostName]int { return p.mute }

// untilMended is an event of hosts at whose end somebody turns on what was turned off meanwhile.
func untilMended(do ...act) act {
	return func(r *room, e sim.Event) func() {
		var lifts []func()
		for _, a := range do {
			lifts = append(lifts, a(r, e))
		}
		for _, h := range r.hosts(e) {
			lifts = append(lifts, func() { r.powers.back(h) })
		}
		return all(lifts)
	}
}
