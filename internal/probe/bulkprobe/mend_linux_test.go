package bulkprobe

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestAShardThatPanicsGoesOnOverFreshSockets: over real ones, time and again. After the first panic nothing that is up
// is said to be anything else; what is set afterwards is asked, what fails afterwards is found, and the old sockets
// are closed.
func TestAShardThatPanicsGoesOnOverFreshSockets(t *testing.T) { //nolint:paralleltest // it counts descriptors
	f := newField(t, Options{}, nil)
	var ill atomic.Bool
	page := f.listen("127.0.0.1", func(c net.Conn) {
		defer c.Close()
		r := bufio.NewReader(c)
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			code := http.StatusOK
			if ill.Load() {
				code = http.StatusServiceUnavailable
			}
			fmt.Fprintf(c, "HTTP/1.1 %d x\r\nContent-Length: 3\r\n\r\nok\n", code)
		}
	})
	f.begin()
	targets := []probe.Target{
		of(1, "127.0.0.1", check(policy.CheckPing, 0)), of(2, "127.0.0.1", check(policy.CheckTCP, page)),
		of(3, "127.0.0.1", check(policy.CheckHTTP, page)), of(4, "::1", check(policy.CheckPing, 0)),
	}
	f.Set(targets...)
	for _, target := range targets {
		f.until(target.ID, "up ok")
	}
	files, seq := openFiles(t), map[probe.ID]uint64{}
	for _, e := range f.Standings() {
		seq[e.ID] = e.Seq
	}
	for i := range 10 {
		f.pool.shards[0].tell(instruction{inspect: func(*shard) { panic("boom") }})
		late := of(10+i, "127.0.0.1", check(policy.CheckPing, 0))
		f.Set(late)
		f.until(late.ID, "up ok")
		for _, e := range f.Standings() {
			if was, early := seq[e.ID]; i == 0 && early && (e.Seq != was || e.Standing != fleet.StandingUp) {
				t.Errorf("%v: %s %s, %d edges since", e.ID, e.Standing, e.Result, e.Seq-was)
			}
		}
	}
	for _, target := range targets {
		f.until(target.ID, "up ok")
	}
	if n := openFiles(t); n > files+5 {
		t.Errorf("%d descriptors after ten panics, %d before", n, files)
	}
	ill.Store(true)
	f.until(targets[2].ID, "down status")
}
