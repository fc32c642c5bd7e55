package libvirt_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hale/internal/core/fault"
	"hale/internal/provider"
	"hale/internal/provider/libvirt"
	"hale/internal/testbed/nettest"
)

// forward listens on TCP for a Unix socket, until the test ends, and returns its address.
func forward(t testing.TB, socket string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	nettest.Serve(t, listener, func(ctx context.Context, client net.Conn) { join(ctx, client, socket) })
	return listener.Addr().String()
}

func join(ctx context.Context, client net.Conn, socket string) {
	daemon, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer daemon.Close()
	stop := context.AfterFunc(ctx, func() { daemon.Close() })
	defer stop()
	var up sync.WaitGroup
	up.Go(func() {
		io.Copy(daemon, client)
		daemon.Close()
	})
	io.Copy(client, daemon)
	client.Close()
	up.Wait()
}

// TestAHostThatHangsLeavesTimeForTheOthersAnswers: after a list, the caller has time left to ask the hosts that
// answered.
func TestAHostThatHangsLeavesTimeForTheOthersAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	silent, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")) // it accepts no connection
	must(t, err)
	defer silent.Close()
	p, err := libvirt.New(libvirt.Options{StateDir: b.Info().Images, Hosts: []libvirt.HostOptions{
		{Name: "a", URI: b.URI()}, {Name: "b", URI: "qemu+unix:///system?socket=" + silent.Addr().String()},
	}})
	must(t, err)
	defer p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	listing, err := p.List(ctx)
	must(t, err)
	for _, h := range listing.Hosts {
		if up := h.Err == nil; up != (h.Name == "a") {
			t.Errorf("host %s: %v", h.Name, h.Err)
		}
	}
	ids, err := p.Identity(ctx)
	if err != nil || len(ids) != 1 || ids["a"] == "" {
		t.Errorf("identity: %v, %v", ids, err)
	}
}

// TestFrozenDaemon is not parallel: it counts goroutines.
func TestFrozenDaemon(t *testing.T) {
	b := newBench(t)
	warm := b.handle(t)
	o := b.order("frozen")
	must(t, warm.Create(t.Context(), o))
	before := goleak.IgnoreCurrent()

	p := b.handle(t)
	_, err := p.List(t.Context()) // connected before, so that calls are sent
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- p.Watch(ctx, func(provider.Event) {}) }()

	b.Freeze(t)
	calls := map[string]func(ctx context.Context, ref provider.Ref) error{
		"identity":  func(ctx context.Context, _ provider.Ref) error { _, err := p.Identity(ctx); return err },
		"list":      func(ctx context.Context, _ provider.Ref) error { _, err := p.List(ctx); return err },
		"get":       func(ctx context.Context, ref provider.Ref) error { _, err := p.Get(ctx, ref); return err },
		"start":     p.Start,
		"reboot":    p.Reboot,
		"power off": p.PowerOff,
		"delete":    p.Delete,
		"certify":   p.Certify,
		"create":    func(ctx context.Context, _ provider.Ref) error { return p.Create(ctx, b.order("never")) },
	}
	var all sync.WaitGroup
	for name, call := range calls {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			began := time.Now()
			err := call(ctx, o.Ref)
			// All of them look before they change something, so nothing was done and they know it.
			wantKind(t, name, err, fault.Transient)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s took %v", name, took)
			}
		})
	}
	all.Wait()
	b.Thaw(t)
	_, err = p.List(t.Context())
	must(t, err)
	cancel()
	must(t, <-watched)
	must(t, p.Close())
	goleak.VerifyNone(t, before)
	destroyed(t, warm, o.Ref)
}

// TestWatchSurvivesTheDaemon: after a crash of the daemon the watch is there again, with events.
func TestWatchSurvivesTheDaemon(t *testing.T) {
	b := newBench(t)
	before := goleak.IgnoreCurrent() // the bench's relay lives as long as the test
	p := b.handle(t)
	o := b.order("watched")
	must(t, p.Create(t.Context(), o))
	heard := make(chan provider.Event, 256)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Watch(ctx, func(e provider.Event) { heard <- e }) }()
	hear(t, heard, "the connection", provider.Event{})

	b.Disconnect(t)
	b.Reconnect(t)
	hear(t, heard, "the second connection", provider.Event{})
	hear(t, heard, "the time when the daemon has hold of its domains", provider.Event{})
	must(t, b.KillQEMU(background(t), o.Name))
	hear(t, heard, "the death after it", provider.Event{Instance: o.ID})

	b.Freeze(t) // the keepalive notices
	frozen := time.Now()
	b.awaitSilence(t, p)
	b.Thaw(t)
	hear(t, heard, "the third connection", provider.Event{})
	if took := time.Since(frozen); took > patience/2 {
		t.Errorf("the frozen daemon held the watch for %v", took)
	}
	must(t, p.Delete(t.Context(), o.Ref))
	cancel()
	must(t, <-ended)
	must(t, p.Close())
	must(t, b.Close())
	goleak.VerifyNone(t, before)
}

// awaitSilence waits longer than the watch's keepalive takes to give a frozen daemon up.
func (b *bench) awaitSilence(t testing.TB, p *libvirt.Provider) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	_, err := p.List(ctx)
	wantKind(t, "list of a frozen daemon", err, fault.Transient)
}

// hear waits for the event.
func hear(t testing.TB, heard <-chan provider.Event, what string, want provider.Event) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case e := <-heard:
			if e == want {
				return
			}
		case <-deadline.C:
			t.Fatalf("heard nothing of %s", what)
		}
	}
}
