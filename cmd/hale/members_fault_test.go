package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onOwnDisk gives the server's data folder a file system of its own.
func (e *ending) onOwnDisk(size string) {
	e.Helper()
	e.must(os.MkdirAll(e.path("data"), 0o700))
	if err := unix.Mount("tmpfs", e.path("data"), "tmpfs", 0, "mode=0700,size="+size); err != nil {
		e.Fatalf("mount a tmpfs (this test needs root): %v", err)
	}
	e.Cleanup(func() {
		if err := unix.Unmount(e.path("data"), unix.MNT_DETACH); err != nil {
			e.Error(err)
		}
	})
}

// The disk of the active server is full: it gives the fleets to another one, and says why. When there is room, it
// stands by as before. The disk of one that stands by is full to the last byte: the others do not mind, and once there
// is room it is one of them again.
func TestAFullDiskOfOneServer(t *testing.T) {
	t.Parallel()
	names := []string{"hale-a", "hale-b", "hale-c"}
	c := ally(t, names...)
	a := c.all["hale-a"]
	a.onOwnDisk("900m")
	c.init("hale-a")
	c.starts("hale-a")
	a.await("hale-a built the fleet", allHealthy(a))
	c.joins("hale-a", "hale-b")
	c.joins("hale-a", "hale-c")
	c.standsBy("hale-b", "it stands by: hale-a looks after the fleets")
	c.standsBy("hale-c", "it stands by: hale-a looks after the fleets")

	a.ballast(100 << 20)
	next := c.activeOf(names[1:]...)
	c.standsBy("hale-a", "its disk is full")
	n := c.all[next]
	a.turnOff()
	n.await(next+" heals", allHealthy(n))
	if said := c.server(next, "list"); !strings.Contains(said, "its disk is full") {
		t.Errorf("hale server list says %s", said)
	}

	a.ballast(0)
	for range 3 { // what is written now finds no room at hale-a
		a.turnOff()
		n.await(next+" repairs", atWork)
		n.await(next+" heals", allHealthy(n))
	}
	a.must(os.Remove(a.path("data/ballast")))
	select {
	case <-a.ended: // it could not write its log
		c.starts("hale-a")
	case <-time.After(5 * time.Second):
	}
	c.votes("hale-a")
	c.standsBy("hale-a", "it stands by: "+next+" looks after the fleets")
	a.wantEachOnce()
	c.wantBuiltOnce(a)
}

// tail changes the end of a server's log, as far as it was written.
func (e *ending) tail(change func(written []byte)) {
	e.Helper()
	logs, err := filepath.Glob(e.path("data/etcd/member/wal/*.wal"))
	e.must(err)
	slices.Sort(logs)
	file := logs[len(logs)-1]
	all, err := os.ReadFile(file)
	e.must(err)
	change(bytes.TrimRight(all, "\x00"))
	e.must(os.WriteFile(file, all, 0o600))
}

// frames are where the records begin in what was written of a log: each has its length in front, and what fills it up.
func frames(written []byte) []int {
	var all []int
	for at := 0; at+8 <= len(written); {
		head := binary.LittleEndian.Uint64(written[at:])
		if head == 0 {
			break
		}
		all = append(all, at)
		at += 8 + int(head&(1<<56-1))
		if head>>63 == 1 {
			at += int(head >> 56 & 7)
		}
	}
	return all
}

// The end of one server's log is damaged, or lost: it says so, and the way out, and the others go on. The way out
// works.
func TestADamagedLogOfOneServer(t *testing.T) {
	t.Parallel()
	c := unite(t, "hale-a", "hale-b", "hale-c")
	a := c.all["hale-a"]
	for _, damage := range []struct {
		says string
		do   func(written []byte)
	}{
		{"copy of the state is damaged", func(written []byte) {
			for i := len(written) - 400; i < len(written)-300; i++ {
				written[i] ^= 0xff
			}
		}},
		{"truncated, or lost?", func(written []byte) {
			all := frames(written)
			clear(written[all[len(all)-8]:])
		}},
	} {
		name := c.follower("hale-a")
		b := c.all[name]
		b.must(b.hale.Process.Kill())
		<-b.ended
		b.tail(damage.do)
		before, err := os.ReadFile(b.path("log"))
		b.must(err)
		c.starts(name)
		select {
		case <-b.ended:
		case <-time.After(2 * patience):
			t.Fatalf("%s goes on with a damaged log", name)
		}
		log, err := os.ReadFile(b.path("log"))
		b.must(err)
		way := "say hale server replace " + name + " on one of them, and hale server join --force here"
		if said := string(log[len(before):]); !strings.Contains(said, way) || !strings.Contains(said, damage.says) {
			t.Fatalf("it does not say %q, and the way out:\n%s", damage.says, log)
		}
		c.carry(name, c.server("hale-a", "replace", name))
		c.admit(name, "--force")
		c.mustSay("3 servers have a vote: 1 may be lost", "hale-a", "list")
	}
	a.turnOff()
	a.await("hale-a goes on", allHealthy(a))
	a.wantEachOnce()
}

// follower is a server beside the active one that does not lead etcd: what it has of the log, the leader knows.
func (a *allied) follower(active string) (name string) {
	a.Helper()
	a.all[active].until("another server leads etcd than the active one", func() bool {
		all, ok := a.list(active)
		for _, s := range all.Servers {
			if s.Name == active && s.Vote == "leader" {
				return false
			}
			if s.Name != active && s.Vote == "voter" {
				name = s.Name
			}
		}
		return ok && name != ""
	})
	return name
}

// Three servers are upgraded one after the other, across a change of the state's format. An upgraded one does not look
// after the fleets as long as another one could not follow it; once all are upgraded, one brings the state up to date.
// An old server cannot join then.
func TestServersAreUpgradedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	names := []string{"hale-a", "hale-b", "hale-c"}
	next := filepath.Join(t.TempDir(), "hale")
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "hale_next", "-ldflags", "-X main.version=next",
		"-o", next, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the next hale: %v\n%s", err, out)
	}
	c := unite(t, names...)
	a := c.all["hale-a"]
	upgrade := func(name string) {
		e := c.all[name]
		e.end(lenient)
		e.binary = next
		c.starts(name)
		c.votes(name)
	}
	upgrade("hale-b")
	c.standsBy("hale-b", "it would bring the state from format 1 to 2, which hale-")
	a.end(lenient) // to be upgraded: of the two that are left, the old one follows
	c.activeOf("hale-c")
	a.binary = next
	c.starts("hale-a")
	c.votes("hale-a")
	c.standsBy("hale-a", "it would bring the state from format 1 to 2, which hale-c (hale dev")
	upgrade("hale-c") // now all read the new one
	is := c.activeOf(names...)
	n := c.all[is]
	n.await("all is well", allHealthy(n))
	a.turnOff()
	n.await(is+" heals", allHealthy(n))
	a.wantEachOnce()
	c.wantBuiltOnce(a)

	last := without(names, is)[0]
	c.mustSay("has left the cluster", last, "leave")
	c.carry(last, c.server(is, "invite", last))
	c.all[last].binary = ""
	c.mustSay("reads formats of the state up to 1, and it is of format 2: install hale next there", last, "join",
		"invitation", "--config", "hale.yaml")
}

// A cluster's backup makes one of its servers, when all is lost, the first one of a new cluster; the others join again.
func TestAClusterIsRestored(t *testing.T) {
	t.Parallel()
	c := unite(t, "hale-a", "hale-b")
	a, b := c.all["hale-a"], c.all["hale-b"]
	if said := a.says("backup", a.path("backup")); !strings.Contains(said, "3 machines") {
		t.Fatal(said)
	}
	a.end(lenient)
	b.must(b.hale.Process.Kill())
	<-b.ended
	if said := a.says("backup", a.path("alone"), "--data-dir", a.path("data")); !strings.Contains(said, "3 machines") {
		t.Error(said)
	}
	restore := []string{"restore", a.path("backup"), "--data-dir", a.path("data")}
	if said := a.says(restore...); !strings.Contains(said, "with --force this server becomes the first one of a new") {
		t.Error(said)
	}
	if said := a.says(append(restore, "--force")...); !strings.Contains(said, "Restored into") {
		t.Fatal(said)
	}
	c.starts("hale-a")
	a.await("hale-a goes on", allHealthy(a))
	b.must(os.RemoveAll(b.path("data")))
	c.joins("hale-a", "hale-b")
	a.wantEachOnce()
	c.wantBuiltOnce(a)
}
