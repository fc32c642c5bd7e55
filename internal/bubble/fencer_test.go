package bubble

import (
	"context"
	"slices"
	"sync"
	"time"

	"hale/internal/engine"
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
	deaf map[fleet.HostName]int  // how many faults keep silent whoever can cut its access
	// apart are the hosts whose access is cut, with what gives it back.
	apart map[fleet.HostName]func()
	// hit are machines that were healthy on hosts that hale turned off, one for each host.
	hit []fleet.MachineName
}

func newPowers(r *room) *powers {
	return &powers{r: r, dead: map[fleet.HostName]int{}, mute: map[fleet.HostName]int{}, cut: map[fleet.HostName]bool{},
		deaf: map[fleet.HostName]int{}, apart: map[fleet.HostName]func(){}}
}

// These are how long a try may take, and how long one does, in the middle of what room A draws from.
const (
	fenceLimit = 15 * time.Second
	fenceTakes = 5 * time.Second
)

func (p *powers) host(name fleet.HostName) world.Host {
	for _, h := range p.r.o.Hosts {
		if fleet.HostName(h.Name) == name {
			return h
		}
	}
	return world.Host{}
}

// Means implements engine.Fencer.
func (p *powers) Means(host fleet.HostName, seen []fleet.Name) fleet.Means {
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
func (p *powers) Access(host fleet.HostName) (fleet.Access, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.host(host).Cut == 0 || p.deaf[host] > 0:
		return fleet.AccessUnknown, time.Time{}
	case p.apart[host] != nil:
		return fleet.AccessCut, time.Now()
	}
	return fleet.AccessOpen, time.Now()
}

// SaidOff implements engine.Fencer.
func (p *powers) SaidOff(host fleet.HostName) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.host(host).Fence == 0 || p.dead[host]+p.mute[host] > 0 || !p.cut[host] {
		return time.Time{}
	}
	return time.Now()
}

// Watch implements engine.Fencer: here the truth is asked for each time.
func (p *powers) Watch([]fleet.HostName) {}

// Fence implements engine.Fencer.
func (p *powers) Fence(ctx context.Context, host fleet.HostName, try int) (engine.Fenced, error) {
	const op = "bubble.fence"
	access := try > p.host(host).Fence
	p.mu.Lock()
	silent := !access && p.dead[host] > 0 || access && p.deaf[host] > 0
	p.mu.Unlock()
	if silent {
		<-ctx.Done()
		return engine.Fenced{}, fault.New(fault.Transient, op, string(host), ctx.Err())
	}
	if !pause(ctx, fenceTakes) {
		return engine.Fenced{}, fault.New(fault.UnknownOutcome, op, string(host), ctx.Err())
	}
	do := p.shoot
	if access {
		do = p.cutAccess
	}
	done, err := do(host)
	if err != nil {
		return engine.Fenced{}, fault.New(fault.Permanent, op, string(host), err)
	}
	p.mu.Lock()
	mute := p.mute[host] > 0
	p.mu.Unlock()
	if mute {
		<-ctx.Done()
		return engine.Fenced{}, fault.New(fault.UnknownOutcome, op, string(host), ctx.Err())
	}
	return done, nil
}

// shoot has hale turn the host off, whoever is served there.
func (p *powers) shoot(host fleet.HostName) (engine.Fenced, error) {
	for n := 1; n <= p.r.spec.Size; n++ {
		if i, ok := p.r.instance(p.r.spec.Name.Machine(n)); ok && i.Host == host && p.r.world.Healthy(i.ID) {
			p.mu.Lock()
			p.hit = append(p.hit, i.Mark.Machine)
			p.mu.Unlock()
			break
		}
	}
	return p.turnOff(host)
}

func (p *powers) turnOff(host fleet.HostName) (engine.Fenced, error) {
	p.mu.Lock()
	done := engine.Fenced{Proof: fleet.ProofHostOff, Already: p.cut[host]}
	p.cut[host] = true
	p.mu.Unlock()
	if done.Already {
		return done, nil
	}
	lift, err := p.r.world.Inject(simulated.HostLosesPower{Host: host})
	if err == nil {
		lift() // its machines stay off; that nobody reaches it has other reasons
	}
	return done, err
}

func (p *powers) cutAccess(host fleet.HostName) (engine.Fenced, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := engine.Fenced{Proof: fleet.ProofAccessCut, Already: p.apart[host] != nil}
	if done.Already {
		return done, nil
	}
	lift, err := p.r.world.Inject(simulated.AccessCut{Host: host})
	if err == nil {
		p.apart[host] = lift
	}
	return done, err
}

// giveAccess gives the host back what was cut, whoever did it.
func (p *powers) giveAccess(host fleet.HostName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lift := p.apart[host]; lift != nil {
		delete(p.apart, host)
		lift()
	}
}

// turnsOff is somebody else who has the hosts' power cut.
func turnsOff(r *room, e sim.Event) func() {
	for _, h := range r.hosts(e) {
		_, err := r.powers.turnOff(h)
		r.must(err)
	}
	return func() {}
}

// parts breaks all ways between hale's servers and the hosts, and no others.
func parts(r *room, e sim.Event) func() {
	var lifts []func()
	for _, s := range r.servers {
		for _, h := range r.hosts(e) {
			lifts = append(lifts, r.inject(simulated.HostUnreachable{Host: h, Client: s.name}), r.inject(simulated.OutOfSight{Client: s.name, Host: h}))
		}
	}
	return all(lifts)
}

// cutsAccess is a person who cuts hosts by hand.
func cutsAccess(r *room, e sim.Event) func() {
	var lifts []func()
	for _, h := range r.hosts(e) {
		_, err := r.powers.cutAccess(h)
		r.must(err)
		lifts = append(lifts, func() { r.powers.giveAccess(h) })
	}
	return all(lifts)
}

// givesAccess is a person who gives hosts back what was cut.
func givesAccess(r *room, e sim.Event) func() {
	for _, h := range r.hosts(e) {
		r.powers.giveAccess(h)
		r.given = append(r.given, h)
	}
	return nil
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
func deafCuts(p *powers) map[fleet.HostName]int        { return p.deaf }

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
