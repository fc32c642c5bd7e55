package app

import (
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/config"
	"hale/internal/fleet"
	"hale/internal/provider"
	"hale/internal/state/memory"
)

// hostileFor is how long hale stands among liars: HOSTILE=10m for longer (make hostile).
const hostileFor = 20 * time.Second

// mostMemory is what they may make hale take over what it had before, in bytes.
const mostMemory = 300 << 20

// liars answer in place of everything that hale speaks with. Each does another wrong thing with each request.
type liars struct {
	stranger *httptest.Server // where they send hale
	reached  atomic.Int64     // how often it went
	turns    atomic.Int64
	end      chan struct{} // what stalls ends
	stop     func()        // closes it
}

func newLiars(t *testing.T) *liars {
	t.Helper()
	l := &liars{end: make(chan struct{})}
	l.stop = sync.OnceFunc(func() { close(l.end) })
	l.stranger = l.serve(t, func(http.ResponseWriter, *http.Request) { l.reached.Add(1) })
	return l
}

// serve starts a server over TLS that keeps quiet of what it meets.
func (l *liars) serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	t.Cleanup(func() {
		l.stop()
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// lie answers a request over HTTP.
func (l *liars) lie(w http.ResponseWriter, q *http.Request) {
	switch l.turns.Add(1) % 7 {
	case 0:
		http.Redirect(w, q, l.stranger.URL+q.URL.Path, http.StatusTemporaryRedirect)
	case 1:
		l.flood(w)
	case 2:
		select {
		case <-q.Context().Done():
		case <-l.end:
		}
	case 3:
		fmt.Fprintf(w,
			`{"@odata.id": %[1]q, "Members": [{"@odata.id": %[1]q}], "next": %[1]q, `+
				`"servers_links": [{"rel": "next", "href": %[1]q}]}`,
			l.stranger.URL+"/redfish/v1")
	case 4:
		fmt.Fprintf(w, `{"@odata.id": %[1]q, "Members": [{"@odata.id": %[1]q}], "Members@odata.nextLink": %[1]q}`,
			q.URL.Path)
	case 5:
		_, _ = io.WriteString(w, strings.Repeat(`{"a":[`, 50_000))
	default:
		w.WriteHeader(http.StatusInternalServerError)
		l.flood(w)
	}
}

// flood writes until nobody reads.
func (l *liars) flood(w io.Writer) {
	chunk := []byte(strings.Repeat(" ", 64<<10))
	_, _ = io.WriteString(w, `{"servers": [`)
	for sent := 0; sent < 1<<30; sent += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// daemon listens as libvirtd does.
func (l *liars) daemon(t *testing.T) (address string) {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var talks sync.WaitGroup
	talks.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			talks.Go(func() { l.talk(c) })
		}
	})
	t.Cleanup(func() {
		l.stop()
		_ = listener.Close()
		talks.Wait()
	})
	return listener.Addr().String()
}

// talk answers each call of a connection with a header that fits it, and with what does not.
func (l *liars) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	done := make(chan struct{})
	defer close(done)
	go func() { // ends with the talk
		select {
		case <-l.end:
			_ = c.Close()
		case <-done:
		}
	}()
	head := make([]byte, 28)
	for {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		if n := int64(binary.BigEndian.Uint32(head)) - 28; n > 0 {
			if _, err := io.CopyN(io.Discard, c, n); err != nil {
				return
			}
		}
		binary.BigEndian.PutUint32(head[16:], 1) // a reply
		switch l.turns.Add(1) % 5 {
		case 0: // an array of four thousand million
			body := []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1}
			binary.BigEndian.PutUint32(head, uint32(28+len(body)))
			_, _ = c.Write(slices.Concat(head, body))
		case 1: // a message of four thousand million bytes
			binary.BigEndian.PutUint32(head, 0xffffffff)
			_, _ = c.Write(head)
			l.flood(c)
		case 2: // silence
			<-l.end
			return
		case 3:
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			return
		default: // what was not asked for
			binary.BigEndian.PutUint32(head, 28)
			binary.BigEndian.PutUint32(head[20:], 0x7fffffff)
			for range 100_000 {
				if _, err := c.Write(head); err != nil {
					return
				}
			}
		}
	}
}

// hostile is a configuration in which everything but the calm fleet's provider is a liar.
const hostile = `
providers:
  calms: {type: simulated, boot: 100ms, poll: 500ms}
  cloud: {type: openstack, cloud: {name: lies, file: %[1]s/clouds.yaml}, poll: 1s}
  vc:
    type: vsphere
    poll: 1s
    vcenter: {url: "%[2]s", user: u, password: {file: %[1]s/password}, ca: %[1]s/ca.pem,
      datacenter: DC0, cluster: C, datastore: D}
  rack: {type: libvirt, hosts: [{name: h1, uri: "qemu+tcp://%[3]s/system", fence: [bmc]}], poll: 1s}
  program: {type: exec, command: [%[1]s/liar], poll: 1s, timeout: 2s}
fences: {bmc: {redfish: {url: "%[2]s", user: u, password: {file: %[1]s/password}, ca: %[1]s/ca.pem}, test: 1m}}
fleets:
  calm:
    provider: calms
    size: 3
    checks: {page: {http: {}, every: 200ms, timeout: 150ms, down_after: 2, up_after: 1}}
    repair: {attempts: 100 in 1m}
`

const liarFleet = `
  %[1]s:
    provider: %[1]s
    size: 2
    template: {image: x, network: n%[2]s, disks: {root: ephemeral}}
    checks: {page: {http: {}}}
`

func hostileConfig(t *testing.T, l *liars) *config.Config {
	t.Helper()
	dir, server := t.TempDir(), l.serve(t, l.lie)
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("password", "s3cret", 0o600)
	write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), 0o600)
	write("clouds.yaml", fmt.Sprintf("clouds:\n  lies:\n    cacert: %s/ca.pem\n    auth: {auth_url: %q, username: u, "+
		"password: p, project_name: p, user_domain_name: d, project_domain_name: d}\n",
		dir, server.URL+"/v3"), 0o600)
	write("liar", "#!/bin/sh\ncase $(($$ % 3)) in 0) exec cat /dev/zero ;; 1) exec sleep 100 ;; *) echo "+
		"'{\"result\": {\"instances\": [{}]}}' ;; esac\n", 0o755)
	text := fmt.Sprintf(hostile, dir, server.URL, l.daemon(t))
	for name, more := range map[string]string{"cloud": ", server: {flavor: f}", "vc": "", "rack": ", memory: 64MiB",
		"program": ""} {
		text += fmt.Sprintf(liarFleet, name, more)
	}
	c, err := config.Parse("hale.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A cloud, a vCenter, a libvirt daemon, a power controller and a program that lie, flood, stall and redirect get no
// order and no password sent elsewhere, take no memory to speak of, and keep nobody from healing another fleet
// meanwhile.
func TestLiarsGetNothingAndHinderNobody(t *testing.T) {
	t.Parallel()
	lasts := hostileFor
	if said := os.Getenv("HOSTILE"); said != "" {
		var err error
		if lasts, err = time.ParseDuration(said); err != nil {
			t.Fatalf("HOSTILE=%s: %v; write 20s or 10m", said, err)
		}
	}
	l := newLiars(t)
	c, log := hostileConfig(t, l), slog.New(slog.DiscardHandler)
	s := &survival{t: t, store: memory.New(memory.Options{}).Open(nil)}
	var err error
	if s.site, err = newSite(c, nil, log); err != nil {
		t.Fatal(err)
	}
	s.site.teller, s.site.fencing = newTeller(c, "test", "here", s.site.defects), newFencing(c, log, s.site.defects)
	err = s.site.staff(staffing{store: s.store, server: "here", specs: c.Fleets, log: log,
		wrap: func(p provider.Provider) provider.Provider { return p }})
	if err != nil {
		t.Fatal(err)
	}
	stop := s.run()
	defer stop()
	s.await("the calm fleet stands", time.Minute, func() bool { return s.well("calm") })
	before, most, heals := taken(), uint64(0), 0
	for end := time.Now().Add(lasts); time.Now().Before(end); heals++ {
		s.site.fencing.Test(t.Context(), "bmc", "h1")
		s.await("the calm fleet is healed", time.Minute, s.crash("calm", heals%3+1))
		most = max(most, taken())
	}
	t.Logf("%d heals in %v among %d lies; memory %d MiB, and %d MiB at most", heals, lasts, l.turns.Load(), before>>20,
		most>>20)
	if most > before+mostMemory {
		t.Errorf("memory grew from %d to %d MiB", before>>20, most>>20)
	}
	if n := l.reached.Load(); n != 0 {
		t.Errorf("a stranger was asked %d times", n)
	}
	if n := l.turns.Load(); n < int64(lasts/time.Second) {
		t.Errorf("only %d lies were told", n)
	}
	for _, f := range s.site.engine.Status() {
		if f.Spec.Name != "calm" && f.Provider.Standing == fleet.ProviderUp {
			t.Errorf("the provider of %s counts as up", f.Spec.Name)
		}
	}
}

// taken is the memory in use, in bytes.
func taken() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
