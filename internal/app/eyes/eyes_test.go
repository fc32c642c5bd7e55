package eyes

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/config"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/probe/satellite"
	"hale/internal/state/active"
	"hale/internal/state/memory"
	"hale/internal/testbed/nettest"
)

// stage is an active server on a store, which takes reports on this machine.
type stage struct {
	*testing.T
	store  *memory.Store
	hub    *satellite.Hub
	taking *Reception
}

// sights is a configuration with a check that asks from so many vantages, and an address for reports.
func sights(vantages int, listen string) *config.Config {
	return &config.Config{Etcd: config.Etcd{Endpoints: []string{"x"}, Listen: listen, Advertise: listen},
		Fleets: []policy.Spec{{Name: "web", Checks: []policy.Check{{Name: "a", Kind: policy.CheckPing,
			Sight: policy.Sight{Vantages: vantages, Agree: vantages}}}}}}
}

// rise starts the active server.
func rise(t *testing.T, c *config.Config) *stage {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	panics := defect.NewRegister(quiet).Witness(defect.Probes, "")
	s := &stage{T: t, store: memory.New(memory.Options{}).Open(nil), hub: satellite.New(quiet, panics)}
	s.hub.Take(satellite.Settings{StaleAfter: 5 * time.Second, Server: "hale-a"})
	office, err := active.Become(t.Context(), s.store, active.Server{Name: "hale-a", Process: "a"})
	if err != nil {
		t.Fatal(err)
	}
	s.taking = New(Options{Hub: s.hub, Office: office, Logger: quiet, Panics: panics})
	s.taking.Take(c)
	var runs sync.WaitGroup
	runs.Go(func() { s.taking.Run(t.Context()) })
	t.Cleanup(runs.Wait)
	return s
}

// hears waits until the store says where reports are taken, or that none are.
func (s *stage) hears(is bool) (at active.Hearing) {
	s.Helper()
	s.until(fmt.Sprintf("it hears: %t", is), func() bool {
		a, _, err := active.Is(s.Context(), s.store)
		at = a.Hears
		return err == nil && (at != active.Hearing{}) == is
	})
	return at
}

func (s *stage) until(what string, holds func() bool) {
	s.Helper()
	limit := time.After(20 * time.Second)
	for tick := time.NewTicker(10 * time.Millisecond); !holds(); {
		select {
		case <-tick.C:
		case <-limit:
			s.Fatalf("not in time: %s; the vantages are %+v", what, s.hub.Eyes(time.Now()))
		}
	}
}

// looks has a server look for who shows the certificate at the place, until end, and returns what it logs.
func (s *stage) looks(at active.Hearing, token active.Token) (log *paper, end func()) {
	ctx, cancel := context.WithCancel(s.Context())
	log = &paper{}
	l := Looker{Name: "hale-b", Version: "1", Logger: slog.New(slog.NewTextHandler(log, nil))}
	ended := make(chan error, 1)
	go func() { ended <- l.Look(ctx, at, token) }()
	return log, func() {
		s.Helper()
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	}
}

// paper is what a server logs.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) says(what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.text.String(), what)
}

// eye is the one vantage beside the active server.
func (s *stage) eye() satellite.Eye {
	if all := s.hub.Eyes(time.Now()); len(all) == 1 {
		return all[0]
	}
	return satellite.Eye{}
}

// A server that is listed reports to the active one, which it knows by the certificate that the store names. When its
// listing ends, its token does; when no check has vantages any more, no report is taken.
func TestAServerReportsAsLongAsItIsListed(t *testing.T) {
	t.Parallel()
	c := sights(2, nettest.Free(t))
	s := rise(t, c)
	at := s.hears(true)
	listed, err := active.Stand(t.Context(), s.store, active.Server{Name: "hale-b", Process: "b", Token: "secret-b"})
	if err != nil {
		t.Fatal(err)
	}
	s.until("hale-b has a seat", func() bool { return s.eye().Name == "hale-b" })
	_, end := s.looks(at, "secret-b")
	s.until("hale-b reports", func() bool { return !s.eye().Since.IsZero() })
	end()
	first := s.eye()
	log, end := s.looks(at, "secret-x")
	s.until("another token is refused", func() bool { return log.says("no satellite has this token") })
	end()
	listed.End(t.Context())
	log, end = s.looks(at, "secret-b")
	s.until("its token has ended", func() bool { return log.says("no satellite has this token") })
	end()
	if is := s.eye(); is.Name != "hale-b" || is.Heard != first.Heard || is.Since != first.Since {
		t.Errorf("it is %+v, and was %+v", is, first)
	}
	s.taking.Take(sights(1, c.Etcd.Listen))
	s.hears(false)
	s.until("none is missed", func() bool { return len(s.hub.Eyes(time.Now())) == 0 })
}

// What has another certificate than the active server gets no report and no token.
func TestAServerReportsToNoOtherOne(t *testing.T) {
	t.Parallel()
	other, err := certificate()
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{*other}})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan int, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(heard)
				return
			}
			n, _ := c.Read(make([]byte, 1))
			heard <- n
			_ = c.Close()
		}
	}()
	s := rise(t, sights(1, ""))
	another := active.Hearing{At: l.Addr().String(), Certificate: fingerprint([]byte("another one's"))}
	log, end := s.looks(another, "secret")
	s.until("it says so", func() bool { return log.says("another certificate than the active") })
	end()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for n := range heard {
		if n != 0 {
			t.Error("it told something to what shows another certificate")
		}
	}
	if err := (Looker{}).Look(t.Context(), active.Hearing{At: "x"}, "secret"); err == nil {
		t.Error("it looks for a server of which nothing says how it is known")
	}
}

// Where the active server cannot listen, it says so, and goes on; of two servers with one name, the one that began to
// stand by last looks, and one that shows no token does not.
func TestWhoLooksAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := rise(t, sights(2, taken.Addr().String()))
	s.until("it says that it does not hear", func() bool {
		_, err := s.taking.Trouble()
		return err != nil && strings.Contains(err.Error(), "address already in use")
	})
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	s.hears(true)
	if _, err := s.taking.Trouble(); err != nil {
		t.Errorf("it still says %v", err)
	}
	now := time.Now()
	got := looking([]active.Server{{Name: "a", Process: "1", Token: "old", Since: now}, {Name: "b"},
		{Name: "a", Process: "2", Token: "new", Since: now.Add(time.Second)}})
	if len(got) != 2 || got[0].Token != "new" {
		t.Errorf("those who look are %+v", got)
	}
}
