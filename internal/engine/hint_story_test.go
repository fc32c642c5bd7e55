package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/engine"
	"hale/internal/engine/poller"
	"hale/internal/probe/netprobe"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

// tower is one hale with many fleets at one provider. Listings take their time there, and only lifecycle events are
// quick: polls and checks are minutes apart.
type tower struct {
	t       *testing.T
	world   *simulated.World
	backing *memory.Backing
	engine  *engine.Engine
	names   []fleet.Name
	lister  *slowLister
}

// slowLister takes its time to list, and counts.
type slowLister struct {
	provider.Provider
	takes  time.Duration
	lists  atomic.Int64
	broken atomic.Bool
}

func (l *slowLister) List(ctx context.Context) (provider.Listing, error) {
	l.lists.Add(1)
	timer := time.NewTimer(l.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return provider.Listing{}, ctx.Err()
	}
	if l.broken.Load() {
		return provider.Listing{}, fault.New(fault.Transient, "provider.list", "", nil)
	}
	return l.Provider.List(ctx)
}

// din is a watcher that also hears of what others do at the provider, all the time.
type din struct {
	provider.Watcher
	every time.Duration
}

func (d din) Watch(ctx context.Context, changed func(provider.Event)) error {
	if d.every == 0 {
		return d.Watcher.Watch(ctx, changed)
	}
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() {
		tick := time.NewTicker(d.every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				changed(provider.Event{Instance: "somebody-elses"})
			}
		}
	})
	return d.Watcher.Watch(ctx, changed)
}

// overhear tells a story of ten fleets of four machines.
func overhear(t *testing.T, takes, every time.Duration, tale func(w *tower)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &tower{t: t, backing: memory.New(memory.Options{}),
			world: simulated.NewWorld(simulated.Options{Latency: 20 * time.Millisecond, Ports: []uint16{80}})}
		handle := w.world.Open("hale-1")
		w.lister = &slowLister{Provider: handle, takes: takes}
		setup := engine.Setup{Sources: []poller.Source{{Name: "lab", Adapter: w.lister, Watcher: din{handle, every},
			Poll: 30 * time.Minute}}}
		var asked []*netprobe.Engine
		for i := range 10 {
			spec := only(web(4), policy.Check{Name: "alive", Kind: policy.CheckPing, Every: time.Minute,
				Timeout: time.Second, DownAfter: 3, UpAfter: 1})
			spec.Name = fleet.Name(fmt.Sprintf("team-%d", i))
			w.names = append(w.names, spec.Name)
			probes := netprobe.New(w.world, netprobe.Options{})
			setup.Fleets, asked = append(setup.Fleets, engine.Fleet{Spec: spec, Probes: probes}), append(asked, probes)
		}
		var err error
		w.engine, err = engine.New(engine.Options{
			Store: w.backing.Open(nil), Server: "hale-1", Logger: slog.New(slog.DiscardHandler), Sources: setup.Sources,
			Fleets: setup.Fleets,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer serve(t, w.engine, handle, asked...)()
		w.await(10*time.Minute, "the fleets stand", w.well)
		time.Sleep(5 * time.Minute) // no amnesty, nobody in a hurry
		tale(w)
	})
}

func (w *tower) well() bool {
	n := 0
	for _, f := range w.engine.Status() {
		for _, v := range f.Machines {
			if v.Machine.Health.Verdict == belief.VerdictHealthy && v.Machine.Repair == nil &&
				v.Machine.Current.Certified {
				n++
			}
		}
	}
	return n == 4*len(w.names)
}

func (w *tower) await(within time.Duration, what string, cond func() bool) {
	w.t.Helper()
	for waited := time.Duration(0); ; waited += time.Second {
		synctest.Wait()
		if cond() {
			return
		}
		if waited >= within {
			w.t.Fatalf("after %v still not: %s", within, what)
		}
		time.Sleep(time.Second)
	}
}

// orders returns how long after the moment the first call was given to each machine of the fleet.
func (w *tower) orders(name fleet.Name, after time.Time) map[fleet.MachineName]time.Duration {
	w.t.Helper()
	records, _, err := journal.Read(w.t.Context(), w.backing.Open(nil), name)
	if err != nil {
		w.t.Fatal(err)
	}
	first := map[fleet.MachineName]time.Duration{}
	for _, r := range records {
		if _, known := first[r.Machine]; r.Kind == record.Intent && !known && !r.At.Before(after) {
			first[r.Machine] = r.At.Sub(after)
		}
	}
	return first
}

// crash lets a machine of every fleet crash in the same moment, and reports what was ordered within the time.
func (w *tower) crash(within time.Duration) {
	w.t.Helper()
	at := time.Now()
	for _, name := range w.names {
		i, ok := w.world.Instance(name.Machine(2))
		if !ok {
			w.t.Fatalf("no instance of %s", name.Machine(2))
		}
		if _, err := w.world.Inject(simulated.Crash{Instance: i.ID}); err != nil {
			w.t.Fatal(err)
		}
	}
	time.Sleep(30 * time.Second)
	synctest.Wait()
	for _, name := range w.names {
		orders := w.orders(name, at)
		if took, known := orders[name.Machine(2)]; !known || took > within {
			w.t.Errorf("%s: what was ordered after the crash of its second machine: %v, want it within %s", name,
				orders, within)
		}
		if len(orders) != 1 {
			w.t.Errorf("%s: orders to %d machines: %v", name, len(orders), orders)
		}
	}
}

// S47: ten fleets side by side at one provider; in each a machine crashes in the same moment. The provider says so, and
// each gets its order within a second and a half, although polls and checks are minutes apart and a listing takes as
// long as that of some hundred real servers.
func TestS47TenFleetsAreHeardSideBySide(t *testing.T) {
	t.Parallel()
	overhear(t, 600*time.Millisecond, 0, func(w *tower) { w.crash(1500 * time.Millisecond) })
}

// S47: and also in the din of a cloud where others start and stop machines all the time. The cloud is left half of its
// time to itself, also one that takes seconds for a list.
func TestS47TheirEventsAreHeardInTheDinOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listing, within time.Duration
		most            int64 // listings in half a minute
	}{{300 * time.Millisecond, 1500 * time.Millisecond, 52}, {3 * time.Second, 10 * time.Second, 6}} {
		overhear(t, c.listing, 7*time.Millisecond, func(w *tower) {
			lists := w.lister.lists.Load()
			w.crash(c.within)
			if n := w.lister.lists.Load() - lists; n > c.most {
				t.Errorf("%d listings of %s in half a minute", n, c.listing)
			}
		})
	}
}

// S47: what was announced while the provider could not list is found as soon as it can, although polls are half an hour
// apart.
func TestS47WhatWasAnnouncedIsNotForgottenWhenAListingFails(t *testing.T) {
	t.Parallel()
	overhear(t, 100*time.Millisecond, 0, func(w *tower) {
		w.lister.broken.Store(true)
		mend := time.AfterFunc(10*time.Second, func() { w.lister.broken.Store(false) })
		defer mend.Stop()
		w.crash(20 * time.Second)
	})
}
