package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/server"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

// crowd is a fleet of so many machines, one in a hundred of them sick.
func crowd(n int) []published.Fleet {
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: dawn}
	f := published.Fleet{State: situation.State{Now: now, Spec: policy.Spec{Name: "web", Provider: "lab", Size: n,
		Mode: policy.ModeAct, Checks: []policy.Check{{Name: "page"}, {Name: "alive"}}}}}
	for i := range n {
		v := situation.View{Machine: belief.Machine{
			Name: f.Spec.Name.Machine(i + 1), Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}),
			Current: belief.Incarnation{ID: fleet.InstanceID(fmt.Sprint("i-", i)), Generation: 1, Certified: true,
				Host: fleet.HostName(fmt.Sprint("h", i%200))},
			Health: belief.Health{Verdict: belief.VerdictHealthy, Since: dawn},
		}, Checks: []fleet.CheckState{{Check: "page", Standing: fleet.StandingUp},
			{Check: "alive", Standing: fleet.StandingUp}}}
		if i%100 == 0 {
			v.Machine.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseCrashed, Since: dawn}
		}
		f.Machines = append(f.Machines, v)
	}
	return []published.Fleet{f}
}

// served is a server for so many machines, and its store, until the benchmark ends.
func served(b *testing.B, machines int, doors ...server.Door) (*server.Server, state.Store) {
	b.Helper()
	all, store := crowd(machines), memory.New(memory.Options{}).Open(nil)
	s := server.New(server.Options{Version: "1", Server: "h", Status: func() []published.Fleet { return all },
		Store:  store,
		Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, doors...) }() // ends with ctx; the cleanup waits for it
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return s, store
}

// All of 10,000 machines, in pages of 1,000.
func BenchmarkListOfMachines(b *testing.B) {
	s, _ := served(b, 10_000)
	h := asAdmin(s)
	b.ReportAllocs()
	for b.Loop() {
		n, after := 0, ""
		for page := 0; page == 0 || after != ""; page++ {
			w := httptest.NewRecorder()
			q := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/machines?limit=1000&after="+after,
				http.NoBody)
			h.ServeHTTP(w, q)
			var l api.List[struct{}]
			if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
				b.Fatal(err, w.Body)
			}
			n, after = n+len(l.Items), l.Next
		}
		if n != 10_000 {
			b.Fatalf("%d machines", n)
		}
	}
}

// watchers are so many clients that watch the journal over the network.
const watchers = 1_000

// What a watching client costs, and how soon it is told: KiB/client, and ms until half and 99 of 100 of them were.
func BenchmarkWatchers(b *testing.B) {
	var config net.ListenConfig
	l, err := config.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	guard := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(access.With(r.Context(), everywhere(access.Viewer))))
		})
	}
	_, store := served(b, 10_000, server.Door{Listener: l, Guard: guard})
	book, err := journal.Open(b.Context(), store, "web")
	if err != nil {
		b.Fatal(err)
	}
	before := taken()
	conns := make([]net.Conn, watchers)
	for i := range conns {
		var d net.Dialer
		if conns[i], err = d.DialContext(b.Context(), "tcp", l.Addr().String()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conns[i].Close() })
		if _, err := fmt.Fprintf(conns[i],
			"GET /v1/events?watch=true&from=now HTTP/1.1\r\nHost: hale\r\n\r\n"); err != nil {
			b.Fatal(err)
		}
		head := make([]byte, 512)
		if n, err := conns[i].Read(head); err != nil || n < 12 || string(head[9:12]) != "200" {
			b.Fatal(err, string(head[:n]))
		}
	}
	each := float64(taken()-before) / watchers / 1024
	told := make(chan time.Time, watchers)
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { // ends with the connection
			for lines := bufio.NewScanner(c); lines.Scan(); {
				if lines.Text() == "event: record" {
					told <- time.Now()
				}
			}
		})
	}
	var took []time.Duration
	for b.Loop() {
		batch := []record.Record{{Fleet: "web", Machine: "web-1", Kind: record.Verdict, At: dawn}}
		writes, err := book.Writes(batch, journal.Keep{})
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if _, err := store.Commit(b.Context(), state.Txn{Then: writes}); err != nil {
			b.Fatal(err)
		}
		book.Advance(batch)
		for range watchers {
			took = append(took, (<-told).Sub(began))
		}
	}
	slices.Sort(took)
	b.ReportMetric(each, "KiB/client")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "ms/p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "ms/p99")
	for _, c := range conns {
		c.Close()
	}
	wg.Wait()
}

// taken is how much memory is in use, in bytes.
func taken() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
