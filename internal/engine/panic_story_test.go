package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/engine"
	"hale/internal/engine/poller"
	"hale/internal/notify"
	notified "hale/internal/notify/memory"
	"hale/internal/owner/published"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
	"hale/internal/state/outbox"
)

// bomb panics at the first call from when it is armed on, and at each nth after that, most times at most.
type bomb struct {
	every int64
	most  int64 // 0: without end
	armed atomic.Bool
	calls atomic.Int64
	blown atomic.Int64
}

// tick is a call. Of its panics every other one comes only when the call's deed is done.
func (b *bomb) tick(deed func()) {
	if !b.armed.Load() || (b.calls.Add(1)-1)%b.every != 0 || b.most > 0 && b.blown.Load() >= b.most {
		deed()
		return
	}
	if b.blown.Add(1)%2 == 0 {
		deed()
	}
	panic("boom")
}

// rough is a provider with an adapter that panics now and then, in questions and in orders.
type rough struct {
	*simulated.Provider
	*bomb
}

func (r rough) List(ctx context.Context) (l provider.Listing, err error) {
	r.tick(func() { l, err = r.Provider.List(ctx) })
	return l, err
}

func (r rough) Get(ctx context.Context, ref provider.Ref) (i fleet.Instance, err error) {
	r.tick(func() { i, err = r.Provider.Get(ctx, ref) })
	return i, err
}

func (r rough) Start(ctx context.Context, ref provider.Ref) (err error) {
	r.tick(func() { err = r.Provider.Start(ctx, ref) })
	return err
}

func (r rough) Reboot(ctx context.Context, ref provider.Ref) (err error) {
	r.tick(func() { err = r.Provider.Reboot(ctx, ref) })
	return err
}

func (r rough) PowerOff(ctx context.Context, ref provider.Ref) (err error) {
	r.tick(func() { err = r.Provider.PowerOff(ctx, ref) })
	return err
}

func (r rough) Create(ctx context.Context, o provider.Blueprint) (err error) {
	r.tick(func() { err = r.Provider.Create(ctx, o) })
	return err
}

func (r rough) Delete(ctx context.Context, ref provider.Ref) (err error) {
	r.tick(func() { err = r.Provider.Delete(ctx, ref) })
	return err
}

// bumpy is a way to the machines on which probes panic now and then.
type bumpy struct {
	probe.Transport
	*bomb
}

func (b bumpy) Ping(ctx context.Context, a netip.Addr) (err error) {
	b.tick(func() { err = b.Transport.Ping(ctx, a) })
	return err
}

// hoarse is a target that panics now and then.
type hoarse struct {
	notify.Target
	*bomb
}

func (h hoarse) Send(ctx context.Context, m notify.Message) (a notify.Answer, err error) {
	h.tick(func() { a, err = h.Target.Send(ctx, m) })
	return a, err
}

// shaky is a fencer that panics now and then.
type shaky struct {
	poller.Fencer
	*bomb
}

func (s shaky) Fence(ctx context.Context, host fleet.HostName, try int) (done poller.Fenced, err error) {
	s.tick(func() { done, err = s.Fencer.Fence(ctx, host, try) })
	return done, err
}

// town is several providers, each a world with one fleet of its own, looked after by one hale.
type town struct {
	t       *testing.T
	engine  *engine.Engine
	book    *defect.Register
	backing *memory.Backing
	worlds  map[fleet.Name]*simulated.World
	stories map[fleet.Name]*story // to look at the fleets by; their hale is the town's
	bombs   map[fleet.Name]*bomb
	bell    *notified.Target
}

// The fleets of a town: what each of them is called is what panics there.
const (
	calm    fleet.Name = "calm"
	adapter fleet.Name = "adapter"
	check   fleet.Name = "check"
	target  fleet.Name = "target"
	fencer  fleet.Name = "fencer"
)

// panicking tells a story of a town.
func panicking(t *testing.T, tale func(w *town)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &town{
			t: t, backing: memory.New(memory.Options{}), worlds: map[fleet.Name]*simulated.World{},
			stories: map[fleet.Name]*story{},
			bell:    &notified.Target{}, book: defect.NewRegister(slog.New(slog.DiscardHandler)),
			bombs: map[fleet.Name]*bomb{adapter: {every: 7}, check: {every: 40}, target: {every: 2},
				fencer: {every: 1, most: 2}},
		}
		stop := w.open()
		defer func() {
			stop()
			for _, s := range w.stories {
				s.checkLaws()
				if t.Failed() {
					s.printJournal()
				}
			}
		}()
		tale(w)
	})
}

// open builds the town, and starts its hale.
func (w *town) open() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var probing, running sync.WaitGroup
	o := engine.Options{Store: w.backing.Open(nil), Server: "hale", Logger: slog.New(slog.DiscardHandler),
		Defects: w.book}
	o.Post.Find = func(policy.TargetName) notify.Target { return hoarse{w.bell, w.bombs[target]} }
	o.Post.Words = func(l outbox.Letter, _ []record.Record) notify.Message {
		return notify.Message{Key: l.Key, Event: notify.Event(l.Event), Reason: string(l.Record.Reason)}
	}
	for i, name := range []fleet.Name{calm, adapter, check, target, fencer} {
		world := simulated.NewWorld(simulated.Options{Hosts: []fleet.HostName{"h1", "h2"},
			Latency: 50 * time.Millisecond, Seed: uint64(i)})
		handle := world.Open("hale")
		spec := web(5)
		spec.Name, spec.Provider = name, fleet.ProviderName(name+"s")
		spec.Repair.Attempts = 100
		src := poller.Source{Name: spec.Provider, Adapter: rough{handle, &bomb{}}, Watcher: handle,
			Poll: 5 * time.Second}
		transport := probe.Transport(world)
		switch name {
		case adapter:
			src.Adapter = rough{handle, w.bombs[name]}
		case check:
			transport = bumpy{world, w.bombs[name]}
		case target:
			name, of := spec.Name, spec.Provider
			spec = told(time.Hour, "bell")
			spec.Name, spec.Provider, spec.Size = name, of, 5
		case fencer:
			spec.Repair.Fence.Hosts, spec.Repair.Silence = true, policy.SilenceActs
			src.Fencer = shaky{newMains(world, fleet.Means{Tries: 4, Limit: 15 * time.Second}), w.bombs[name]}
		}
		probes := netprobe.New(transport, netprobe.Options{Agents: handle,
			Panics: w.book.Witness(defect.Check, string(name))})
		probing.Go(func() {
			if err := probes.Run(ctx); err != nil {
				w.t.Error(err)
			}
		})
		o.Sources, o.Fleets = append(o.Sources, src), append(o.Fleets, engine.Fleet{Spec: spec, Probes: probes})
		w.worlds[name] = world
		w.stories[name] = &story{t: w.t, world: world, backing: w.backing, spec: spec, transport: transport}
	}
	e, err := engine.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine = e
	running.Go(func() {
		if err := e.Run(ctx); err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
		probing.Wait()
	}
}

func (w *town) status(name fleet.Name) published.Fleet {
	for _, s := range w.engine.Status() {
		if s.Spec.Name == name {
			return s
		}
	}
	return published.Fleet{}
}

// well reports whether every machine of the fleet is healthy.
func (w *town) well(name fleet.Name) bool {
	s := w.status(name)
	for _, v := range s.Machines {
		m := v.Machine
		if m.Health.Verdict != belief.VerdictHealthy || m.Repair != nil || m.Incident != nil || !m.Current.Certified {
			return false
		}
	}
	return s.Acting == "" && len(s.Machines) == 5
}

func (w *town) allWell() bool {
	for name := range w.worlds {
		if !w.well(name) {
			return false
		}
	}
	return true
}

// standAlone puts the second machine on h2, and all others on h1.
func (w *town) standAlone(name fleet.Name) {
	s := w.stories[name]
	for n := 1; n <= 5; n++ {
		s.world.Migrate(s.id(n), map[bool]fleet.HostName{true: "h2", false: "h1"}[n == 2])
	}
	s.pass(20 * time.Second)
}

// breakOne makes a machine of the fleet fail.
func (w *town) breakOne(name fleet.Name, n int) {
	w.t.Helper()
	s := w.stories[name]
	s.inject(simulated.Crash{Instance: s.id(n)})
}

func (w *town) records(name fleet.Name) []record.Record {
	w.t.Helper()
	records, _, err := journal.Read(w.t.Context(), w.backing.Open(nil), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return records
}

// confessed counts the records and the pages of defects, as "kind reason".
func (w *town) confessed(name fleet.Name) map[string]int {
	out := map[string]int{}
	for _, r := range w.records(name) {
		if r.Kind == record.Defect || r.Kind == record.DefectOver || r.Kind == record.Paged &&
			strings.HasSuffix(string(r.Reason), "-panicked") {
			out[fmt.Sprintf("%s %s %s", r.Kind, r.Reason, r.Check)]++
		}
	}
	return out
}

// TestWhatPanicsEndsNothingElse is ten minutes in which an adapter, a check, a target and a fencer panic now and then:
// hale goes on, every fleet is healed as ever, also those that the parts belong to; each place is one record and one
// page, however often it panicked.
func TestWhatPanicsEndsNothingElse(t *testing.T) {
	t.Parallel()
	panicking(t, func(w *town) {
		w.stories[calm].await(5*time.Minute, "the fleets stand", w.allWell)
		w.stories[calm].pass(time.Minute)
		for _, b := range w.bombs {
			b.armed.Store(true)
		}
		w.standAlone(fencer)
		apart := w.stories[fencer].inject(simulated.CutOff{Host: "h2"})
		dark := w.stories[fencer].inject(simulated.HostUnreachable{Host: "h2"})
		mend := w.stories[target].incurable()
		for round := range 15 {
			n := round%5 + 1
			w.breakOne(calm, n)
			if round%3 == 0 {
				w.breakOne(adapter, n)
				w.breakOne(check, n)
			}
			began := time.Now()
			w.stories[calm].await(30*time.Second, "the calm fleet is healed", func() bool {
				s := w.stories[calm]
				i, ok := s.world.Instance(calm.Machine(n))
				return ok && i.Power == fleet.PowerRunning && w.well(calm)
			})
			time.Sleep(40*time.Second - time.Since(began))
		}
		apart()
		dark()
		mend()
		for _, b := range w.bombs {
			b.armed.Store(false)
		}
		w.stories[calm].await(10*time.Minute, "every fleet is well", w.allWell)
		for name, b := range w.bombs {
			if b.blown.Load() == 0 {
				t.Errorf("%s never panicked: the story proves nothing", name)
			}
			t.Logf("%s panicked %d times", name, b.blown.Load())
		}
		w.wantConfessed(map[fleet.Name]string{adapter: "provider-panicked", check: "check-panicked",
			target: "target-panicked", fencer: "fence-panicked"})
	})
}

// wantConfessed wants one record and one page in each of these fleets, and nothing in the others.
func (w *town) wantConfessed(want map[fleet.Name]string) {
	w.t.Helper()
	for name := range w.worlds {
		got, why := w.confessed(name), want[name]
		wrong := (why == "") != (len(got) == 0) || len(got)%2 != 0
		for key, n := range got { // a check is a place, and so is the host that it is asked on
			known := strings.HasPrefix(key, "defect "+why+" ") || strings.HasPrefix(key, "paged "+why+" ")
			wrong = wrong || n != 1 || !known
		}
		if wrong {
			w.t.Errorf("%s: %v, want one record and one page of %q for each place", name, got, why)
		}
	}
}
