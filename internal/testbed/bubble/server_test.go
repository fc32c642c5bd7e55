package bubble

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/tenure"
	"hale/internal/engine"
	"hale/internal/engine/poller"
	"hale/internal/notify"
	"hale/internal/probe/netprobe"
	"hale/internal/prose"
	"hale/internal/state"
	"hale/internal/state/memory"
)

// server is one hale server: a name, a place in the network, and at most one life at a time.
type server struct {
	room *room
	name string
	life *life           // nil: it was not started, or was killed
	skew time.Duration   // of its wall clock, which outlives the process
	cut  atomic.Int32    // how many faults keep it from the store
	own  *memory.Backing // the second hale's store; nil: the room's

	mu       sync.Mutex
	thaw     time.Time     // until then the process stands still, as far as others can tell
	pauseFor time.Duration // before its next disruptive call, between the reading of the lease and the sending
	pauseOp  fleet.Op      // which call; empty: any
	paused   bool          // it was
	dieIn    int           // counts its commits down; it dies at the last
	atDeath  memory.Effect // what becomes of that commit
	writeIn  int           // counts its commits down; the last is held up
	writeFor time.Duration // so long
	renewed  time.Time     // when the last grant or renewal that succeeded was sent
	claims   []time.Time   // when it tried to own the fleet, under the same lease
	deaf     bool          // its renewals are lost
}

// life is one process.
type life struct {
	server *server
	engine *engine.Engine
	setup  func(spec policy.Spec) engine.Setup
	dead   atomic.Bool // nothing that it does reaches the store any more
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// start begins a life with the spec. A lone server holds the data folder's lock, and revokes its predecessor's leases.
func (s *server) start(spec policy.Spec) {
	r := s.room
	r.t.Helper()
	if len(r.servers) == 1 || s.own != nil {
		s.store().RevokeAll()
	}
	s.mu.Lock()
	s.thaw, s.pauseFor, s.dieIn = time.Time{}, 0, 0
	s.mu.Unlock()
	l := &life{server: s}
	handle := r.world.Open(s.name)
	probes := netprobe.New(r.world.Vantage(s.name), netprobe.Options{Agents: handle})
	adapter := newWire(handle, r.world.Open(s.name+lateSuffix), s)
	l.setup = func(spec policy.Spec) engine.Setup {
		return engine.Setup{
			Sources: []poller.Source{{
				Name: spec.Provider, Adapter: adapter, Watcher: handle, Poll: r.o.Poll, Runner: handle.Commands(),
				Hooks:  handle.Hooks(),
				Fencer: powers{r, s.name},
			}},
			Fleets: []engine.Fleet{{Spec: spec, Probes: probes}},
		}
	}
	setup := l.setup(spec)
	e, err := engine.New(engine.Options{
		Store: post{Store: s.store().Open(l.faults), life: l}, Server: s.name, Logger: slog.New(slog.DiscardHandler),
		Sources: setup.Sources, Fleets: setup.Fleets,
		Gauges: r.gauge,
		Post: engine.Post{Find: func(policy.TargetName) notify.Target { return &r.pager },
			Words: prose.Words{}.Message},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	e.StepClock(s.skew)
	l.engine = e
	ctx, cancel := context.WithCancel(r.t.Context())
	l.cancel = cancel
	l.wg.Go(func() { r.must(probes.Run(ctx)) })
	l.wg.Go(func() {
		if err := e.Run(ctx); err != nil && ctx.Err() == nil && l.dead.CompareAndSwap(false, true) {
			r.deaths <- s // it could not begin, and says so to its starter
		}
	})
	s.life = l
}

// kill ends the process as kill -9 does: its lease runs on, and so do its calls.
func (s *server) kill() {
	if s.life == nil {
		return
	}
	s.life.dead.Store(true)
	s.life.end()
	s.life = nil
}

// end lets the process end in order.
func (l *life) end() {
	l.cancel()
	l.wg.Wait()
}

// storePatience is how long a call to a store that cannot be reached takes to fail.
const storePatience = 5 * time.Second

// faults decides what becomes of a call to the store.
func (l *life) faults(ctx context.Context, c memory.Call) memory.Effect {
	s := l.server
	s.mu.Lock()
	thaw := s.thaw
	s.mu.Unlock()
	if !pause(ctx, time.Until(thaw)) {
		return memory.Stall
	}
	writes := c.Op == memory.OpCommit
	switch {
	case l.dead.Load():
		return memory.FailBefore
	case writes && s.diesNow():
		if l.dead.CompareAndSwap(false, true) {
			s.room.deaths <- s
		}
		return s.atDeath
	case s.cut.Load() > 0:
		pause(ctx, storePatience)
		return memory.FailBefore
	case s.room.full.Load() > 0 && (writes || c.Op == memory.OpGrant):
		return memory.NoSpace
	}
	return s.lease(c)
}

// lease follows the server's lease as its holder can know it.
func (s *server) lease(c memory.Call) memory.Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.Op == memory.OpRenew && s.deaf:
		return memory.FailBefore
	case c.Op == memory.OpGrant:
		s.renewed, s.claims = time.Now(), nil
	case c.Op == memory.OpRenew:
		s.renewed = time.Now()
	case c.Op == memory.OpCommit && slices.ContainsFunc(c.Txn.Then, func(w state.Write) bool { return w.Lease != 0 }):
		s.claims = append(s.claims, time.Now())
	}
	return memory.Normal
}

// remaining returns how much the server's lease has left, as it must see it.
func (s *server) remaining() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.renewed.Add(tenure.Lease(s.room.spec)))
}

// deafen loses the server's renewals from now on, or no more.
func (s *server) deafen(lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = lost
}

// diesNow counts a commit, and reports whether it is the one at which the process dies.
func (s *server) diesNow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dieIn == 0 {
		return false
	}
	s.dieIn--
	return s.dieIn == 0
}

// holdUp has the next such call wait, between the reading of the lease and the sending; an empty operation means any
// that disrupts.
func (s *server) holdUp(op fleet.Op, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauseFor, s.pauseOp, s.paused = d, op, false
}

// holdsUp reports whether the call came, and waits or waited.
func (s *server) holdsUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused
}

// takePause returns for how long the call is held up, once; meanwhile the store hears nothing of the server.
func (s *server) takePause(op fleet.Op) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.pauseFor
	if d == 0 || s.pauseOp != op && (s.pauseOp != "" || !op.Disruptive()) {
		return 0
	}
	s.pauseFor, s.paused = 0, true
	s.thaw = time.Now().Add(d)
	return d
}

// pause lets the time pass, and reports whether ctx lasted as long.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
