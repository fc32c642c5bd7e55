package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/etcdtest"
)

// watchers are three servers that share the state, each in a network of its own, and machines in another one, where all
// ways meet. Two of the three servers must agree that a machine is down.
type watchers struct {
	*allied
	net *networks
}

var watching = []string{"hale-a", "hale-b", "hale-c"}

// agreed is what hale says before it builds a machine anew that no vantage sees.
const agreed = "one more look confirms the failure: check alive: no answer in time (none of 3 sees it: "

// addressAt is where the n-th server is reached.
func addressAt(n int) string { return fmt.Sprintf("192.168.%d.2", n+1) }

// gather prepares them. state says where a server's file has the state.
func gather(t *testing.T, state func(n int) string) *watchers {
	t.Helper()
	w := &watchers{&allied{together: &together{T: t, all: map[string]*ending{}}, names: watching},
		network(t, watching...)}
	program, err := filepath.Abs("testdata/truth.sh")
	must(t, err)
	var first *ending
	for n, name := range watching {
		e := &ending{T: t, fleets: 1, inside: w.net.in(name)}
		e.begin(1)
		if first == nil {
			first = e
		}
		w.all[name] = e
		file := fmt.Appendf(nil, "state: %s\n"+sighted, state(n), program, first.path("truth"))
		must(t, os.WriteFile(e.path("hale.yaml"), file, 0o600))
	}
	t.Cleanup(w.tell)
	first.feel("well")
	first.write(first.path("truth/calls"), "")
	return w
}

// ownCluster are servers of a cluster of their own: no key but their address says where they report.
func ownCluster(t *testing.T) *watchers {
	t.Helper()
	w := gather(t, func(n int) string { return fmt.Sprintf("{cluster: {listen: %q}}", addressAt(n)+":7120") })
	w.unite()
	return w
}

// etcdAt is where the etcd server is that others run, in the machines' network.
const etcdAt = "172.16.0.1"

// onForeignEtcd are servers that share an etcd server of others.
func onForeignEtcd(t *testing.T) *watchers {
	t.Helper()
	w := gather(t, func(n int) string {
		return fmt.Sprintf("{etcd: {endpoints: [%q], ca: cert.pem, listen: %q}}", "https://"+etcdAt+":2379",
			addressAt(n)+":7120")
	})
	first := w.all[watching[0]]
	certify(first, net.ParseIP(etcdAt))
	for _, name := range watching[1:] {
		cert, err := os.ReadFile(first.path("cert.pem"))
		must(t, err)
		must(t, os.WriteFile(w.all[name].path("cert.pem"), cert, 0o600))
	}
	w.net.inside(field, "ip", "address", "add", etcdAt+"/32", "dev", "lo")
	etcd := &ending{T: t, inside: w.net.in(field), dir: t.TempDir()}
	program, err := exec.LookPath(etcdtest.Program)
	must(t, err)
	etcd.run(etcd.command(program, "-name", "a", "-dir", etcd.path("data"), "-client", etcdAt+":2379", "-peer",
		"127.0.0.1:2380", "-advertised", "127.0.0.1:2380", "-cluster", "a=http://127.0.0.1:2380", "-certificate",
		first.path("cert.pem"), "-key", first.path("key.pem")))
	first.start("--server", watching[0])
	first.await("hale-a built the fleet", allHealthy(first))
	for _, name := range watching[1:] {
		w.starts(name)
	}
	return w
}

// allLook waits until the active server says that it and all these look, and that all see each machine.
func (w *watchers) allLook(active string, names ...string) {
	w.Helper()
	e := w.all[active]
	row := map[string]*regexp.Regexp{active: regexp.MustCompile(active + ` +active .* yes`)}
	for _, name := range names {
		row[name] = regexp.MustCompile(name + ` +standby .* yes`)
	}
	said := ""
	defer func() {
		if w.Failed() {
			w.Logf("hale server list says %s", said)
		}
	}()
	e.await(fmt.Sprintf("%s and %q look", active, names), func(st api.Status) bool {
		said = w.server(active, "list", "--socket", e.path("sock"))
		for _, is := range row {
			if !is.MatchString(said) {
				return false
			}
		}
		return allHealthy(e)(st) && (len(names) < 2 || len(st.Troubles) == 0 &&
			!strings.Contains(e.why("f0-1"), "of 3 see it"))
	})
}

// loses has the server, and no other one, not see the machines.
func (w *watchers) loses(name string) {
	w.net.cut(fmt.Sprintf("in iifname %q ip daddr 10.0.0.0/8 drop", name))
}

// heals has the machine be seen from nowhere, and waits until the active server has it built anew. It wants that hale
// gave this reason.
func (w *watchers) heals(active, machine, why string) {
	w.Helper()
	e, truth := w.all[active], w.all[watching[0]]
	at := truth.addressOf(machine)
	w.net.cut("in ip daddr " + at + " drop")
	cut := time.Now()
	e.await(machine+" is built anew", func(st api.Status) bool {
		is := truth.addressOf(machine)
		return is != "" && is != at && allHealthy(e)(st)
	})
	w.Logf("%s was healthy again %v after it fell silent", machine, time.Since(cut).Round(100*time.Millisecond))
	if said := e.says("events", machine); !strings.Contains(said, why) {
		w.Errorf("hale events %s does not say %q:\n%s", machine, why, said)
	}
	truth.wantEachOnce()
	w.net.mend()
}

// next waits until another server is the active one, and returns its name and that of the one beside it.
func (w *watchers) next(than string) (next, beside string) {
	w.Helper()
	others := without(watching, than)
	next = w.activeOf(others...)
	return next, without(others, next)[0]
}

// quiet wants that the server has made no call since the n-th one.
func (w *watchers) quiet(name string, n int) {
	w.Helper()
	if by := w.since(n, w.pids()); by[name] != 0 {
		w.Errorf("calls since: %v", by)
	}
}

// S47, S54: three servers keep the state themselves. What the active one does not see, and the two others see, stays as
// it is; what none sees is built anew, as two of three agree. The active one dies: the next one has the other one as an
// eye, and heals by its word.
func TestS47ServersOfAClusterAreEyes(t *testing.T) {
	t.Parallel()
	w := ownCluster(t)
	a := w.all["hale-a"]
	w.allLook("hale-a", "hale-b", "hale-c")
	w.loses("hale-a")
	nothing(a, a, 4*time.Second, "f0-1", "2 of 3 see it: hale-b and hale-c do, hale-a does not (timeout)", "healthy")
	w.net.mend()
	w.heals("hale-a", "f0-2", agreed)

	a.must(a.hale.Process.Kill())
	<-a.ended
	next, beside := w.next("hale-a")
	w.allLook(next, beside)
	w.loses(beside)
	nothing(w.all[next], a, 4*time.Second, "f0-1", "1 of 3 see it: "+next+" does, "+beside+" does not (timeout)")
	w.net.mend()
	w.heals(next, "f0-3", agreed)
}

// S47, S54: three servers share an etcd server of others, and a standby does not see what the others see: nothing
// happens. Then a one-way cut: what the active server sends reaches neither the others nor etcd, while it hears them
// and sees the machines. It makes no call once another server is active. That one has the third server as an eye, and
// heals. When the cut is mended, the first one is an eye again.
func TestS47ServersOnEtcdAreEyes(t *testing.T) {
	t.Parallel()
	w := onForeignEtcd(t)
	a := w.all["hale-a"]
	w.allLook("hale-a", "hale-b", "hale-c")
	w.loses("hale-c")
	nothing(a, a, 4*time.Second, "f0-1", "2 of 3 see it: hale-a and hale-b do, hale-c does not (timeout)", "healthy")
	w.net.mend()

	oneWay := []string{fmt.Sprintf("in iifname hale-a ip daddr %s drop", etcdAt), "through iifname hale-a drop"}
	w.net.cut(oneWay...)
	next, beside := w.next("hale-a")
	calls := len(w.calls(a))
	w.allLook(next, beside)
	w.heals(next, "f0-2", agreed)
	w.quiet("hale-a", calls)
	w.allLook(next, beside, "hale-a")
}

// S17, S47: of three servers the active one is parted from the two others, and sees all machines. It makes no call once
// the majority has another one. That one has the third as an eye, and heals.
func TestS47OnlyTheMajorityActs(t *testing.T) {
	t.Parallel()
	w := ownCluster(t)
	a := w.all["hale-a"]
	w.allLook("hale-a", "hale-b", "hale-c")
	w.net.cut("through iifname hale-a drop", "through oifname hale-a drop")
	next, beside := w.next("hale-a")
	calls := len(w.calls(a))
	w.allLook(next, beside)
	a.until("hale-a acts no more", func() bool {
		_, err := a.client.Status(a.Context())
		return err != nil && strings.Contains(err.Error(), "the cluster's servers do not answer")
	})
	w.heals(next, "f0-2", agreed)
	w.quiet("hale-a", calls)
}
