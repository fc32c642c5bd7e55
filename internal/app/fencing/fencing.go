package fencing

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"hale/api"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/fence"
	"hale/internal/notify"
)

// Fencing knows how the power of each host is cut, and asks the controllers now and then whether they still listen.
type Fencing struct {
	log     *slog.Logger
	defects *defect.Register
	// changed wakes those that wait for the next test.
	changed chan struct{}

	mu     sync.Mutex
	hosts  []fenced
	tested map[fencedMethod]api.FenceTest
	// watched are the hosts that are cut while something relies on it, and those that do not answer.
	watched map[fencedHost]bool
}

type fencedHost struct {
	provider fleet.ProviderName
	host     fleet.HostName
}

// fenced is a host with its methods.
type fenced struct {
	provider fleet.ProviderName
	host     fleet.HostName
	methods  []armed
	delay    time.Duration                // for which the host is left as it is
	later    map[fleet.Name]time.Duration // how much longer, where machines of these fleets were seen on it
	turn     chan struct{}                // holds one token: its holder may order the host off
}

type fencedMethod struct {
	provider fleet.ProviderName
	host     fleet.HostName
	method   string
}

// New makes the methods of a configuration ready. They connect to nothing yet.
func New(c *config.Config, log *slog.Logger, defects *defect.Register) *Fencing {
	f := &Fencing{log: log, defects: defects, changed: make(chan struct{}, 1), tested: map[fencedMethod]api.FenceTest{}}
	f.Take(c)
	return f
}

// Take makes the methods those of the configuration. What is known of those that did not change is kept.
func (f *Fencing) Take(c *config.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.hosts
	f.hosts = nil
	tested := map[fencedMethod]api.FenceTest{}
	for _, p := range c.Providers {
		for _, h := range p.Hosts {
			e := fenced{
				provider: p.Name, host: h.Name, delay: h.FenceDelay, later: p.FencePriority,
				turn: turnOf(was, p.Name, h.Name),
			}
			for _, m := range c.FencesOf(p.Name, h.Name) {
				e.methods = append(e.methods,
					armedFor(m, h.Name).guarded(f.defects.Witness(defect.Fence, string(p.Name))))
				key := fencedMethod{p.Name, h.Name, m.Name}
				if old, known := f.tested[key]; known && sameMethod(was, key, m) {
					tested[key] = old
				}
			}
			if len(e.methods) > 0 {
				f.hosts = append(f.hosts, e)
			}
		}
	}
	f.tested = tested
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// turnOf returns the token of a host, which outlives its methods.
func turnOf(was []fenced, p fleet.ProviderName, h fleet.HostName) chan struct{} {
	for _, e := range was {
		if e.provider == p && e.host == h {
			return e.turn
		}
	}
	return make(chan struct{}, 1)
}

func sameMethod(was []fenced, key fencedMethod, m config.Fence) bool {
	for _, e := range was {
		if e.provider != key.provider || e.host != key.host {
			continue
		}
		for _, a := range e.methods {
			if a.Name == m.Name {
				return reflect.DeepEqual(a.config, m)
			}
		}
	}
	return false
}

// all returns the hosts that have methods.
func (f *Fencing) all() []fenced {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts
}

// Fences implements power.Fencing: what there is, and how the last tests ended.
func (f *Fencing) Fences() []api.FencedHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]api.FencedHost, 0, len(f.hosts))
	for _, e := range f.hosts {
		h := api.FencedHost{Provider: string(e.provider), Host: string(e.host), Methods: []api.FenceMethod{}}
		for _, m := range e.methods {
			v := api.FenceMethod{
				Name: m.Name, Kind: m.Kind, Proof: string(m.Yields), Attempts: m.Attempts, Timeout: api.Duration(m.Timeout),
				Unverified: m.Unverified,
			}
			if t, tested := f.tested[fencedMethod{e.provider, e.host, m.Name}]; tested {
				v.Test = &t
			}
			h.Methods = append(h.Methods, v)
		}
		out = append(out, h)
	}
	return out
}

// Test implements power.Fencing: every method of the host is asked how the host stands. Nothing is changed.
func (f *Fencing) Test(ctx context.Context, p fleet.ProviderName, host fleet.HostName) {
	for _, e := range f.all() {
		if e.provider != p || e.host != host {
			continue
		}
		var wg sync.WaitGroup
		for _, m := range e.methods {
			wg.Go(func() { f.testSafely(ctx, e, m) })
		}
		wg.Wait()
	}
}

// testSafely is test with a guard around what is not the controller's.
func (f *Fencing) testSafely(ctx context.Context, e fenced, m armed) {
	at := defect.Place{Part: defect.Fence, Of: string(e.provider), Name: m.Name}
	defer f.defects.Catch(at, "a test", func(p *defect.Panic) {
		f.keep(e, m, api.FenceTest{
			At: time.Now().UTC(), Power: string(fence.PowerUnknown), Code: string(fault.Transient), Detail: p.Error(),
		})
	})
	f.test(ctx, e, m)
}

// test asks one controller, and notes what it said.
func (f *Fencing) test(ctx context.Context, e fenced, m armed) {
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	began := time.Now()
	power := fence.PowerUnknown
	err := m.check(ctx)
	if err == nil {
		power, err = m.Controller.Power(ctx)
	}
	t := api.FenceTest{At: began.UTC(), OK: err == nil, Power: string(power), Took: api.Duration(time.Since(began))}
	if err != nil {
		t.Code, t.Detail = string(fault.KindOf(err)), notify.Why(err)
	}
	before, known := f.keep(e, m, t)
	log := f.log.With("provider", e.provider, "host", e.host, "method", m.Name)
	switch {
	case !t.OK && (!known || before.OK):
		log.Warn("a method that is to cut the host's power does not work", "err", err)
	case t.OK && known && !before.OK:
		log.Info("the method that is to cut the host's power works again")
	}
}

// keep notes what a controller said, and returns what it said before, if anything. A question that was put before the
// one that was answered last is old.
func (f *Fencing) keep(e fenced, m armed, t api.FenceTest) (before api.FenceTest, known bool) {
	key := fencedMethod{e.provider, e.host, m.Name}
	f.mu.Lock()
	defer f.mu.Unlock()
	if before, known = f.tested[key]; !known || !t.At.Before(before.At) {
		f.tested[key] = t
	}
	return before, known
}

// testsAtOnce bounds how many controllers are asked side by side on schedule.
const testsAtOnce = 4

// Run tests each method when hale starts, and then on its schedule, until ctx ends.
func (f *Fencing) Run(ctx context.Context) {
	for {
		next := f.testDue(ctx)
		wait := time.NewTimer(next)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-f.changed:
			wait.Stop()
		case <-wait.C:
		}
	}
}

// testDue tests what is due, and returns the time until something is again.
func (f *Fencing) testDue(ctx context.Context) time.Duration {
	var wg sync.WaitGroup
	slots := make(chan struct{}, testsAtOnce)
	for _, e := range f.all() {
		for _, m := range e.methods {
			if f.due(e, m) > 0 {
				continue
			}
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				f.testSafely(ctx, e, m)
			})
		}
	}
	wg.Wait()
	next := time.Hour
	for _, e := range f.all() {
		for _, m := range e.methods {
			next = min(next, max(f.due(e, m), time.Second))
		}
	}
	return next
}

// due returns the time until the method is tested again.
func (f *Fencing) due(e fenced, m armed) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, tested := f.tested[fencedMethod{e.provider, e.host, m.Name}]
	if !tested {
		return 0
	}
	every := m.every
	switch {
	case f.watched[fencedHost{e.provider, e.host}]:
		if every = watchEvery; m.uncut == nil {
			every = cutEvery
		}
	case m.uncut == nil:
	case t.Power == string(fence.PowerOff): // until it has its access again, nothing is built there
		every = min(every, cutEvery)
	}
	return time.Until(t.At.Add(every))
}
