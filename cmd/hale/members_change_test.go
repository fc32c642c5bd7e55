package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/cluster/door"
	"hale/internal/cluster/invitation"
	"hale/internal/state/format"
)

// An invitation lets one server in, once, for a while, and into its own cluster. What is wrong with one is said, with
// the way out.
func TestAnInvitationLetsOneServerIn(t *testing.T) {
	t.Parallel()
	c := unite(t, "hale-a", "hale-b")
	other := unite(t, "hale-x")
	guest := ally(t, "hale-c")
	e := guest.all["hale-c"]
	for _, name := range c.names { // it is in the network of the others, too
		guest.wires.plug(name, c.is[name], c.at[name])
	}
	c.wires.plug("hale-c", "192.0.2.7:7120", guest.at["hale-c"])
	guest.is["hale-c"] = "192.0.2.7:7120"
	guest.configure("hale-c", c.all["hale-a"], 3)
	invited := func(args ...string) string {
		return c.invitationIn(c.server("hale-a", append([]string{"invite", "hale-c"}, args...)...))
	}
	refused := func(text, why string) {
		t.Helper()
		e.write(e.path("invitation"), text)
		guest.mustSay(why, "hale-c", "join", "invitation", "--config", "hale.yaml")
	}

	c.mustSay("a server called hale-b is in the cluster already", "hale-a", "invite", "hale-b")
	c.mustSay("cannot be a server's name", "hale-a", "invite", "no/name")
	refused("hello", "this is no invitation")
	good := invited()
	refused(good[:len(good)-3], "the invitation is not whole")
	guest.mustSay("as an argument everybody on this machine can read it", "hale-c", "join", good)
	refused(invited("--for", "1ms"), "the invitation ended at")
	older, newer := invited(), invited()
	refused(older, "the cluster knows of no such invitation")

	i, err := invitation.Parse(newer)
	e.must(err)
	i.At = []string{"192.0.2.9:7120"}
	guest.wires.plug("hale-x", i.At[0], other.at["hale-x"])
	refused(i.String(), "it shows itself with another authority than the invitation names")
	guest.wires.plug("nobody", i.At[0], c.all["hale-a"].listenNowhere())
	refused(i.String(), "does not answer; does a firewall close the port?")

	e.write(e.path("invitation"), newer)
	guest.admit("hale-c")
	refused(newer, "uses it: stop the hale that runs there first")
	c.mustSay("3 servers have a vote: 1 may be lost", "hale-b", "list")
	e.must(e.hale.Process.Kill())
	<-e.ended
	e.must(os.RemoveAll(e.path("data")))
	refused(newer, "the cluster knows of no such invitation")
}

// A copy of an invitation is used while the invitation is: at each server, several times at once. One gets in.
func TestAnInvitationThatIsUsedManyTimesAtOnceLetsOneIn(t *testing.T) {
	t.Parallel()
	c := unite(t, "hale-a", "hale-b")
	i, err := invitation.Parse(c.invitationIn(c.server("hale-a", "invite", "hale-c")))
	if err != nil {
		t.Fatal(err)
	}
	var in, refused atomic.Int32
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			q := door.JoinRequest{Name: i.Name, Secret: i.Secret, Address: fmt.Sprintf("192.0.2.%d:7120", n+20),
				Version: "test", Format: format.Current()}
			_, err := door.Guest(i.Authority).Join(t.Context(), c.at[c.names[n%2]], q)
			switch {
			case err == nil:
				in.Add(1)
			case strings.Contains(err.Error(), "the cluster knows of no such invitation"),
				strings.Contains(err.Error(), "a server called hale-c is in the cluster already"):
				refused.Add(1)
			default:
				t.Errorf("joining was answered with %v", err)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d were let in, and %d refused", in.Load(), refused.Load())
	}
}

// listenNowhere is an address at which nothing listens.
func (e *ending) listenNowhere() string { return "127.0.0.1:1" }

// A server moves to another machine: the new one joins, the old one leaves, while it looks after the fleets. Another
// one follows at once. It does not leave where the majority would be lost.
func TestAServerMovesToAnotherMachine(t *testing.T) {
	t.Parallel()
	names := []string{"hale-a", "hale-b", "hale-c", "hale-d"}
	c := ally(t, names...)
	c.init("hale-a")
	a := c.starts("hale-a")
	a.await("hale-a built the fleet", allHealthy(a))
	c.mustSay("the only server with a vote", "hale-a", "leave")
	c.joins("hale-a", "hale-b")
	c.joins("hale-a", "hale-c")
	b := c.all["hale-b"]
	b.must(b.hale.Process.Kill())
	<-b.ended
	c.mustSay("the majority would be lost", "hale-c", "leave")
	c.starts("hale-b")
	c.votes("hale-b")

	c.joins("hale-a", "hale-d")
	left := time.Now()
	c.mustSay("hale-a has left the cluster", "hale-a", "leave")
	next := c.activeOf(names[1:]...)
	t.Logf("%s followed %v after hale-a was told to leave", next, time.Since(left).Round(100*time.Millisecond))
	select {
	case <-a.ended:
	case <-time.After(lenient):
		t.Fatal("hale-a goes on")
	}
	if !a.hale.ProcessState.Success() {
		t.Errorf("hale-a ended with %v", a.hale.ProcessState)
	}
	n := c.all[next]
	n.await("all is well", allHealthy(n))
	c.mustSay("3 servers have a vote: 1 may be lost", next, "list")
	if aside, err := filepath.Glob(a.path("data/*.before-*")); err != nil || len(aside) == 0 {
		t.Errorf("its copy of the state was not put aside: %v, %v", aside, err)
	}
	c.mustSay("this server is in no cluster", "hale-a", "invite", "hale-e")
	a.wantEachOnce()
	c.wantBuiltOnce(a)
}

// A server is lost, and another one takes its place under its name. When the lost one comes back, it is turned away.
func TestALostServerIsReplaced(t *testing.T) {
	t.Parallel()
	names := []string{"hale-a", "hale-b", "hale-c"}
	c := unite(t, names...)
	a, b := c.all["hale-a"], c.all["hale-b"]
	c.mustSay("hale-b answers: say hale server leave there", "hale-a", "replace", "hale-b")
	c.mustSay("there is no server hale-x in the cluster", "hale-a", "replace", "hale-x")
	b.must(b.hale.Process.Kill())
	<-b.ended
	said := c.server("hale-c", "replace", "hale-b")
	b.must(os.Rename(b.path("data"), b.path("lost")))
	c.carry("hale-b", said)
	c.admit("hale-b")
	c.mustSay("3 servers have a vote: 1 may be lost", "hale-b", "list")
	c.standsBy("hale-b", "it stands by: hale-a looks after the fleets")

	b.end(lenient) // as its machine is taken away, and the lost one comes back with its disk
	b.must(os.Rename(b.path("data"), b.path("new")))
	b.must(os.Rename(b.path("lost"), b.path("data")))
	c.starts("hale-b")
	select {
	case <-b.ended:
	case <-time.After(2 * patience):
		t.Fatal("the lost server goes on")
	}
	log, err := os.ReadFile(b.path("log"))
	b.must(err)
	if !strings.Contains(string(log), "the cluster has let this server go") {
		t.Errorf("the lost server does not say why it ends:\n%s", log)
	}
	a.wantEachOnce()
	c.wantBuiltOnce(a)
}

// Two of three servers are lost for good. The third one does nothing until a person says that they are: then it goes on
// with its copy of the state, once, and not while another one answers.
func TestTheMajorityIsLostForGood(t *testing.T) {
	t.Parallel()
	names := []string{"hale-a", "hale-b", "hale-c"}
	c := unite(t, names...)
	a, b := c.all["hale-a"], c.all["hale-b"]
	for _, name := range names[1:] {
		e := c.all[name]
		e.must(e.hale.Process.Kill())
		<-e.ended
	}
	c.standsBy("hale-a", "the cluster's servers do not answer (hale server list says who is away)")
	before := len(c.calls(a))
	a.turnOff()
	c.mustSay("the folder is in use by process", "hale-a", "init", "--force-new-cluster")
	a.end(lenient)
	if n := len(c.calls(a)); n != before {
		t.Errorf("without the majority %d calls were made", n-before)
	}
	c.starts("hale-b")
	c.standsBy("hale-b", "the cluster's servers do not answer (hale server list says who is away)")
	c.mustSay("hale-b at "+c.is["hale-b"]+" answers: stop it first", "hale-a", "init", "--force-new-cluster")
	b.must(b.hale.Process.Kill())
	<-b.ended

	c.mustSay("is the first server of a new cluster", "hale-a", "init", "--force-new-cluster")
	c.starts("hale-a")
	a.await("hale-a heals", allHealthy(a))
	c.mustSay("one server has a vote", "hale-a", "list")
	b.must(os.RemoveAll(b.path("data")))
	c.joins("hale-a", "hale-b")
	a.wantEachOnce()
	c.wantBuiltOnce(a)
}
