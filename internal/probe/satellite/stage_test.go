package satellite

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
	"hale/internal/probe/quorum"
	"hale/internal/secret"
)

// standby is a server that does not listen, since it is not the active one.
const standby = "standby:7118"

// wire is the way from a satellite to the server.
type wire struct {
	mu    sync.Mutex
	to    http.Handler
	cut   bool
	delay time.Duration // of each report, on its way
	bad   func(body string) string
	sends int // so far
	under sync.WaitGroup
}

// RoundTrip implements http.RoundTripper. What has left arrives, whoever still waits for the answer.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	to, cut, delay, bad := w.to, w.cut, w.delay, w.bad
	w.mu.Unlock()
	if req.URL.Host == standby {
		return nil, syscall.ECONNREFUSED
	}
	if cut || to == nil {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	body := string(data)
	if bad != nil {
		body = bad(body)
	}
	arrives := req.Clone(context.WithoutCancel(req.Context()))
	arrives.Body = io.NopCloser(strings.NewReader(body))
	w.set(func() { w.sends++ })
	answered := make(chan *http.Response, 1)
	w.under.Go(func() {
		<-time.After(delay)
		rec := httptest.NewRecorder()
		to.ServeHTTP(rec, arrives)
		answered <- rec.Result()
	})
	select {
	case resp := <-answered:
		return resp, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func (w *wire) set(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// place is a network from which machines are looked at: the server's own, or a satellite's.
type place struct {
	*wire
	net    *probetest.Transport
	frozen atomic.Bool // its probes stand still, though it reports
	end    func()
}

// standing is an engine whose probes can stand still.
type standing struct {
	Engine
	place *place
	out   chan probe.Report
}

// Reports implements Engine.
func (e standing) Reports() <-chan probe.Report { return e.out }

// Run implements Engine.
func (e standing) Run(ctx context.Context) error {
	var hands sync.WaitGroup
	hands.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case r := <-e.Engine.Reports():
				if e.place.frozen.Load() {
					continue
				}
				select {
				case e.out <- r:
				case <-ctx.Done():
				}
			}
		}
	})
	defer hands.Wait()
	return e.Engine.Run(ctx)
}

// scene is a server with satellites, and a machine that all of them ping.
type scene struct {
	*testing.T
	token  string // a file
	names  bool   // whether satellites say what they are called, as servers do
	hub    *Hub
	engine *quorum.Engine
	here   *probetest.Transport
	there  map[string]*place
	target probe.Target

	mu    sync.Mutex
	edges []probe.Edge
}

// watched3 is how a machine is looked at: from three vantages, of which two must agree. It is down after 2 s.
var watched3 = policy.Check{Name: "alive", Kind: policy.CheckPing, Every: time.Second, Timeout: 500 * time.Millisecond,
	DownAfter: 3, UpAfter: 2, Sight: policy.Sight{Vantages: 3, Agree: 2, StaleAfter: 5 * time.Second}}

// begin begins with a server and satellites of the names.
func begin(t *testing.T, names ...string) *scene {
	t.Helper()
	s := &scene{T: t, token: filepath.Join(t.TempDir(), "token"), here: probetest.NewTransport(),
		there: map[string]*place{}, target: probe.Target{ID: probe.ID{Machine: "web-1", Check: "alive"},
			Address: netip.MustParseAddr("10.0.0.1"), Epoch: 7, Spec: &watched3}}
	s.sees("hale")
	tokens := map[string]secret.Secret{}
	for _, name := range names {
		if err := os.WriteFile(s.token+name, []byte("token-"+name), 0o600); err != nil {
			t.Fatal(err)
		}
		of, err := secret.File(s.token + name)
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = of
	}
	s.serve(tokens)
	for _, name := range names {
		s.launch(name)
	}
	return s
}

// serve starts the server, or another one in its place.
func (s *scene) serve(tokens map[string]secret.Secret) {
	quiet := slog.New(slog.DiscardHandler)
	s.hub = New(quiet, defect.NewRegister(quiet).Witness(defect.Probes, ""))
	s.hub.Take(Settings{Tokens: tokens, StaleAfter: 5 * time.Second})
	s.engine = quorum.New("hale", netprobe.New(s.here, netprobe.Options{}), s.hub.Panel())
	var runs sync.WaitGroup
	runs.Go(func() { s.hub.Run(s.Context()) })
	runs.Go(func() { _ = s.engine.Run(s.Context()) })
	s.Cleanup(runs.Wait)
	reports := s.engine.Reports()
	go func() {
		for {
			select {
			case r := <-reports:
				if r.Edge != nil {
					s.mu.Lock()
					s.edges = append(s.edges, *r.Edge)
					s.mu.Unlock()
				}
			case <-s.Context().Done():
				return
			}
		}
	}()
	for _, p := range s.there {
		p.set(func() { p.to = s.hub.Handler() })
	}
	s.engine.Set(s.target)
}

// launch starts a satellite.
func (s *scene) launch(name string) {
	p := s.there[name]
	if p == nil {
		p = &place{net: probetest.NewTransport(), wire: &wire{to: s.hub.Handler()}}
		s.there[name] = p
		s.sees(name)
		s.Cleanup(p.under.Wait)
	}
	quiet := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(s.Context())
	var runs sync.WaitGroup
	said := ""
	if s.names {
		said = name
	}
	runs.Go(func() {
		err := Run(ctx, Options{
			Name: said, Join: []string{"https://" + standby, "https://hale"}, Version: "1", Through: p.wire,
			Logger: quiet,
			Token:  func(context.Context) (string, error) { return "token-" + name, nil },
			Engine: standing{netprobe.New(p.net, netprobe.Options{}), p, make(chan probe.Report)},
			Panics: defect.NewRegister(quiet).Witness(defect.Probes, "")})
		if err != nil {
			s.Errorf("%s: %v", name, err)
		}
	})
	s.Cleanup(runs.Wait)
	p.end = func() {
		cancel()
		runs.Wait()
	}
}

func (s *scene) at(name string) *probetest.Transport {
	if p := s.there[name]; p != nil {
		return p.net
	}
	return s.here
}

// sees has the machine answer to those who look from there, and loses that it does not.
func (s *scene) sees(names ...string) {
	for _, name := range names {
		s.at(name).Script(s.target.Address, probetest.Answer{After: time.Millisecond})
	}
}

func (s *scene) loses(names ...string) {
	for _, name := range names {
		s.at(name).Script(s.target.Address, probetest.Silent())
	}
}

// after lets time pass, and wants the machine's standing as all make it out.
func (s *scene) after(d time.Duration, want string) {
	s.Helper()
	<-time.After(d)
	synctest.Wait()
	e := s.engine.Standings()[0]
	if got := string(e.Standing) + " " + string(e.Result) + " " + e.Detail; !strings.HasPrefix(got, want) {
		s.Errorf("it is %q, want %q", got, want)
	}
}

// never wants that the machine never stood so since it was last asked.
func (s *scene) never(standing fleet.Standing) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.edges {
		if e.Standing == standing {
			s.Errorf("it was %s: %+v", standing, e)
		}
	}
	s.edges = nil
}

func nameOf(i int) fleet.MachineName { return fleet.Name("web").Machine(i) }
