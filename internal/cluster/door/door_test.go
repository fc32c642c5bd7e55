package door_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hale/internal/cluster/door"
	"hale/internal/cluster/papers"
	"hale/internal/core/fault"
	"hale/internal/defect"
)

// house counts who came in.
type house struct {
	door.House
	inside atomic.Int64
	gone   string
	// reports takes those of servers that stand by; nil: it is not the active one.
	reports http.Handler
}

func (h *house) Join(_ context.Context, q door.JoinRequest) (door.JoinAnswer, error) {
	if q.Secret != "open" {
		return door.JoinAnswer{}, fault.New(fault.Unauthorised, "test", "", errors.New("no such invitation"))
	}
	return door.JoinAnswer{ID: "guest"}, nil
}

func (h *house) Servers(context.Context) (door.Servers, error) {
	h.inside.Add(1)
	return door.Servers{Cluster: "c"}, nil
}

func (h *house) Gone(_ context.Context, id string) bool { return id == h.gone }

func (h *house) Reports() http.Handler { return h.reports }

func (h *house) Peers() http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { h.inside.Add(1) })
}

// server is a server of the authority's, with papers of its own.
func server(t *testing.T, a papers.Authority, name string) *papers.Papers {
	t.Helper()
	p, err := papers.Draft(t.TempDir(), papers.First(name, "", ""), a, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// opened is a door with the house behind it, until the test ends.
func opened(t *testing.T, p *papers.Papers, h *house) (address string) {
	t.Helper()
	l, err := door.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { // ends with ctx
		ended <- door.Serve(ctx, l, door.Options{House: h, Papers: p, Logger: log,
			Panics: defect.NewRegister(log).Witness(defect.Surface, "test")})
	}()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// Who shows no certificate can ask to join, and nothing else, of hale or of etcd; a server that was let go, and one of
// another cluster, can nothing.
func TestTheDoorOpensToServersOfTheCluster(t *testing.T) {
	t.Parallel()
	ours, err := papers.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := papers.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	host, friend, gone := server(t, ours, "a"), server(t, ours, "b"), server(t, ours, "c")
	other := server(t, theirs, "x")
	h := &house{gone: gone.ID}
	h.reports = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { h.inside.Add(1) })
	at := opened(t, host, h)

	if all, err := door.Member(friend).Servers(t.Context(), at); err != nil || all.Cluster != "c" {
		t.Errorf("a server of the cluster: %+v, %v", all, err)
	}
	before := h.inside.Load()
	if _, err := door.Member(gone).Servers(t.Context(), at); !fault.Is(err, fault.NotFound) {
		t.Errorf("a server that was let go: %v", err)
	}
	if _, err := door.Member(other).Servers(t.Context(), at); !fault.Is(err, fault.Unauthorised) {
		t.Errorf("a server of another cluster: %v", err)
	}
	guest := door.Guest(ours.Fingerprint())
	if _, err := guest.Servers(t.Context(), at); !fault.Is(err, fault.Unauthorised) {
		t.Errorf("a guest who asks for more: %v", err)
	}
	for _, path := range []string{"/raft", "/members", "/leases", "/hale/leave", "/hale/nothing", "/version",
		"/satellite"} {
		if got := bare(t, ours, at, path); got != http.StatusUnauthorized {
			t.Errorf("%s without a certificate: %d", path, got)
		}
	}
	if n := h.inside.Load(); n != before {
		t.Errorf("%d came in", n-before)
	}
	if a, err := guest.Join(t.Context(), at, door.JoinRequest{Secret: "open"}); err != nil || a.ID != "guest" {
		t.Errorf("a guest with an invitation: %+v, %v", a, err)
	}
	_, err = guest.Join(t.Context(), at, door.JoinRequest{Secret: "other"})
	if !fault.Is(err, fault.Unauthorised) || !strings.Contains(err.Error(), "no such invitation") {
		t.Errorf("a guest without one: %v", err)
	}
}

// A server of the cluster reports what it sees at the door of the active one; another one says that it is not that.
func TestServersReportAtTheDoor(t *testing.T) {
	t.Parallel()
	a, err := papers.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	standby, active := &house{}, &house{}
	active.reports = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, err := io.ReadAll(r.Body)
		if err != nil || string(said) != "{}" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	friend := server(t, a, "b").Calling()
	for want, h := range map[int]*house{http.StatusOK: active, http.StatusServiceUnavailable: standby} {
		if got := asked(t, friend, opened(t, server(t, a, "a"), h), "/satellite"); got != want {
			t.Errorf("a report is answered with %d, want %d", got, want)
		}
	}
}

// bare asks without a certificate, and returns the status.
func bare(t *testing.T, a papers.Authority, at, path string) int {
	t.Helper()
	return asked(t, papers.Invited(a.Fingerprint(), time.Now), at, path)
}

// asked asks, and returns the status.
func asked(t *testing.T, as *tls.Config, at, path string) int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: as, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+at+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// What is at fault where nobody answers well is said.
func TestWhatIsAtFaultIsSaid(t *testing.T) {
	t.Parallel()
	a, err := papers.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p := server(t, a, "a")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = door.Member(p).Servers(t.Context(), closed.Addr().String())
	if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("a closed port: %v", err)
	}
	if _, err := door.Listen(t.Context(), "192.0.2.1:7120"); !fault.Is(err, fault.Conflict) ||
		!strings.Contains(err.Error(), "an address of this machine?") {
		t.Errorf("an address of another machine: %v", err)
	}
}

// However many strangers hold connections, servers of the cluster that were here before come in.
func TestStrangersTakeNoServersPlace(t *testing.T) {
	t.Parallel()
	a, err := papers.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{}
	at := opened(t, server(t, a, "a"), h)
	friend := door.Member(server(t, a, "b"))
	if _, err := friend.Servers(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	turnedAway := 0
	for range 200 { // from one address of many
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
		c, err := from.DialContext(t.Context(), "tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			turnedAway++
		}
	}
	if turnedAway < 150 {
		t.Errorf("%d of 200 strangers of one address were turned away", turnedAway)
	}
	if _, err := friend.Servers(t.Context(), at); err != nil {
		t.Errorf("a server of the cluster: %v", err)
	}
}
