package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hale/api"
	"hale/internal/state/active"
)

// How the active server is taken out.
const (
	killed  = "killed"
	paused  = "paused"
	cutOff  = "cut off"
	leaving = "told to end"
)

// TestCluster takes the active one of three servers out, again and again, at random, while machines fail: it is killed,
// stands still, is cut off from etcd, or is told to end. In the end all machines are healthy, none is there twice, and
// by the provider's own record no server made a call once another one was the active one.
//
// HALE_CLUSTER is how often in each of five clusters side by side (make test-cluster). Without it, one is told to end
// once: that takes no time, and each other way has a story of its own.
func TestCluster(t *testing.T) {
	t.Parallel()
	wreck(t, onEtcd)
}

// TestClusterOfItsOwn is TestCluster of servers that keep the state themselves, in their own etcd: who is cut off is
// cut off from the other servers.
func TestClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	wreck(t, onItsOwn)
}

// wreck takes servers out, of clusters that are made so.
func wreck(t *testing.T, made func(*testing.T, *rand.Rand) *wrecker) {
	t.Helper()
	times, clusters, ways := 1, 1, []string{leaving}
	if said := os.Getenv("HALE_CLUSTER"); said != "" {
		var err error
		if times, err = strconv.Atoi(said); err != nil {
			t.Fatalf("HALE_CLUSTER=%s: %v; write how often", said, err)
		}
		clusters, ways = 5, []string{killed, paused, cutOff, leaving}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var all took
	t.Run("clusters", func(t *testing.T) {
		for n := range clusters {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				w := made(t, rand.New(rand.NewPCG(seed, uint64(n))))
				for range times {
					how, after := w.takeOut(ways)
					all.add(how, after)
				}
				w.settle()
			})
		}
	})
	all.log(t)
}

// took is how long it took until another server was the active one, by how the last one was taken out.
type took struct {
	mu sync.Mutex
	by map[string][]time.Duration
}

func (a *took) add(how string, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[string][]time.Duration{}
	}
	a.by[how] = append(a.by[how], d)
}

func (a *took) log(t *testing.T) {
	for how, all := range a.by {
		slices.Sort(all)
		most := all[len(all)-1].Round(100 * time.Millisecond)
		t.Logf("%-12s %3d times: another server was active after %v (median), %v (longest)", how, len(all),
			all[len(all)/2].Round(100*time.Millisecond), most)
		if limit := active.TTL + 10*time.Second; most > limit {
			t.Errorf("%s: %v is longer than %v", how, most, limit)
		}
	}
}

// wrecker is what happens to a cluster.
type wrecker struct {
	*together
	dice  *rand.Rand
	names []string
	cut   func(name string, is bool)
	first *ending
	pids  map[int]string // of all processes there were, with their servers
}

// onEtcd are three servers on one etcd server.
func onEtcd(t *testing.T, dice *rand.Rand) *wrecker {
	t.Helper()
	w := &wrecker{dice: dice, names: []string{"hale-a", "hale-b", "hale-c"}, pids: map[int]string{}}
	w.together = share(t, w.names...)
	w.first = w.all[w.names[0]]
	direct, cables := w.at, map[string]*cable{}
	w.cut = func(name string, is bool) { cables[name].cut(is) }
	for _, name := range w.names {
		cables[name] = lay(t, strings.TrimPrefix(direct, "http://"))
		w.at = "http://" + cables[name].at
		w.configure(name, w.first, 3)
		w.begin(name)
	}
	w.await(allHealthy(w.first))
	return w
}

// onItsOwn are three servers of a cluster of hale's own.
func onItsOwn(t *testing.T, dice *rand.Rand) *wrecker {
	t.Helper()
	w := &wrecker{dice: dice, names: []string{"hale-a", "hale-b", "hale-c"}, pids: map[int]string{}}
	c := unite(t, w.names...)
	w.together, w.first = c.together, c.all[w.names[0]]
	w.cut = func(name string, is bool) {
		if is {
			c.wires.sever([]string{name}, without(w.names, name))
		} else {
			c.wires.sever(nil, nil)
		}
	}
	for name, e := range c.all {
		w.pids[e.hale.Process.Pid] = name
	}
	w.await(allHealthy(w.first))
	return w
}

// begin starts a server.
func (w *wrecker) begin(name string) {
	w.starts(name)
	w.pids[w.all[name].hale.Process.Pid] = name
}

// await waits until an active server says that the fleet is as it is to be.
func (w *wrecker) await(holds func(api.Status) bool) {
	w.Helper()
	limit, said := time.After(3*patience), ""
	for {
		for _, name := range w.names {
			s, err := w.all[name].client.Status(w.Context())
			if err == nil && len(s.Fleets) == 1 && holds(s) {
				return
			}
			if err == nil {
				said = fmt.Sprintf("%+v", s.Fleets)
			}
		}
		select {
		case <-limit:
			w.Fatalf("the fleet is not well in time: %s", said)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// takeOut takes the active server out in one of the ways, at any moment of what it does, and returns how long it took
// until another one was active. Before the next time the server is back.
func (w *wrecker) takeOut(ways []string) (how string, after time.Duration) {
	w.Helper()
	w.await(allHealthy(w.first)) // more than two of three that fail at once are the brake's business
	w.fail()
	w.wait(12 * time.Second)
	offices := w.offices()
	was := offices[len(offices)-1]
	e := w.all[was.server]
	how = ways[w.dice.IntN(len(ways))]
	began := time.Now()
	switch how {
	case killed:
		e.must(e.hale.Process.Kill())
		<-e.ended
	case paused:
		e.must(e.hale.Process.Signal(syscall.SIGSTOP))
	case cutOff:
		w.cut(was.server, true)
	case leaving:
		e.end(lenient)
	}
	w.fail()
	next := w.next(len(offices))
	w.cut(was.server, false)
	switch how {
	case paused:
		w.wait(10 * time.Second)
		e.must(e.hale.Process.Signal(syscall.SIGCONT))
	case killed, leaving:
		w.begin(was.server)
	}
	w.standsBy(was.server, "it stands by")
	return how, next.since.Sub(began)
}

// wait lets time go by: at random, not more than so long.
func (w *wrecker) wait(most time.Duration) {
	select {
	case <-time.After(time.Duration(w.dice.Int64N(int64(most)))):
	case <-w.Context().Done():
	}
}

// fail turns a machine off, or has it vanish.
func (w *wrecker) fail() {
	files := w.first.truth()
	for file, is := range files { // in no order
		if w.dice.IntN(2) == 0 {
			w.first.write(file, strings.Replace(is, `"power":"running"`, `"power":"off"`, 1))
		} else {
			w.first.must(os.Remove(file))
		}
		return
	}
}

// office is from when on a server was the active one, by its log.
type office struct {
	server string
	since  time.Time
}

var becameActive = regexp.MustCompile(`(?m)^time=(\S+) level=INFO msg="this server is the active one`)

// offices returns all that there were, in order.
func (w *wrecker) offices() []office {
	w.Helper()
	var all []office
	for _, name := range w.names {
		log, err := os.ReadFile(w.all[name].path("log"))
		w.first.must(err)
		for _, m := range becameActive.FindAllSubmatch(log, -1) {
			at, err := time.Parse(time.RFC3339Nano, string(m[1]))
			w.first.must(err)
			all = append(all, office{name, at})
		}
	}
	slices.SortFunc(all, func(a, b office) int { return a.since.Compare(b.since) })
	return all
}

// next waits until there are more offices than so many, and returns the first of these.
func (w *wrecker) next(than int) office {
	w.Helper()
	limit := time.After(2 * patience)
	for {
		if all := w.offices(); len(all) > than {
			return all[than]
		}
		select {
		case <-limit:
			w.Fatal("no other server is active in time")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// settle waits until all is well, and judges what happened by the provider's record.
func (w *wrecker) settle() {
	w.Helper()
	w.await(allHealthy(w.first))
	w.first.wantEachOnce()
	offices := w.offices()
	calls := w.calls(w.first)
	for _, call := range calls {
		var at int64
		var pid int
		var what, id string
		if _, err := fmt.Sscan(call, &at, &pid, &what, &id); err != nil {
			w.Fatalf("call %q: %v", call, err)
		}
		w.judge(offices, time.Unix(0, at), w.pids[pid], call)
	}
	w.Logf("%d offices, %d calls", len(offices), len(calls))
}

// judge wants the call to be the active server's of its moment: which was written down just before it could make one.
func (w *wrecker) judge(offices []office, at time.Time, by, call string) {
	w.Helper()
	i := slices.IndexFunc(offices, func(o office) bool { return o.since.After(at) })
	if i < 0 {
		i = len(offices)
	}
	if i == 0 || offices[i-1].server != by {
		w.Errorf("%s called although another server was active: %s", by, call)
	}
}
