package haproxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/balancer"
	"hale/internal/balancer/balancertest"
	"hale/internal/balancer/haproxy"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	bed "hale/internal/testbed/haproxy"
	"hale/internal/testbed/nettest"
)

const slots = 5

// liar stands between the adapter and HAProxy, and spoils what passes.
type liar struct {
	socket string
	fault  atomic.Pointer[balancertest.Fault]
}

func newLiar(t *testing.T, behind string) *liar {
	t.Helper()
	dir, err := os.MkdirTemp("", "liar") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := &liar{socket: filepath.Join(dir, "s")}
	at, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", l.socket)
	if err != nil {
		t.Fatal(err)
	}
	nettest.Serve(t, at, func(ctx context.Context, c net.Conn) { l.pass(ctx, c, behind) })
	return l
}

func (l *liar) pass(ctx context.Context, c net.Conn, behind string) {
	command, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return
	}
	is := balancertest.Works
	if f := l.fault.Load(); f != nil {
		is = *f
	}
	if is == balancertest.Garbage {
		_, _ = io.WriteString(c, "\x00\xff<html>1, 2, 3</html>\n")
		return
	}
	back, err := (&net.Dialer{}).DialContext(ctx, "unix", behind)
	if err != nil {
		return
	}
	defer func() { _ = back.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = back.Close() })
	defer stop()
	if is == balancertest.Slow {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	_, _ = io.WriteString(back, command)
	said, _ := io.ReadAll(back)
	if is == balancertest.AnswerLost && strings.HasPrefix(command, "set server") {
		<-ctx.Done()
		return
	}
	_, _ = c.Write(said)
}

func TestHAProxyPassesTheExam(t *testing.T) {
	t.Parallel()
	balancertest.Run(t, func(t *testing.T) balancertest.Bench {
		h := bed.StartPool(t, slots)
		l := newLiar(t, h.Socket)
		was := balancertest.Works
		return balancertest.Bench{
			Pool:      haproxy.New(haproxy.Options{Name: "edge", Socket: l.socket, Backend: bed.Backend}),
			Remembers: true,
			Cannot:    []balancertest.Fault{balancertest.Fails}, // what it takes it has done
			Forget:    h.Reload,
			Put: func(m balancer.Member) {
				h.Ask(fmt.Sprintf("set server web/%s addr %s port %d", m.Name, m.At.Addr(), m.At.Port()))
				h.Ask(fmt.Sprintf("set server web/%s state %s", m.Name,
					map[balancer.State]string{balancer.Serving: "ready", balancer.Draining: "drain",
						balancer.Out: "maint"}[m.State]))
			},
			Break: func(f balancertest.Fault) {
				switch {
				case f == balancertest.Dead:
					h.Kill()
				case f == balancertest.Frozen:
					h.Freeze()
				case f == balancertest.Works && was == balancertest.Dead:
					h.Start()
				case f == balancertest.Works && was == balancertest.Frozen:
					h.Thaw()
				}
				was = f
				l.fault.Store(&f)
			},
		}
	})
}

func set(t *testing.T, p balancer.Pool, name fleet.MachineName, w balancer.Want) {
	t.Helper()
	if err := p.Set(t.Context(), name, w); err != nil {
		t.Fatalf("%s %s: %v", name, w.State, err)
	}
}

// await asks until the member is as it should be.
func await(t *testing.T, p balancer.Pool, name fleet.MachineName, is func(balancer.Member) bool) balancer.Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := p.Members(ctx)
		for _, m := range all {
			if m.Name == name && is(m) {
				return m
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s never became so: %+v, %v", name, all, err)
		}
	}
}

// TestAMemberDrainsUntilItsConnectionsEnd: new requests go elsewhere, those under way are finished, and the pool says
// how many there are.
func TestAMemberDrainsUntilItsConnectionsEnd(t *testing.T) {
	t.Parallel()
	h := bed.StartPool(t, slots)
	p := haproxy.New(haproxy.Options{Name: "edge", Socket: h.Socket, Backend: bed.Backend})
	release := make(chan struct{})
	serve := func(name string) netip.AddrPort {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/long" {
				<-release
			}
			_, _ = io.WriteString(w, name)
		}))
		t.Cleanup(s.Close)
		return netip.MustParseAddrPort(strings.TrimPrefix(s.URL, "http://"))
	}
	set(t, p, "web-1", balancer.Want{State: balancer.Serving, At: serve("web-1")})
	await(t, p, "web-1", func(m balancer.Member) bool { return m.Verdict == balancer.Up && !m.Since.IsZero() })
	get := func(path string) (string, error) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.Front+path, http.NoBody)
		if err != nil {
			return "", err
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Do(q)
		if err != nil {
			return "", err
		}
		defer func() { _ = answer.Body.Close() }()
		said, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		return string(said), err
	}
	long := make(chan string, 1)
	go func() {
		said, err := get("/long")
		long <- fmt.Sprint(said, err)
	}()
	await(t, p, "web-1", func(m balancer.Member) bool { return m.Connections == 1 })
	set(t, p, "web-2", balancer.Want{State: balancer.Serving, At: serve("web-2")})
	set(t, p, "web-1", balancer.Want{State: balancer.Draining})
	for range 6 {
		if said, err := get("/"); err != nil || said != "web-2" {
			t.Errorf("a new request went to %q, %v", said, err)
		}
	}
	await(t, p, "web-1", func(m balancer.Member) bool { return m.Connections == 1 && m.State == balancer.Draining })
	close(release)
	if said := <-long; said != "web-1<nil>" {
		t.Errorf("the request under way ended with %s", said)
	}
	await(t, p, "web-1", func(m balancer.Member) bool { return m.Connections == 0 })
}

// TestThePoolHasAVerdictOfItsOwn: a member where nothing listens is down, by the pool's own checks.
func TestThePoolHasAVerdictOfItsOwn(t *testing.T) {
	t.Parallel()
	h := bed.StartPool(t, slots)
	p := haproxy.New(haproxy.Options{Name: "edge", Socket: h.Socket, Backend: bed.Backend})
	set(t, p, "web-1", balancer.Want{State: balancer.Serving, At: netip.MustParseAddrPort(nettest.Free(t))})
	m := await(t, p, "web-1", func(m balancer.Member) bool { return m.Verdict == balancer.Down })
	if m.State != balancer.Serving || time.Since(m.Since) > time.Minute {
		t.Errorf("%+v", m)
	}
}

// TestAServerIsMadeWhereItIsAllowed: the backend has no slot for it, and the configuration says with what it is made.
func TestAServerIsMadeWhereItIsAllowed(t *testing.T) {
	t.Parallel()
	h := bed.StartPool(t, 1)
	how := "check inter 200ms"
	p := haproxy.New(haproxy.Options{Name: "edge", Socket: h.Socket, Backend: bed.Backend, Add: &how})
	at := netip.MustParseAddrPort(nettest.Free(t))
	set(t, p, "web-7", balancer.Want{State: balancer.Serving, At: at})
	m := await(t, p, "web-7", func(m balancer.Member) bool { return m.Verdict == balancer.Down })
	if m.At != at || m.State != balancer.Serving {
		t.Errorf("%+v", m)
	}
	set(t, p, "web-7", balancer.Want{State: balancer.Out})
	set(t, p, "web-7", balancer.Want{State: balancer.Serving, At: at})
	bad := "no such words"
	p = haproxy.New(haproxy.Options{Name: "edge", Socket: h.Socket, Backend: bed.Backend, Add: &bad})
	err := p.Set(t.Context(), "web-8", balancer.Want{State: balancer.Serving, At: at})
	if !fault.Is(err, fault.NotFound) || !strings.Contains(fault.Plain(err), "unknown keyword") {
		t.Errorf("it says %v", err)
	}
}

// TestWhatIsConfiguredWronglyIsSaid: each cause by its kind.
func TestWhatIsConfiguredWronglyIsSaid(t *testing.T) {
	t.Parallel()
	h := bed.StartPool(t, 1)
	for name, c := range map[string]struct {
		o    haproxy.Options
		kind fault.Kind
	}{
		"no such backend": {haproxy.Options{Socket: h.Socket, Backend: "nope"}, fault.NotFound},
		"no such socket":  {haproxy.Options{Socket: h.Socket + "x", Backend: "web"}, fault.Transient},
		"nobody listens":  {haproxy.Options{Socket: nettest.Free(t), Backend: "web"}, fault.Transient},
	} {
		if all, err := haproxy.New(c.o).Members(t.Context()); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
}

// TestItsSocketMayBeOnTheNetwork: HAProxy's runtime API by TCP is spoken to in the same way.
func TestItsSocketMayBeOnTheNetwork(t *testing.T) {
	t.Parallel()
	h := bed.StartPool(t, 1)
	at, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{}
	nettest.Serve(t, at, func(ctx context.Context, c net.Conn) { l.pass(ctx, c, h.Socket) })
	p := haproxy.New(haproxy.Options{Name: "edge", Socket: at.Addr().String(), Backend: bed.Backend})
	set(t, p, "web-1", balancer.Want{State: balancer.Serving, At: netip.MustParseAddrPort("[::1]:80")})
}
