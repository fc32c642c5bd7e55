// Package pools keeps the pools of load balancers as the fleets are: healthy machines serve, those that are unhealthy,
// in repair, or about to leave do not.
//
// It promises that a pool is never changed because hale is blind, doubts what it sees, does not own the fleet, or has
// just started; that the last member which serves is never taken out on hale's word alone; and that a balancer which
// forgot what it was told is told again. It asks each pool before it changes anything, and keeps no state that a
// restart would miss. What they say goes to the fleets' owners, who wait for it before they disrupt a
// machine (Said).
package pools

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"hale/api"
	"hale/internal/balancer"
	"hale/internal/balancer/roster"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/engine"
	"hale/internal/kinds"
	"hale/internal/owner/published"
)

// Options are what all pools have.
type Options struct {
	Version string // of hale
	Fleets  func() []published.Fleet
	Defects *defect.Register
	Log     *slog.Logger
}

// Pools are those of the configuration as it is now.
type Pools struct {
	o       Options
	changed chan struct{}

	mu     sync.Mutex
	wanted []Pool
	at     map[string]*keeper
}

// Pool is one pool of the configuration, with the fleets in it.
type Pool struct {
	config.Balancer
	Fleets []config.Pool
}

// Status is how a pool stands.
type Status struct {
	Name    string
	Members []balancer.Member // as it said last
	At      time.Time         // when; zero: it never did
	// Failing is since when it does not do as told, or says nothing; zero: it does. Why says it.
	Failing time.Time
	Why     string
	// Deserted is since when it finds none of those up that it has serve; zero: it finds one.
	Deserted time.Time
}

// New makes the pools of the configuration. They are kept while Run runs.
func New(c *config.Config, o Options) *Pools {
	p := &Pools{o: o, changed: make(chan struct{}, 1), at: map[string]*keeper{}}
	p.Take(c)
	return p
}

// Take makes them those of another configuration.
func (p *Pools) Take(c *config.Config) {
	if p == nil {
		return
	}
	var all []Pool
	for _, b := range c.Balancers {
		pool := Pool{Balancer: b}
		for _, f := range c.Pools {
			if f.Balancer == b.Name {
				pool.Fleets = append(pool.Fleets, f)
			}
		}
		if len(pool.Fleets) > 0 {
			all = append(all, pool)
		}
	}
	p.mu.Lock()
	p.wanted = all
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Status returns how the pools stand, in the order of their names.
func (p *Pools) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Status
	for _, w := range p.wanted {
		s := Status{Name: w.Name}
		if k := p.at[w.Name]; k != nil {
			s = k.stands()
		}
		out = append(out, s)
	}
	return out
}

// patience is how long a balancer may not do as it is told before that counts as a trouble.
const patience = 30 * time.Second

// Troubles are the pools that are not as they should be. A nil Pools has none.
func (p *Pools) Troubles(now time.Time) []api.Trouble {
	if p == nil {
		return nil
	}
	var out []api.Trouble
	for _, s := range p.Status() {
		if !s.Failing.IsZero() && now.Sub(s.Failing) >= patience {
			out = append(out, api.Trouble{Part: api.TroubleBalancer, Name: s.Name, Since: s.Failing.UTC(),
				Text:   "balancer " + s.Name + " is not as it should be: " + s.Why,
				Advice: "see whether it runs, and takes what balancers." + s.Name + " says; hale goes on by itself"})
		}
		if !s.Deserted.IsZero() && now.Sub(s.Deserted) >= patience {
			out = append(out, api.Trouble{Part: api.TroubleBalancer, Name: s.Name, Since: s.Deserted.UTC(),
				Text:   "balancer " + s.Name + " finds none of its members up",
				Advice: "see whether it reaches them; no machine is repaired by its word until it finds one up"})
		}
	}
	return out
}

// Run keeps the pools until ctx ends. What they were told stays so.
func (p *Pools) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-p.changed:
			p.turn(ctx)
		}
	}
	p.mu.Lock()
	p.wanted = nil
	p.mu.Unlock()
	p.turn(ctx)
}

// turn ends the work on pools that are not wanted any more, or otherwise, and begins that on others.
func (p *Pools) turn(ctx context.Context) {
	p.mu.Lock()
	all := slices.Clone(p.wanted)
	var over []*keeper
	for name, k := range p.at {
		if !slices.ContainsFunc(all, func(w Pool) bool { return w.Name == name && reflect.DeepEqual(w, k.Pool) }) {
			over = append(over, k)
			delete(p.at, name)
		}
	}
	p.mu.Unlock()
	for _, k := range over {
		k.stop()
		<-k.ended
	}
	for _, w := range all {
		p.mu.Lock()
		_, works := p.at[w.Name]
		p.mu.Unlock()
		if !works {
			p.begin(ctx, w)
		}
	}
}

// begin has a pool kept.
func (p *Pools) begin(ctx context.Context, w Pool) {
	ctx, stop := context.WithCancel(ctx)
	k := &keeper{Pool: w, fleets: p.o.Fleets, log: p.o.Log.With("balancer", w.Name), stop: stop,
		ended: make(chan struct{}), asked: make(chan struct{}, 1), told: make(chan struct{}),
		memory: roster.NewMemory(),
		status: Status{Name: w.Name}}
	k.pool = balancer.Guarded(w.Settings.Pool(kinds.BalancerOptions{Name: w.Name, Timeout: w.Timeout,
		Version: p.o.Version}),
		w.Name, p.o.Defects.Witness(defect.Surface, ""))
	p.mu.Lock()
	p.at[w.Name] = k
	p.mu.Unlock()
	go func() { // ends with ctx; turn waits for it
		defer close(k.ended)
		defer k.pool.Close()
		p.o.Defects.Keep(ctx, defect.Place{Part: defect.Surface, Name: "balancer " + w.Name}, k.work)
	}()
}

// keeper keeps one pool.
type keeper struct {
	Pool
	pool   balancer.Pool
	fleets func() []published.Fleet
	log    *slog.Logger
	stop   context.CancelFunc
	ended  chan struct{}
	memory roster.Memory
	asked  chan struct{} // a pool check wants a fresh answer

	mu      sync.Mutex
	status  Status
	reading reading
	word    engine.Membership // what the fleets' owners are told; without a Rev: nothing yet
	told    chan struct{}     // closed with the next reading
}

func (k *keeper) stands() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.status
	s.Members = slices.Clone(s.Members)
	return s
}

// heed is how often is looked whether what the fleets want is another thing, in memory: a machine that fails leaves at
// once, and not only with the next look at the pool.
const heed = time.Second

// work keeps the pool until ctx ends.
func (k *keeper) work(ctx context.Context) {
	tick := time.NewTicker(min(heed, k.Every))
	defer tick.Stop()
	var last time.Time
	var were map[fleet.Name]roster.Fleet
	asked := false
	for {
		are := k.wants()
		if now := time.Now(); asked || now.Sub(last) >= k.Every || !maps.EqualFunc(are, were, roster.Fleet.Equal) {
			last, were = now, are
			k.pass(ctx, are, asked, now)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			asked = false
		case <-k.asked:
			asked = true
		}
	}
}

// wants returns what the fleets of the pool want now. A fleet that may not say anything is left out.
func (k *keeper) wants() map[fleet.Name]roster.Fleet {
	out := map[fleet.Name]roster.Fleet{}
	all := k.fleets()
	for i := range all {
		for _, p := range k.Fleets {
			if p.Fleet != all[i].Spec.Name {
				continue
			}
			pool := policy.Pool{Balancer: fleet.BalancerName(p.Balancer), Wait: p.Wait}
			if f, says := roster.WantedBy(&all[i], pool, p.Port); says {
				out[p.Fleet] = f
			}
		}
	}
	return out
}

// mostFailures is after how many steps that failed a pass is broken off: the balancer may be frozen, or busy.
const mostFailures = 2

// pass reads the pool once and sets its members as the fleets want them. It ends after the first step that is done when
// they want another thing by then: with a slow balancer, what was planned may be long out of date before its turn.
// asked: a pool check wants a fresh answer.
func (k *keeper) pass(ctx context.Context, fleets map[fleet.Name]roster.Fleet, asked bool, now time.Time) {
	if len(fleets) == 0 && !asked {
		return // it is other servers' business, or only observed
	}
	members, err := k.members(ctx)
	k.tell(reading{began: now, members: members, err: err})
	if err != nil {
		k.stand(ctx, nil, err, now)
		return
	}
	k.memory.Note(members, fleets, now)
	var failed error
	failures := 0
	steps, last := k.memory.Steps(members, fleets, now)
	done := map[fleet.MachineName]balancer.State{}
	for _, s := range steps {
		if err := k.set(ctx, s); err != nil {
			failed = err
			if failures++; failures >= mostFailures {
				break
			}
			continue
		}
		if done[s.Member] = s.State; !maps.EqualFunc(k.wants(), fleets, roster.Fleet.Equal) {
			break
		}
	}
	k.note(members, done, last, now)
	k.stand(ctx, members, failed, now)
}

func (k *keeper) members(ctx context.Context) ([]balancer.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	return k.pool.Members(ctx)
}

func (k *keeper) set(ctx context.Context, s roster.Step) error {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	err := k.pool.Set(ctx, s.Member, s.Want)
	if err == nil {
		k.log.Info("a member of a pool is as it should be", "machine", s.Member, "state", s.State, "at", s.At, "why",
			s.Why)
	}
	return err
}

// stand notes how the pool stands. It logs what is new.
func (k *keeper) stand(ctx context.Context, members []balancer.Member, err error, now time.Time) {
	if ctx.Err() != nil {
		return // it was broken off
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if members != nil {
		k.status.Members, k.status.At = members, now
		switch {
		case !deserted(members):
			k.status.Deserted = time.Time{}
		case k.status.Deserted.IsZero():
			k.status.Deserted = now
		}
	}
	switch why := fault.Plain(err); {
	case err == nil && !k.status.Failing.IsZero():
		k.log.Info("the pool does as it is told again", "was", k.status.Why)
		k.status.Failing, k.status.Why = time.Time{}, ""
	case err != nil && k.status.Failing.IsZero():
		k.log.Warn("the pool is not as it should be; it is tried again", "err", err)
		k.status.Failing, k.status.Why = now, why
	case err != nil:
		k.status.Why = why
	}
}
