package bulkprobe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
)

func TestExam(t *testing.T) {
	t.Parallel()
	probetest.RunPolling(t, func(t *testing.T, transport probe.Transport) probe.Engine {
		return start(t, transport)
	})
}

// start runs an engine until the test ends: over the transport both by the shards and in the ordinary way.
func start(t *testing.T, transport probe.Transport) *Engine {
	t.Helper()
	pool, err := newPool(Options{Slot: time.Millisecond}, func(s *shard, _ Options, origin time.Time) (wire, error) {
		return newRelay(t.Context(), s, transport, origin), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e := pool.Engine(netprobe.New(transport, netprobe.Options{}))
	ended := make(chan error, 2)
	go func() { ended <- pool.Run(t.Context()) }()
	go func() { ended <- e.Run(t.Context()) }()
	t.Cleanup(func() {
		<-ended
		<-ended
	})
	return e
}

// relay is a wire over a transport, for bubbles: a goroutine for each probe, as no product has it, and the bubble's
// clock.
type relay struct {
	shard     *shard
	begin     func(limit time.Duration) (context.Context, context.CancelFunc) // of a probe
	transport probe.Transport
	origin    time.Time
	bell      chan struct{}
	flights   map[int32]*flight
	wg        sync.WaitGroup

	mu     sync.Mutex
	landed []*flight
}

// flight is one probe of a target, or what became of it.
type flight struct {
	target int32
	cancel context.CancelFunc
	reason reason
	note   note
	// dialed says that the other end is there.
	dialed atomic.Bool
}

func newRelay(ctx context.Context, s *shard, transport probe.Transport, origin time.Time) *relay {
	begin := func(limit time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, limit)
	}
	return &relay{
		shard: s, begin: begin, transport: transport, origin: origin, bell: make(chan struct{}, 1),
		flights: make(map[int32]*flight),
	}
}

func (x *relay) now() int64 { return int64(time.Since(x.origin)) }

func (x *relay) launch(i int32, t *target, p *plan) bool {
	ctx, cancel := x.begin(time.Duration(p.timeout))
	f := &flight{target: i, cancel: cancel}
	x.flights[i] = f
	address := t.netip()
	x.wg.Go(func() {
		defer cancel()
		began := time.Now()
		f.reason, f.note = x.ask(ctx, f, address, p)
		if time.Since(began) >= time.Duration(p.timeout) && f.reason != local && f.reason != notConnected {
			f.reason, f.note = timedOut, textNone
		}
		x.mu.Lock()
		x.landed = append(x.landed, f)
		x.mu.Unlock()
		x.ring()
	})
	return true
}

// ask puts the question to the transport.
func (x *relay) ask(ctx context.Context, f *flight, address netip.Addr, p *plan) (reason, note) {
	if p.kind == kindPing {
		return weigh(x.transport.Ping(ctx, address))
	}
	conn, err := x.transport.Dial(ctx, "tcp", netip.AddrPortFrom(address, p.port).String())
	if err != nil {
		r, n := weigh(err)
		if p.lenient && probe.MeaningOf(r.word()) == probe.MeansFailure {
			return notConnected, reasonNote(r)
		}
		return r, n
	}
	defer conn.Close()
	f.dialed.Store(true)
	if p.kind == kindTCP {
		return ok, textNone
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var h head
	h.begin()
	_, err = conn.Write(p.request(nil, address))
	for b := make([]byte, 100); err == nil && h.phase != headDone && h.phase != broken; {
		var n int
		n, err = conn.Read(b)
		h.feed(b[:n])
	}
	if h.phase != headDone && h.phase != broken {
		if ctx.Err() != nil {
			return timedOut, textNone
		}
		return protocol, textClosed
	}
	return h.verdict(p)
}

func weigh(err error) (reason, note) {
	var (
		ours  probe.LocalError
		errno syscall.Errno
	)
	switch {
	case err == nil:
		return ok, textNone
	case errors.As(err, &ours):
		errors.As(ours.Err, &errno)
		return local, errnoNote(errno)
	case errors.As(err, &errno):
		return ofErrno(errno), errnoNote(errno)
	case errors.Is(err, net.ErrClosed):
		return local, textNone
	}
	return timedOut, textNone
}

func (x *relay) flush() {}

func (x *relay) harvest() {
	x.mu.Lock()
	landed := x.landed
	x.landed = nil
	x.mu.Unlock()
	for _, f := range landed {
		if x.flights[f.target] == f {
			delete(x.flights, f.target)
			x.shard.answer(f.target, f.reason, f.note)
		}
	}
}

func (x *relay) expire(i int32, t *target, p *plan) expiry {
	silent := !x.flights[i].dialed.Load()
	x.forget(i, t)
	if p.lenient && silent {
		return unconnected
	}
	return inSilence
}

func (x *relay) forget(i int32, _ *target) {
	if f := x.flights[i]; f != nil {
		f.cancel()
		delete(x.flights, i)
	}
}

func (x *relay) pause(until int64, _ int) {
	timer := time.NewTimer(time.Duration(until - x.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.bell:
	}
}

func (x *relay) ring() {
	select {
	case x.bell <- struct{}{}:
	default:
	}
}

func (x *relay) close() { x.wg.Wait() }
