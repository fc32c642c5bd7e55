package bulkprobe

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/testbed/nettest"
)

// field is an engine over real sockets, in a network namespace of its own, where loopback is up, and what it says.
type field struct {
	*Engine
	t      testing.TB
	pool   *Pool
	inside chan func() // runs on a thread inside the namespace
	thread int         // which
	once   sync.Once
}

// newField makes one; prepare, if any, runs inside the namespace first. It needs root.
func newField(t testing.TB, o Options, prepare func() error) *field {
	t.Helper()
	o.Shards = 1
	f := &field{t: t, inside: make(chan func())}
	begun := make(chan error)
	ended := make(chan error, 2)
	// Its thread, never unlocked, ends with it, and the namespace with its last socket. It ends when the shard does.
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if f.thread = unix.Gettid(); err == nil {
			err = loopbackUp()
		}
		if err == nil && prepare != nil {
			err = prepare()
		}
		if err == nil {
			f.pool, err = newPool(o, newSockets)
		}
		begun <- err
		if err != nil {
			return
		}
		for do := range f.inside {
			do()
		}
		f.pool.shards[0].run()
		ended <- nil
	}()
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	f.Engine = f.pool.Engine(netprobe.New(netprobe.Network(), netprobe.Options{}))
	go func() { ended <- f.Run(t.Context()) }()
	t.Cleanup(func() {
		f.begin()
		f.pool.shards[0].end()
		<-ended
		<-ended
	})
	return f
}

// do runs something inside the namespace, before begin.
func (f *field) do(what func() error) {
	f.t.Helper()
	done := make(chan error)
	f.inside <- func() { done <- what() }
	if err := <-done; err != nil {
		f.t.Fatal(err)
	}
}

// begin lets the shard work.
func (f *field) begin() { f.once.Do(func() { close(f.inside) }) }

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// listen serves connections inside the namespace until the test ends, and returns the port.
func (f *field) listen(address string, serve func(net.Conn)) int {
	f.t.Helper()
	var l net.Listener
	f.do(func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(address, "0"))
		return err
	})
	nettest.Serve(f.t, l, func(_ context.Context, c net.Conn) { serve(c) })
	return l.Addr().(*net.TCPAddr).Port
}

// deaf listens, and hears nothing of what comes.
func (f *field) deaf() int {
	f.t.Helper()
	var port int
	f.do(func() error {
		var plain net.ListenConfig
		plain.SetMultipathTCP(false) // which takes no filter
		l, err := plain.Listen(f.t.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		f.t.Cleanup(func() { l.Close() })
		port = l.Addr().(*net.TCPAddr).Port
		raw, err := l.(*net.TCPListener).SyscallConn()
		if err != nil {
			return err
		}
		drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
		var set error
		err = raw.Control(func(fd uintptr) {
			set = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
				&unix.SockFprog{Len: 1, Filter: &drop[0]})
		})
		if err == nil {
			err = set
		}
		return err
	})
	return port
}

// check is asked ten times a second.
func check(kind policy.CheckKind, port int) *policy.Check {
	return &policy.Check{
		Name: "c", Kind: kind, Every: 100 * time.Millisecond, Timeout: 50 * time.Millisecond, DownAfter: 2, UpAfter: 2,
		Port: port,
	}
}

func of(n int, address string, c *policy.Check) probe.Target {
	return probe.Target{
		ID:      probe.ID{Machine: fleet.Name("web").Machine(n), Check: c.Name},
		Address: netip.MustParseAddr(address),
		Spec:    c,
		Epoch:   1,
	}
}

// until waits for the target to stand as said.
func (f *field) until(id probe.ID, want string) probe.Edge {
	f.t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		for _, e := range f.Standings() {
			if last = fmt.Sprintf("%s %s", e.Standing, e.Result); e.ID == id && last == want {
				return e
			}
		}
		select {
		case <-tick.C:
		case <-limit.C:
			f.t.Fatalf("%v is %q, want %q", id, last, want)
		}
	}
}

func serveStatus(code int, leaves bool) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		r := bufio.NewReader(c)
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 %d x\r\nContent-Length: 3\r\n\r\nok\n", code)
			if leaves {
				return
			}
		}
	}
}

func hold(c net.Conn) {
	b := make([]byte, 1)
	for {
		if _, err := c.Read(b); err != nil {
			c.Close()
			return
		}
	}
}

// TestStandingsOverSockets asks targets of all kinds, over both families, for what they are.
func TestStandingsOverSockets(t *testing.T) {
	t.Parallel()
	for _, family := range []string{"127.0.0.1", "::1"} {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			f := newField(t, Options{}, nil)
			open := f.listen(family, hold)
			good, bad := f.listen(family, serveStatus(204, true)), f.listen(family, serveStatus(503, true))
			talks := f.listen(family, func(c net.Conn) {
				fmt.Fprint(c, "SSH-2.0-OpenSSH_9.2p1\r\n")
				hold(c)
			})
			rude := f.listen(family, func(c net.Conn) {
				c.(*net.TCPConn).SetLinger(0)
				c.Read(make([]byte, 10))
				c.Close()
			})
			mute := f.listen(family, hold)
			cases := map[string]struct {
				check *policy.Check
				want  string
			}{
				"ping":                  {check(policy.CheckPing, 0), "up ok"},
				"an open port":          {check(policy.CheckTCP, open), "up ok"},
				"a closed port":         {check(policy.CheckTCP, 1), "down refused"},
				"a page":                {check(policy.CheckHTTP, good), "up ok"},
				"a bad status":          {check(policy.CheckHTTP, bad), "down status"},
				"another protocol":      {check(policy.CheckHTTP, talks), "down protocol"},
				"accepts and hangs":     {check(policy.CheckHTTP, mute), "down timeout"},
				"resets the connection": {check(policy.CheckHTTP, rude), "down refused"},
				"no server there":       {check(policy.CheckHTTP, 1), "down refused"},
			}
			f.begin()
			n := 0
			ids := map[string]probe.ID{}
			for name, c := range cases {
				n++
				target := of(n, family, c.check)
				ids[name] = target.ID
				f.Set(target)
			}
			for name, c := range cases {
				f.until(ids[name], c.want)
			}
			if e := f.until(ids["a bad status"], "down status"); e.Detail != "503" {
				t.Errorf("detail of a 503: %q", e.Detail)
			}
		})
	}
}

// TestSilenceOverSockets asks those that never answer, and finds them down, in time.
func TestSilenceOverSockets(t *testing.T) {
	t.Parallel()
	f := newField(t, Options{}, func() error {
		return os.WriteFile("/proc/thread-self/root/proc/sys/net/ipv4/icmp_echo_ignore_all", []byte("1"), 0o600)
	})
	port := f.deaf()
	f.begin()
	lenient := check(policy.CheckHTTP, port)
	lenient.HTTP.NoConnection = policy.NoConnectionIgnore
	f.Set(of(1, "127.0.0.1", check(policy.CheckPing, 0)), of(2, "127.0.0.1", check(policy.CheckTCP, port)),
		of(3, "127.0.0.1", check(policy.CheckHTTP, port)), of(4, "127.0.0.1", lenient))
	for n := 1; n <= 3; n++ {
		f.until(of(n, "127.0.0.1", lenient).ID, "down timeout")
	}
	f.until(of(4, "127.0.0.1", lenient).ID, "unknown not-connected")
}

// TestNoRouteIsOurs asks where no route leads: a namespace with nothing but loopback.
func TestNoRouteIsOurs(t *testing.T) {
	t.Parallel()
	f := newField(t, Options{}, nil)
	f.begin()
	f.Set(of(1, "192.0.2.1", check(policy.CheckPing, 0)), of(2, "192.0.2.1", check(policy.CheckTCP, 80)),
		of(3, "2001:db8::1", check(policy.CheckPing, 0)))
	for n := 1; n <= 3; n++ {
		e := f.until(of(n, "192.0.2.1", check(policy.CheckPing, 0)).ID, "unknown local")
		if e.Detail != unix.ENETUNREACH.Error() {
			t.Errorf("detail %q", e.Detail)
		}
	}
}

// TestConnectionsAreReused counts how many sockets many checks take.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	f := newField(t, Options{}, nil)
	port := f.listen("127.0.0.1", hold)
	f.begin()
	c := check(policy.CheckTCP, port)
	for n := range 20 {
		f.Set(of(n+1, fmt.Sprintf("127.0.0.%d", n+1), c))
	}
	f.started(400)
	if n := f.sockets(); n > 40 {
		t.Errorf("%d sockets are open for 20 targets", n)
	}
}

// existing counts the sockets of the namespace, of every process.
func (f *field) existing() int {
	f.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/net/sockstat", f.thread))
	if err != nil {
		f.t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscanf(string(text), "sockets: used %d", &n); err != nil {
		f.t.Fatalf("%q: %v", text, err)
	}
	return n
}

// TestNoSocketIsForgotten: whatever becomes of a connection, it is closed, or known for the next time.
func TestNoSocketIsForgotten(t *testing.T) {
	t.Parallel()
	f := newField(t, Options{}, nil)
	leaves := f.listen("127.0.0.1", serveStatus(200, true))
	rude := f.listen("127.0.0.1", func(c net.Conn) {
		c.(*net.TCPConn).SetLinger(0)
		c.Read(make([]byte, 10))
		c.Close()
	})
	silent := f.deaf()
	f.begin()
	kept := check(policy.CheckHTTP, leaves)
	kept.HTTP.KeepAlive = true
	for n, c := range []*policy.Check{
		kept, check(policy.CheckHTTP, rude), check(policy.CheckTCP, silent), check(policy.CheckTCP, 1),
		check(policy.CheckHTTP, leaves),
	} {
		f.Set(of(n+1, "127.0.0.1", c))
	}
	f.started(50)
	before := f.existing()
	f.started(250)
	if n := f.existing(); n > before+10 {
		t.Errorf("after 50 probes there were %d sockets, after 250 %d", before, n)
	}
}

// TestAFullConnectionIsAccepted: the program behind the port gets to see connections when the check says so, and hardly
// any otherwise.
func TestAFullConnectionIsAccepted(t *testing.T) {
	t.Parallel()
	f := newField(t, Options{}, nil)
	var full, short atomic.Int32
	counted := func(n *atomic.Int32) func(net.Conn) {
		return func(c net.Conn) {
			n.Add(1)
			hold(c)
		}
	}
	a := check(policy.CheckTCP, f.listen("127.0.0.1", counted(&full)))
	b := check(policy.CheckTCP, f.listen("127.0.0.1", counted(&short)))
	a.Full = true
	f.begin()
	f.Set(of(1, "127.0.0.1", a), of(2, "127.0.0.1", b))
	f.started(60)
	if full.Load() < 20 || short.Load() > full.Load()/2 {
		t.Errorf("%d of about 30 full connections were accepted, and %d of others", full.Load(), short.Load())
	}
}

// started waits until so many probes have been.
func (f *field) started(n uint64) Stats {
	f.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := f.pool.Stats(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		if s.Started >= n {
			return s
		}
		<-tick.C
	}
}

// sockets returns how many connections the shard has, idle ones included.
func (f *field) sockets() int {
	n := make(chan int)
	f.pool.shards[0].tell(instruction{inspect: func(s *shard) { n <- s.wire.(*sockets).open }})
	return <-n
}

// TestKeptConnections asks over one connection as long as it holds, and over a fresh one before a failure counts.
func TestKeptConnections(t *testing.T) {
	t.Parallel()
	f := newField(t, Options{}, nil)
	var connections atomic.Int32
	count := func(serve func(net.Conn)) func(net.Conn) {
		return func(c net.Conn) {
			connections.Add(1)
			serve(c)
		}
	}
	stays := f.listen("127.0.0.1", count(serveStatus(200, false)))
	leaves := f.listen("127.0.0.1", serveStatus(200, true)) // says nothing of it, and hangs up
	f.begin()
	keep := func(port int) *policy.Check {
		c := check(policy.CheckHTTP, port)
		c.HTTP.KeepAlive = true
		c.Every, c.Timeout = 250*time.Millisecond, 240*time.Millisecond // time for a crowded machine
		return c
	}
	a, b := of(1, "127.0.0.1", keep(stays)), of(2, "127.0.0.1", keep(leaves))
	f.Set(a, b)
	f.started(24)
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for 12 requests", n)
	}
	for _, id := range []probe.ID{a.ID, b.ID} {
		if e := f.until(id, "up ok"); e.Seq != 1 {
			t.Errorf("%v: %d edges, want it up and nothing else", id, e.Seq)
		}
	}
}
