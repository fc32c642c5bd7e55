package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/cluster/door"
	"hale/internal/cluster/invitation"
	"hale/internal/state/active"
)

// allied are servers of hale's own cluster, on a network of their own.
type allied struct {
	*together
	wires *wires
	names []string
	at    map[string]string // where each one really listens
	is    map[string]string // and where the others take it to
}

// ally prepares servers of the names. None is of a cluster yet.
func ally(t *testing.T, names ...string) *allied {
	t.Helper()
	a := &allied{together: &together{T: t, all: map[string]*ending{}}, wires: newWires(t), names: names,
		at: map[string]string{}, is: map[string]string{}}
	for i, name := range names {
		a.at[name], a.is[name] = lasting(t), fmt.Sprintf("192.0.2.%d:7120", i+1) // reserved for such things
	}
	a.state = func(name string) string {
		return fmt.Sprintf("{cluster: {listen: %q, advertise: %q}}", a.at[name], a.is[name])
	}
	a.settle(names...)
	for _, name := range names {
		a.all[name].env = []string{"HTTPS_PROXY=" + a.wires.plug(name, a.is[name], a.at[name]), "NO_PROXY="}
	}
	return a
}

// lasting is an address whose port is given to no connection while a server that listens there is away.
func lasting(t *testing.T) string {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err != nil {
			continue // it is taken
		}
		at := l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return at
	}
	t.Fatal("no port is free")
	return ""
}

// unite starts a cluster with a server of each name. All run and have a vote, and the first one has built the fleet.
func unite(t *testing.T, names ...string) *allied {
	t.Helper()
	a := ally(t, names...)
	a.unite()
	return a
}

func (a *allied) unite() {
	a.Helper()
	names := a.names
	a.init(names[0])
	first := a.starts(names[0])
	first.await(names[0]+" built the fleet", allHealthy(first))
	for _, name := range names[1:] {
		a.joins(names[0], name)
	}
}

func (a *allied) init(name string, args ...string) string {
	a.Helper()
	return a.mustSay("is the first server of a new cluster", name, append([]string{"init", "--name", name, "--config",
		"hale.yaml"}, args...)...)
}

// joins has the server be invited at another one, join, start, and get its vote.
func (a *allied) joins(at, name string) {
	a.Helper()
	a.carry(name, a.server(at, "invite", name))
	a.admit(name)
}

// invitationIn is the invitation in what a command said.
func (a *allied) invitationIn(said string) string {
	a.Helper()
	_, rest, found := strings.Cut(said, invitation.Prefix)
	if !found {
		a.Fatalf("there is no invitation in %q", said)
	}
	return invitation.Prefix + strings.Fields(rest)[0]
}

// carry takes the invitation that a command said to the server.
func (a *allied) carry(name, said string) {
	a.Helper()
	e := a.all[name]
	e.write(e.path("invitation"), a.invitationIn(said))
}

// admit has the server join by its invitation, start, and get its vote.
func (a *allied) admit(name string, args ...string) {
	a.Helper()
	a.mustSay("Start hale here", name, append([]string{"join", "invitation", "--config", "hale.yaml"}, args...)...)
	a.starts(name)
	a.votes(name)
}

// votes waits until the server has its vote.
func (a *allied) votes(name string) {
	a.Helper()
	said := ""
	defer func() {
		if a.Failed() {
			a.Logf("hale server list says %s", said)
		}
	}()
	a.all[name].until(name+" has its vote", func() bool {
		said = a.server(name, "list")
		is, ok := a.listed(name, name)
		return ok && is.Role != "" && is.Vote != "learner" && is.State == "up"
	})
}

// server says hale server on the server's machine.
func (a *allied) server(name string, args ...string) string {
	a.Helper()
	e := a.all[name]
	cmd := e.command(e.program(), append(append([]string{"server"}, args...), "--data-dir", e.path("data"))...)
	cmd.Dir, cmd.Env = e.dir, append(os.Environ(), e.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.Logf("hale server %s at %s: %v", args, name, err)
	}
	return string(out)
}

// mustSay wants the command to say what it is to.
func (a *allied) mustSay(want, name string, args ...string) string {
	a.Helper()
	said := a.server(name, args...)
	if !strings.Contains(said, want) {
		a.Fatalf("hale server %s at %s says %q, and is to say %q", args, name, said, want)
	}
	return said
}

// list is hale server list, asked at one of the servers.
func (a *allied) list(at string) (door.Servers, bool) {
	a.Helper()
	var all door.Servers
	out := a.server(at, "list", "--json")
	return all, json.Unmarshal([]byte(out), &all) == nil
}

// listed is what hale server list has of a server, asked at one of them.
func (a *allied) listed(at, name string) (door.Server, bool) {
	a.Helper()
	all, ok := a.list(at)
	var is door.Server
	if !ok {
		return is, false
	}
	i := slices.IndexFunc(all.Servers, func(s door.Server) bool { return s.Name == name })
	if i < 0 {
		return is, false
	}
	return all.Servers[i], true
}

// activeOf waits until one of the servers is the active one, and returns its name.
func (a *allied) activeOf(names ...string) string {
	a.Helper()
	var is string
	a.all[names[0]].until("one is active", func() bool {
		for _, name := range names {
			s, err := a.all[name].client.Status(a.Context())
			if err == nil && len(s.Fleets) == 1 && s.Fleets[0].Acting {
				is = name
				return true
			}
		}
		return false
	})
	return is
}

// without are the other names.
func without(names []string, but string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == but })
}

// since counts the calls of the servers from the n-th on, by server.
func (a *allied) since(n int, pids map[int]string) map[string]int {
	a.Helper()
	by := map[string]int{}
	for _, call := range a.calls(a.all[a.names[0]])[n:] {
		var at int64
		var pid int
		if _, err := fmt.Sscan(call, &at, &pid); err != nil {
			a.Fatalf("call %q: %v", call, err)
		}
		by[pids[pid]]++
	}
	return by
}

func (a *allied) pids() map[int]string {
	all := map[int]string{}
	for name, e := range a.all {
		if e.hale != nil {
			all[e.hale.Process.Pid] = name
		}
	}
	return all
}

// S16, S28, S54: a server that runs alone becomes the first of a cluster, with its state, and two more join. The active
// one is killed in the middle of a repair; another one goes on from the stored step, and each machine has one instance.
// The killed one comes back and stands by.
func TestS16AClusterOfThreeOutlivesOne(t *testing.T) {
	t.Parallel()
	names := []string{"hale-a", "hale-b", "hale-c"}
	c := ally(t, names...)
	a := c.all["hale-a"]
	own, err := os.ReadFile(a.path("hale.yaml"))
	a.must(err)
	a.write(a.path("hale.yaml"), regexp.MustCompile(`(?m)^state: .*$`).ReplaceAllString(string(own), ""))
	a.start()
	a.await("hale-a built the fleet, alone", allHealthy(a))
	a.end(lenient)
	a.write(a.path("hale.yaml"), string(own))
	c.init("hale-a")
	c.starts("hale-a")
	a.await("hale-a goes on", allHealthy(a))
	c.joins("hale-a", "hale-b")
	c.joins("hale-b", "hale-c") // any of them invites
	c.standsBy("hale-c", "it stands by: hale-a looks after the fleets")
	c.mustSay("3 servers have a vote: 1 may be lost", "hale-c", "list")

	a.feel("slow")
	a.turnOff()
	a.await("hale-a repairs", atWork)
	a.must(a.hale.Process.Kill())
	killed := time.Now()
	<-a.ended
	a.feel("well")
	next := c.activeOf("hale-b", "hale-c")
	took := time.Since(killed)
	t.Logf("%s took over %v after hale-a was killed", next, took.Round(100*time.Millisecond))
	if took > active.TTL+active.Grace+15*time.Second { // the machine may be busy
		t.Errorf("it took %v", took)
	}
	n := c.all[next]
	n.await("it is healed", allHealthy(n))
	a.wantEachOnce()
	c.mustSay("when one more is lost, none acts", next, "list")

	c.starts("hale-a")
	c.standsBy("hale-a", "it stands by: "+next+" looks after the fleets")
	n.end(lenient)
	left := time.Now()
	after := c.activeOf(without(names, next)...)
	t.Logf("%s followed %v after %s ended", after, time.Since(left).Round(100*time.Millisecond), next)
	if took := time.Since(left); took > active.Cover {
		t.Errorf("after a goodbye it took %v", took)
	}
	c.all[after].await("all is well", allHealthy(c.all[after]))
	a.wantEachOnce()
	c.wantBuiltOnce(a)
}

// S17: of three servers the active one is cut off from the other two, and reaches its provider. It makes no call once
// another one is active; when the wires are mended, it stands by.
func TestS17AServerOfTheClusterThatIsCutOff(t *testing.T) {
	t.Parallel()
	names := []string{"hale-a", "hale-b", "hale-c"}
	c := unite(t, names...)
	a := c.all["hale-a"]
	c.wires.sever(names[:1], names[1:])
	before := len(c.calls(a))
	next := c.activeOf(names[1:]...)
	after := len(c.calls(a))
	a.turnOff()
	c.standsBy("hale-a", "the cluster's servers do not answer")
	if said := c.server("hale-a", "list"); !strings.Contains(said, "none can store anything, so none acts") {
		t.Errorf("hale server list on the one that is cut off says %q", said)
	}
	n := c.all[next]
	n.await(next+" heals", allHealthy(n))
	if by := c.since(after, c.pids()); by["hale-a"] != 0 || by[next] == 0 {
		t.Errorf("calls since another one is active: %v (of %d)", by, before)
	}
	c.wires.sever(nil, nil)
	c.standsBy("hale-a", "it stands by: "+next+" looks after the fleets")

	c.wires.sever(names[:1], names[1:]) // one that stands by: nothing changes
	c.standsBy("hale-a", "the cluster's servers do not answer")
	after = len(c.calls(a))
	a.turnOff()
	n.until(next+" heals again", func() bool { return len(c.calls(a)) > after })
	n.await("all is well", allHealthy(n))
	if by := c.since(after, c.pids()); len(by) != 1 || by[next] == 0 {
		t.Errorf("calls while one that stands by is cut off: %v", by)
	}
	a.wantEachOnce()
}

// S17: the active one of three stands still. When it goes on it makes no call, and stands by.
func TestS17AServerOfTheClusterThatStoodStill(t *testing.T) {
	t.Parallel()
	names := []string{"hale-a", "hale-b", "hale-c"}
	c := unite(t, names...)
	a := c.all["hale-a"]
	a.must(a.hale.Process.Signal(syscall.SIGSTOP))
	a.turnOff()
	next := c.activeOf(names[1:]...)
	n := c.all[next]
	n.await(next+" heals", allHealthy(n))
	after := len(c.calls(a))
	a.turnOff() // and this one is the next one's, too
	a.must(a.hale.Process.Signal(syscall.SIGCONT))
	c.standsBy("hale-a", "it stands by: "+next+" looks after the fleets")
	n.until(next+" heals again", func() bool { return len(c.calls(a)) > after })
	n.await("all is well", allHealthy(n))
	if by := c.since(after, c.pids()); by["hale-a"] != 0 {
		t.Errorf("calls of the server that stood still: %v", by)
	}
	a.wantEachOnce()
}
