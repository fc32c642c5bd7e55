package providertest

import (
	"context"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// ears collects what a Watch tells.
type ears struct {
	mu    sync.Mutex
	heard []provider.Event
}

// watch listens on the handle until the test ends.
func (e *exam) watch(p provider.Provider) *ears {
	e.Helper()
	w, ok := p.(provider.Watcher)
	if !ok {
		e.Fatalf("the harness promises Watch, but %T has none", p)
	}
	var heard ears
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Watch(ctx, heard.hear) }()
	e.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			e.Errorf("watch ended with %v, want nil when its context ended", err)
		}
	})
	return &heard
}

func (s *ears) hear(event provider.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, event)
}

// count returns how many events say that something about the instance may have changed; those without an instance do.
func (s *ears) count(id fleet.InstanceID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, event := range s.heard {
		if event.Instance == "" || event.Instance == id {
			n++
		}
	}
	return n
}

// awaitMore waits for an event about the instance beyond the number.
func (e *exam) awaitMore(what string, s *ears, id fleet.InstanceID, than int) {
	e.Helper()
	e.await("an event of "+what, func() (string, bool) { return "none", s.count(id) > than })
}

func watchTells(t T, h Harness) {
	e := begin(t, h)
	heard := e.watch(h.New(t))
	e.awaitMore("the connection", heard, "", 0)

	order := e.order(1)
	step := func(what string, call func() error) {
		before := heard.count(order.ID)
		e.do(what, call())
		e.awaitMore(what, heard, order.ID, before)
	}
	step("create", func() error { return e.p.Create(e.ctx(), order) })
	e.awaitPower(order.Ref, fleet.PowerRunning)
	step("power off", func() error { return e.p.PowerOff(e.ctx(), order.Ref) })
	e.awaitPower(order.Ref, fleet.PowerOff)
	start := func() {
		step("start", func() error { return e.p.Start(e.ctx(), order.Ref) })
		e.awaitPower(order.Ref, fleet.PowerRunning)
	}
	start()
	if killer, ok := h.(Killer); ok {
		e.crashIsTold(heard, order.ID, start, func() { killer.Kill(t, order.ID) })
	}
	e.off(order.Ref)
	step("delete", func() error { return e.p.Delete(e.ctx(), order.Ref) })
}

// crashIsTold kills the running instance until an event follows. A watch that looks now and then may see nothing of an
// instance that runs for less than that, so it gets several.
func (e *exam) crashIsTold(heard *ears, id fleet.InstanceID, start, kill func()) {
	e.Helper()
	before, killed := heard.count(id), time.Now()
	kill()
	e.await("an event of a crash", func() (string, bool) {
		if heard.count(id) > before {
			return "one", true
		}
		if time.Since(killed) > e.h.Patience()/5 {
			start()
			before, killed = heard.count(id), time.Now()
			kill()
		}
		return "none", false
	})
}

func cutProviderComesBack(t T, h Harness) {
	e := begin(t, h)
	d := ability[Disconnecter](t, h)
	order := e.built(1)
	var heard *ears
	if able[Watched](h) {
		heard = e.watch(e.p)
		e.awaitMore("the connection", heard, "", 0)
	}

	d.Disconnect(t)
	reconnect := sync.OnceFunc(func() { d.Reconnect(t) })
	e.Cleanup(reconnect)
	_, err := e.p.List(e.ctx())
	e.refused("list while cut", err, fault.Transient)
	_, err = e.p.Get(e.ctx(), order.Ref)
	e.refused("get while cut", err, fault.Transient)
	_, err = e.p.Identity(e.ctx())
	e.refused("identity while cut", err, fault.Transient)
	e.refused("power off while cut", e.p.PowerOff(e.ctx(), order.Ref), fault.Transient)
	before := 0
	if heard != nil {
		before = heard.count("")
	}

	reconnect()
	e.await("the listing of the same handle", func() (string, bool) {
		l, err := e.p.List(e.ctx())
		if err != nil {
			return err.Error(), false
		}
		found := Named(l, order.Name)
		return "no such instance", len(found) == 1 && found[0].Power == fleet.PowerRunning
	})
	if heard != nil {
		e.awaitMore("the new connection", heard, "", before)
	}
	e.untouched(order)
}

// moment is the time that a call on a frozen provider is given.
func (e *exam) moment() time.Duration { return min(e.h.Patience()/10, time.Second) }

// frozen freezes the provider, makes the calls, each with a context that ends soon, and thaws it again. A call must
// end when its context does.
func (e *exam) frozen(calls ...func(ctx context.Context)) {
	e.Helper()
	e.list() // the handle is connected
	f := ability[Freezer](e.T, e.h)
	f.Freeze(e)
	thaw := sync.OnceFunc(func() { f.Thaw(e) })
	e.Cleanup(thaw)
	for _, call := range calls {
		ctx, cancel := context.WithTimeout(e.Context(), e.moment())
		began := time.Now()
		call(ctx)
		cancel()
		if took := time.Since(began); took > e.moment()+time.Second {
			e.Errorf("a call took %v although its context ended after %v", took, e.moment())
		}
	}
	thaw()
}

func frozenReads(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	e.frozen(
		func(ctx context.Context) {
			_, err := e.p.Get(ctx, order.Ref)
			e.refused("get", err, fault.Transient)
		},
		func(ctx context.Context) {
			_, err := e.p.List(ctx)
			e.refused("list", err, fault.Transient)
		},
		func(ctx context.Context) {
			_, err := e.p.Identity(ctx)
			e.refused("identity", err, fault.Transient)
		},
	)
	e.awaitPower(order.Ref, fleet.PowerRunning)
}

// frozenPowerOff: if an adapter has only read when the provider freezes, it may say that nothing was done, but that
// must be true.
func frozenPowerOff(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	var err error
	e.frozen(func(ctx context.Context) { err = e.p.PowerOff(ctx, order.Ref) })
	e.refused("power off", err, fault.UnknownOutcome, fault.Transient)
	e.awaitInstance("an answer", order.Ref, func(fleet.Instance) bool { return true })
	if fault.Is(err, fault.Transient) {
		e.stays("an instance that was not powered off", func() (string, bool) {
			seen := e.get(order.Ref)
			return string(seen.Power), seen.Power == fleet.PowerRunning
		})
	}
	e.await("power off after the thaw", func() (string, bool) {
		if err := e.p.PowerOff(e.ctx(), order.Ref); err != nil {
			return err.Error(), false
		}
		return "accepted", true
	})
	e.awaitPower(order.Ref, fleet.PowerOff)
}

func frozenCreate(t T, h Harness) {
	e := begin(t, h)
	order := e.order(1)
	var err error
	e.frozen(func(ctx context.Context) { err = e.p.Create(ctx, order) })
	e.refused("create", err, fault.UnknownOutcome, fault.Transient)
	e.await("the provider after the thaw", func() (string, bool) {
		_, err := e.p.List(e.ctx())
		return "no listing", err == nil
	})
	if fault.Is(err, fault.Transient) {
		e.stays("a create that was not done", func() (string, bool) {
			found := Named(e.list(), order.Name)
			return "it is there", len(found) == 0
		})
	}
}

func closeEndsCalls(t T, h Harness) {
	e := begin(t, h)
	f := ability[Freezer](t, h)
	p := h.New(t)
	_, err := p.List(e.ctx())
	e.do("list", err)
	f.Freeze(t)
	thaw := sync.OnceFunc(func() { f.Thaw(t) })
	e.Cleanup(thaw)

	ended := make(chan error, 1)
	go func() {
		_, err := p.List(context.WithoutCancel(e.Context()))
		ended <- err
	}()
	e.stays("a call on a frozen provider", func() (string, bool) { return "it ended", len(ended) == 0 })
	began := time.Now()
	e.do("close", p.Close())
	if took := time.Since(began); took > e.h.Patience()/2 {
		t.Errorf("close took %v", took)
	}
	e.await("the end of the call under way", func() (string, bool) { return "it goes on", len(ended) == 1 })
	if err := <-ended; err == nil {
		t.Error("the call under way ended well although its handle was closed")
	}
	thaw()
}

func oneHostDown(t T, h Harness) {
	e := begin(t, h)
	f := ability[HostFailer](t, h)
	hosts := h.Hosts()
	here, there := e.built(1), e.on(e.order(2), hosts[1])
	e.do("create on the second host", e.p.Create(e.ctx(), there))
	e.awaitPower(there.Ref, fleet.PowerRunning)

	f.FailHost(t, hosts[1])
	repair := sync.OnceFunc(func() { f.RepairHost(t, hosts[1]) })
	e.Cleanup(repair)
	listing, err := e.p.List(e.ctx())
	e.do("list with one host down", err)
	for _, answer := range listing.Hosts {
		if down := answer.Name == hosts[1]; down != (answer.Err != nil) {
			t.Errorf("host %q answered %v", answer.Name, answer.Err)
		}
	}
	if len(listing.Hosts) != len(hosts) || len(Named(listing, here.Name)) != 1 || len(Named(listing, there.Name)) != 0 {
		t.Errorf("partial listing: %+v", listing)
	}
	_, err = e.p.Get(e.ctx(), there.Ref)
	e.refused("get on the host that is down", err, fault.Transient)
	identity, err := e.p.Identity(e.ctx())
	e.do("identity with one host down", err)
	if _, ok := identity[hosts[1]]; ok {
		t.Error("identity names a host that is down")
	}

	repair()
	e.await("the whole listing", func() (string, bool) {
		l, err := e.p.List(e.ctx())
		whole := err == nil && !slices.ContainsFunc(l.Hosts, func(a provider.HostAnswer) bool { return a.Err != nil })
		return "partial", whole && len(Named(l, there.Name)) == 1
	})
}

func hostsAreApart(t T, h Harness) {
	e := begin(t, h)
	here := e.built(1)
	there := e.on(e.order(2), h.Hosts()[1])
	e.do("create on another host", e.p.Create(e.ctx(), there))
	e.awaitPower(there.Ref, fleet.PowerRunning)

	elsewhere := here.Ref
	elsewhere.Host = there.Host
	_, err := e.p.Get(e.ctx(), elsewhere)
	e.refused("get on the wrong host", err, fault.NotFound)
	e.refused("power off on the wrong host", e.p.PowerOff(e.ctx(), elsewhere), fault.NotFound)
	e.untouched(here)
	e.untouched(there)
}

// hostsAreOnePool: the provider may move an instance to another host. An order that names its former host still reaches
// it, and its name is taken on every host.
func hostsAreOnePool(t T, h Harness) {
	e := begin(t, h)
	here := e.built(1)
	there := e.on(here, h.Hosts()[1])
	e.refused("create of the same name on another host", e.p.Create(e.ctx(), there), fault.Conflict)
	e.untouched(here)
	for _, host := range h.Hosts() {
		if seen, err := e.p.Get(e.ctx(), provider.Ref{ID: here.ID, Host: host, Mark: here.Mark}); err != nil ||
			seen.Host != here.Host {
			t.Errorf("asked for on %s: %+v, %v", host, seen, err)
		}
	}
	moved := here.Ref
	moved.Host = there.Host
	e.off(moved)
	e.do("delete", e.p.Delete(e.ctx(), moved))
	second := e.on(here, h.Hosts()[1])
	e.do("create on the second host", e.p.Create(e.ctx(), second))
	e.same("host", second.Host, e.awaitPower(second.Ref, fleet.PowerRunning).Host)
}
