package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"hale/api"
	"hale/internal/state/active"
	"hale/internal/testbed/etcdtest"
	"hale/internal/testbed/nettest"
)

// together are servers that share their state in an etcd server, and a provider in processes of its own that notes
// which of them made each call.
type together struct {
	*testing.T
	at   string // where etcd answers
	page int
	all  map[string]*ending
	// state is where the server's file says that the state is; nil: in the etcd server.
	state func(name string) string
}

// share begins with servers of the names, which are not started yet.
func share(t *testing.T, names ...string) *together {
	t.Helper()
	c := &together{T: t, at: etcdtest.Start(t).URL, all: map[string]*ending{}}
	c.settle(names...)
	return c
}

// settle makes the servers' folders and files, and the provider.
func (c *together) settle(names ...string) {
	var first *ending
	for _, name := range names {
		e := &ending{T: c.T, fleets: 1}
		if first == nil {
			first, c.page = e, e.listen()
		}
		e.begin(c.page)
		c.all[name] = e
		c.configure(name, first, 3)
	}
	c.Cleanup(c.tell)
	first.feel("well")
	first.write(first.path("truth/calls"), "")
}

// configure writes a server's file: the truth is the first one's.
func (c *together) configure(name string, first *ending, size int) {
	program, err := filepath.Abs("testdata/truth.sh")
	first.must(err)
	e := c.all[name]
	state := fmt.Sprintf("{etcd: {endpoints: [%q]}}", c.at)
	if c.state != nil {
		state = c.state(name)
	}
	e.must(os.WriteFile(e.path("hale.yaml"), fmt.Appendf(nil, `
state: %s
providers: {lab: {type: exec, command: [%q], env: {TRUTH: %q}, poll: 1s}}
fleets:
  f0:
    provider: lab
    size: %d
    checks: {page: {tcp: {port: %d}}}
    repair: {steps: [start: {}, recreate: {}], attempts: 100 in 1h, backoff: 0s}
`, state, program, first.path("truth"), size, c.page), 0o600))
}

// tell logs what the servers logged, when the test failed.
func (c *together) tell() {
	for name, e := range c.all {
		if log, err := os.ReadFile(e.path("log")); err == nil && c.Failed() {
			c.Logf("%s:\n%s", name, log)
		}
	}
}

// starts begins a server under its name.
func (c *together) starts(name string, args ...string) *ending {
	c.all[name].start(append([]string{"--server", name}, args...)...)
	return c.all[name]
}

// standsBy waits until the server says why it does not act.
func (c *together) standsBy(name, why string) {
	c.Helper()
	e := c.all[name]
	e.until(name+" says: "+why, func() bool {
		_, err := e.client.Status(e.Context())
		return err != nil && strings.Contains(err.Error(), why)
	})
}

// calls returns the provider's record, in order. Each line has the time, the calling process, the operation and the
// instance.
func (c *together) calls(first *ending) []string {
	said, err := os.ReadFile(first.path("truth/calls"))
	first.must(err)
	return slices.DeleteFunc(strings.Split(string(said), "\n"), func(line string) bool { return line == "" })
}

// wantBuiltOnce wants that no machine was built twice, by the provider's record.
func (c *together) wantBuiltOnce(first *ending) {
	c.Helper()
	all := c.calls(first)
	builds := slices.DeleteFunc(slices.Clone(all), func(call string) bool {
		return !strings.Contains(call, " create ")
	})
	if len(builds) != 3 {
		c.Errorf("%d instances were built, want 3: %q", len(builds), all)
	}
}

func atWork(s api.Status) bool {
	return slices.ContainsFunc(s.Fleets[0].Machines, func(m api.Machine) bool { return m.Repair != nil })
}

func allHealthy(e *ending) func(api.Status) bool {
	return func(s api.Status) bool { return e.healthy(s) == 3 && !atWork(s) }
}

// firstCall returns when the server's process made its first call, by the provider's record.
func (c *together) firstCall(first *ending, of *ending) time.Time {
	c.Helper()
	for _, call := range c.calls(first) {
		var at int64
		var pid int
		if _, err := fmt.Sscan(call, &at, &pid); err != nil {
			c.Fatalf("call %q: %v", call, err)
		}
		if pid == of.hale.Process.Pid {
			return time.Unix(0, at)
		}
	}
	c.Fatalf("the server in %s made no call", of.dir)
	return time.Time{}
}

// S16, S28, S54: of two servers one looks after the fleet. It is killed in the middle of a repair: within ten seconds
// the other one looks after the fleet, and once no call of the first one's can be under way any more it goes on from
// the stored step, after 27 seconds at most; each machine has one instance. The killed one comes back, stands by, and
// follows at once when the other one is told to end.
func TestS54AnotherServerGoesOn(t *testing.T) {
	t.Parallel()
	c := share(t, "hale-a", "hale-b")
	a := c.starts("hale-a")
	a.await("hale-a built the fleet", allHealthy(a))
	b := c.starts("hale-b")
	c.standsBy("hale-b", "it stands by: hale-a looks after the fleets")
	a.until("hale server list has both", func() bool {
		return regexp.MustCompile(`(?s)hale-a +active.*hale-b +standby`).MatchString(a.says("server", "list"))
	})

	a.feel("slow")
	a.turnOff()
	a.await("hale-a repairs", atWork)
	a.must(a.hale.Process.Kill())
	killed := time.Now()
	<-a.ended
	a.feel("well")
	b.await("hale-b looks after the fleet", func(s api.Status) bool { return s.Fleets[0].Acting })
	took := time.Since(killed)
	if took > active.TTL+10*time.Second { // the machine may be busy
		t.Errorf("it took %v", took)
	}
	b.await("it is healed", allHealthy(b))
	calls := c.firstCall(a, b).Sub(killed)
	t.Logf("hale-b looked after the fleet %v after hale-a was killed, and made its first call after %v",
		took.Round(100*time.Millisecond), calls.Round(100*time.Millisecond))
	if calls < active.Cover || calls > active.TTL+active.Rest+10*time.Second {
		t.Errorf("the first call came after %v", calls)
	}
	a.wantEachOnce()

	c.starts("hale-a")
	c.standsBy("hale-a", "it stands by: hale-b looks after the fleets")
	b.end(lenient)
	left := time.Now()
	a.await("hale-a follows at once", allHealthy(a))
	t.Logf("hale-a followed %v after hale-b ended", time.Since(left).Round(100*time.Millisecond))
	if took := time.Since(left); took > active.Cover {
		t.Errorf("after a goodbye it took %v", took)
	}
	a.wantEachOnce()
	c.wantBuiltOnce(a)
}

// S17: a server that stands still for a minute is followed by the other one. When it goes on it makes no call, and
// stands by.
func TestS17AServerThatStoodStill(t *testing.T) {
	t.Parallel()
	c := share(t, "hale-a", "hale-b")
	a := c.starts("hale-a")
	a.await("hale-a built the fleet", allHealthy(a))
	b := c.starts("hale-b")
	c.standsBy("hale-b", "it stands by: hale-a looks after the fleets")

	a.must(a.hale.Process.Signal(syscall.SIGSTOP))
	a.turnOff()
	b.await("hale-b heals", allHealthy(b))
	before := len(c.calls(a))
	a.turnOff() // and this one is hale-b's, too
	a.must(a.hale.Process.Signal(syscall.SIGCONT))
	c.standsBy("hale-a", "it stands by: hale-b looks after the fleets")
	b.await("hale-b heals again", func(s api.Status) bool {
		return allHealthy(b)(s) && len(c.calls(a)) > before
	})
	for _, call := range c.calls(a)[before:] {
		if !strings.Contains(call, fmt.Sprintf(" %d ", b.hale.Process.Pid)) {
			t.Errorf("a call of the server that stood still: %s", call)
		}
	}
	a.wantEachOnce()
}

// The whole state is deleted under the active server. It notices, begins with an empty one, finds machines that bear a
// mark it does not know, and leaves them alone.
func TestAStateThatIsDeletedUnderItsServer(t *testing.T) {
	t.Parallel()
	c := share(t, "hale-a")
	a := c.starts("hale-a")
	a.await("hale-a built the fleet", allHealthy(a))
	before := len(c.calls(a))
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{c.at}})
	a.must(err)
	defer etcd.Close()
	_, err = etcd.Delete(t.Context(), "/hale/", clientv3.WithPrefix())
	a.must(err)
	a.await("it knows of another installation", func(s api.Status) bool { return len(s.Fleets[0].Foreign) > 0 })
	if calls := c.calls(a); len(calls) != before {
		t.Errorf("it called %q", calls[before:])
	}
	a.wantEachOnce()
}

// A clone of a server has its name, and an older file: that it is called the same makes it none that was edited.
func TestAServerWithTheNameOfAnother(t *testing.T) {
	t.Parallel()
	c := share(t, "hale-a", "hale-b")
	a := c.starts("hale-a")
	a.await("hale-a built the fleet", allHealthy(a))
	c.configure("hale-b", a, 4)
	c.starts("hale-b", "--server", "hale-a")
	c.standsBy("hale-b", "it stands by: hale-a looks after the fleets")
	a.end(lenient)
	c.standsBy("hale-b", "another one than that of another server called hale-a: copy the file")

	c.configure("hale-a", a, 3) // its own next start follows its last one
	c.starts("hale-a")
	a.await("hale-a goes on", allHealthy(a))
	a.wantEachOnce()
}

// S17: a server that no longer reaches etcd, and does reach its provider, makes no call once another one follows. When
// etcd is back, it stands by.
func TestS17AServerThatIsCutOff(t *testing.T) {
	t.Parallel()
	c := share(t, "hale-a", "hale-b")
	first, direct := c.all["hale-a"], c.at
	cable := lay(t, strings.TrimPrefix(direct, "http://"))
	c.at = "http://" + cable.at
	c.configure("hale-a", first, 3)
	a := c.starts("hale-a")
	a.await("hale-a built the fleet", allHealthy(a))
	c.at = direct
	b := c.starts("hale-b")
	c.standsBy("hale-b", "it stands by: hale-a looks after the fleets")

	cable.cut(true)
	a.turnOff()
	c.standsBy("hale-a", "the etcd servers do not answer")
	b.await("hale-b heals", allHealthy(b))
	for _, call := range c.calls(a) {
		if strings.Contains(call, " start ") && !strings.Contains(call, fmt.Sprintf(" %d ", b.hale.Process.Pid)) {
			t.Errorf("a call of the server that was cut off: %s", call)
		}
	}
	cable.cut(false)
	c.standsBy("hale-a", "it stands by: hale-b looks after the fleets")
	a.wantEachOnce()
}

// cable is the way to a server.
type cable struct {
	at   string
	mu   sync.Mutex
	isTo string // the server; empty: nothing goes through
	uses map[net.Conn]bool
	to   string
}

// lay lays one to the address.
func lay(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{at: l.Addr().String(), to: to, isTo: to, uses: map[net.Conn]bool{}}
	nettest.Serve(t, l, func(_ context.Context, from net.Conn) {
		c.mu.Lock()
		way, err := net.Dial("tcp", c.isTo)
		if err == nil {
			c.uses[from], c.uses[way] = true, true
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
		defer way.Close()
		back := make(chan struct{})
		go func() { // ends with either connection
			defer close(back)
			_, _ = io.Copy(from, way)
			_ = from.Close()
		}()
		_, _ = io.Copy(way, from)
		_ = way.Close()
		<-back
	})
	return c
}

// cut ends all that goes through it, and lets nothing through as long as it is cut.
func (c *cable) cut(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isTo = c.to; is {
		c.isTo = ""
	}
	for conn := range c.uses {
		_ = conn.Close()
	}
	clear(c.uses)
}

// A server whose file says something else of the fleets does not begin to look after them by itself.
func TestAServerWithAnotherFileDoesNotFollow(t *testing.T) {
	t.Parallel()
	c := share(t, "hale-a", "hale-b")
	a := c.starts("hale-a")
	a.await("hale-a built the fleet", allHealthy(a))
	c.configure("hale-b", a, 4)
	b := c.starts("hale-b")
	c.standsBy("hale-b", "since its configuration of the fleets is another one than hale-a's")
	a.until("hale server list says so", func() bool {
		return strings.Contains(a.says("server", "list"), "none of those that stand by would follow by itself")
	})
	a.end(lenient)
	c.standsBy("hale-b", "copy the file from there, or start hale here with --this-file")
	if n := len(a.truth()); n != 3 {
		t.Errorf("there are %d instances", n)
	}
	c.configure("hale-b", a, 3) // it is read again
	b.await("hale-b follows", allHealthy(b))
	b.end(lenient)

	c.configure("hale-a", a, 4)
	c.starts("hale-a")
	c.standsBy("hale-a", "--this-file")
	a.end(lenient)
	c.starts("hale-a", "--this-file")
	a.await("hale-a follows with its file", func(s api.Status) bool { return a.healthy(s) == 4 })
}

// A fleet of a hale with its state in a data folder goes on with its state in etcd, by a backup. A state that is
// there is not replaced.
func TestAStateMovesIntoEtcd(t *testing.T) {
	t.Parallel()
	c := share(t, "hale-a", "hale-b")
	a := c.all["hale-a"]
	shared, err := os.ReadFile(a.path("hale.yaml"))
	a.must(err)
	a.write(a.path("hale.yaml"), regexp.MustCompile(`(?m)^state: .*$`).ReplaceAllString(string(shared), ""))
	a.start()
	a.await("hale-a built the fleet", allHealthy(a))
	a.end(lenient)
	if said := a.says("backup", a.path("backup"), "--data-dir", a.path("data")); !strings.Contains(said, "3 machines") {
		t.Fatal(said)
	}

	a.write(a.path("hale.yaml"), string(shared))
	restore := []string{"restore", a.path("backup"), "--etcd", a.path("hale.yaml")}
	if said := a.says(restore...); !strings.Contains(said, "Restored into /hale/ at http://") {
		t.Fatal(said)
	}
	b := c.starts("hale-b")
	b.await("hale-b goes on", allHealthy(b))
	a.wantEachOnce()
	if said := a.says(restore...); !strings.Contains(said, "there is a state already") {
		t.Errorf("a second restore: %s", said)
	}
	c.wantBuiltOnce(a)
}
