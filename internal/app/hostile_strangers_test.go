package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/secret"
)

// beating are three machines that report to hale as they should, and what hale makes of that.
type beating struct {
	watch   *watch
	stop    func()
	reports int64
	wrong   []string // read it after stop
}

const beatingMachines = 3

// beating has the machines of the fleet of that name report twice in each interval.
func (s *survival) beating(listen string) *beating {
	s.t.Helper()
	spec := s.site.config.Fleets[slices.IndexFunc(s.site.config.Fleets, func(f policy.Spec) bool {
		return f.Name == "beating"
	})]
	b := &beating{watch: s.site.watch(&spec, adapter{}, s.site.network, nil)}
	ctx, cancel := context.WithCancel(s.t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		if err := b.watch.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	for n := 1; n <= beatingMachines; n++ {
		b.watch.Set(probe.Target{ID: probe.ID{Machine: spec.Name.Machine(n), Check: "beat"}, Instance: "a", Epoch: 1,
			Spec: &spec.Checks[0]})
	}
	work.Go(func() { b.report(ctx, listen) })
	b.stop = sync.OnceFunc(func() {
		cancel()
		work.Wait()
		b.watch.beats.Close()
	})
	return b
}

// report tells of each machine that it is well, and looks whether hale thinks so, too.
func (b *beating) report(ctx context.Context, listen string) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	beat := time.NewTicker(500 * time.Millisecond)
	defer beat.Stop()
	began := false
	for n := 1; ctx.Err() == nil; n = n%beatingMachines + 1 {
		if n == 1 { // a machine that begins anew
			client.CloseIdleConnections()
		}
		err := beatOnce(ctx, client, listen, "beating", n)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			b.reports, began = b.reports+1, true
		case began: // before, hale may not listen yet
			b.wrong = append(b.wrong, fmt.Sprintf("a report of beating-%d is not heard: %v", n, err))
		}
		for _, e := range b.watch.Standings() {
			if e.Standing == fleet.StandingDown || e.Standing == fleet.StandingFailing {
				b.wrong = append(b.wrong, fmt.Sprintf("%s is %s: %s", e.Machine, e.Standing, e.Detail))
			}
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
		}
	}
}

// heard reports whether hale has heard all of them.
func (b *beating) heard() bool {
	edges := b.watch.Standings()
	return len(edges) == beatingMachines && !slices.ContainsFunc(edges, func(e probe.Edge) bool {
		return e.Standing != fleet.StandingUp
	})
}

func beatOnce(ctx context.Context, client *http.Client, listen string, name fleet.Name, n int) error {
	machine := name.Machine(n)
	path := fmt.Sprintf("%s/%s/beat", name, machine)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+listen+"/heartbeat/"+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+secret.Derived(password, path))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// ill is what strangers say of beating-1, with what they show.
const ill = "POST /heartbeat/beating/beating-1/beat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n%s"

// visits are what strangers do with a connection. What returns waits, without a word, until it is shut.
var visits = []func(c net.Conn){
	func(net.Conn) {},
	func(c net.Conn) { _, _ = io.WriteString(c, "POST /heartbeat/beating/beating-1/beat HTTP/1.1\r\nHo") },
	func(c net.Conn) { accuse(c, "", "") },
	func(c net.Conn) { accuse(c, password, "") },
	func(c net.Conn) { accuse(c, secret.Derived(password, "beating/beating-2/beat"), "") },
	func(c net.Conn) { accuse(c, strings.Repeat("x", 1<<20), "") },
	func(c net.Conn) {
		accuse(c, "x", "Content-Length: 1099511627776\r\n")
		drown(c, strings.Repeat("x", 64<<10))
	},
	func(c net.Conn) { // with the token of a machine that the fleet does not have
		accuse(c, secret.Derived(password, "beating/beating-9/beat"), "Transfer-Encoding: chunked\r\n")
		drown(c, "10000\r\n"+strings.Repeat("x", 0x10000)+"\r\n")
	},
	func(c net.Conn) {
		_, _ = io.WriteString(c, "GET /heartbeat HTTP/1.1\r\n")
		drown(c, "X-Flood: "+strings.Repeat("x", 4<<10)+"\r\n")
	},
	func(c net.Conn) { drown(c, "GET /heartbeat HTTP/1.1\r\nHost: x\r\n\r\n") },
	func(c net.Conn) { drown(c, strings.Repeat("\x16\x03\x01\xff\xff", 1<<10)) },
}

// accuse says with a token that beating-1 is ill.
func accuse(c net.Conn, token, header string) {
	const said = `{"ok": false, "detail": "says a stranger"}`
	if header == "" {
		header = fmt.Sprintf("Content-Length: %d\r\n", len(said))
	}
	_, _ = fmt.Fprintf(c, ill, token, header, said)
}

// drown writes the same text until the connection fails.
func drown(c net.Conn, what string) {
	for sent := 0; sent < 8<<20; sent += len(what) {
		if _, err := io.WriteString(c, what); err != nil {
			return
		}
	}
}

// siege is a crowd of strangers around the place where machines report.
type siege struct {
	count atomic.Int64 // visits
	stop  func()
}

// besiege has strangers of several addresses come at once, each address with another way to be a nuisance, and come
// again as soon as they are sent away, once a second at most.
func besiege(t *testing.T, listen string) *siege {
	t.Helper()
	const each = 36 // more than one address may have
	s := &siege{}
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for i, visit := range visits {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}, Timeout: 5 * time.Second}
		for range each {
			crowd.Go(func() {
				pause := time.NewTicker(time.Second)
				defer pause.Stop()
				for ctx.Err() == nil {
					s.come(ctx, &from, listen, visit)
					select {
					case <-pause.C:
					case <-ctx.Done():
					}
				}
			})
		}
	}
	s.stop = sync.OnceFunc(func() {
		cancel()
		crowd.Wait()
	})
	return s
}

// come is one visit.
func (s *siege) come(ctx context.Context, from *net.Dialer, listen string, visit func(net.Conn)) {
	c, err := from.DialContext(ctx, "tcp", listen)
	if err != nil {
		return
	}
	s.count.Add(1)
	over := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer over()
	defer func() { _ = c.Close() }()
	visit(c)
	_, _ = io.Copy(io.Discard, c) // until it is shut
}
