package etcd

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

const theName = "server.test"

// group are servers of one cluster, in this process, that reach each other by TLS on loopback.
type group struct {
	*testing.T
	cert, key string // files
	pair      tls.Certificate
	at        map[string]string
	all       map[string]*Own
	doors     map[string]*http.Server
}

// gather begins a cluster of servers of the names.
func gather(t *testing.T, names ...string) *group {
	t.Helper()
	g := &group{T: t, at: map[string]string{}, all: map[string]*Own{}, doors: map[string]*http.Server{}}
	g.certify()
	for i, name := range names {
		g.begin(name, i == 0)
	}
	return g
}

func (g *group) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// certify makes a certificate that all of them show, and trust.
func (g *group) certify() {
	g.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.must(err)
	as := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{theName}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, as, as, &key.PublicKey, key)
	g.must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	g.must(err)
	dir := g.TempDir()
	g.cert, g.key = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	g.must(os.WriteFile(g.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	g.must(os.WriteFile(g.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	g.pair, err = tls.LoadX509KeyPair(g.cert, g.key)
	g.must(err)
}

// begin starts one, which the first of them lets in, and waits until it has its vote.
func (g *group) begin(name string, first bool) {
	g.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{g.pair},
		NextProtos: []string{"http/1.1"}})
	g.must(err)
	g.at[name] = l.Addr().String()
	m := Membership{Name: name, Cluster: "c", Address: g.at[name], CA: g.cert, Certificate: g.cert, Key: g.key,
		ServerName: theName}
	if !first {
		g.let(g.at[name])
		m.Others = map[string]string{}
		for other, at := range g.at {
			if other != name {
				m.Others[other] = at
			}
		}
	}
	dir := filepath.Join(g.TempDir(), "data")
	opts := Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(g.Output(), nil)), MinFree: 1}
	own, err := Belong(g.Context(), opts, m)
	for limit := time.Now().Add(time.Minute); fault.Is(err, fault.Transient) && time.Now().Before(limit); {
		own, err = Belong(g.Context(), opts, m) // one of the others had not heard of it yet
	}
	g.must(err)
	g.all[name] = own
	g.open(name, l)
	g.Cleanup(func() {
		_ = g.doors[name].Close()
		if err := own.Close(); err != nil {
			g.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(g.Context(), time.Minute)
	defer cancel()
	g.must(own.Await(ctx))
	for is, _ := own.Self(); is.Learner; is, _ = own.Self() {
		_ = own.Promote(ctx) // until it has caught up
		g.must(ctx.Err())
	}
}

// let has the first one of them that there is let a server in, once all are in touch.
func (g *group) let(address string) {
	g.Helper()
	limit := time.Now().Add(time.Minute)
	for _, own := range g.all {
		for err := own.Admit(g.Context(), address); err != nil; err = own.Admit(g.Context(), address) {
			if !fault.Is(err, fault.Transient) || time.Now().After(limit) {
				g.Fatal(err)
			}
		}
		return
	}
}

// open has the others reach the server.
func (g *group) open(name string, l net.Listener) {
	srv := &http.Server{Handler: g.all[name].Peers(), ReadHeaderTimeout: time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	g.doors[name] = srv
	go func() { _ = srv.Serve(l) }() // ends with the test
}

// follower is one that does not lead.
func (g *group) follower() *Own {
	g.Helper()
	for _, own := range g.all {
		if is, listed := own.Self(); listed && !is.Leader {
			return own
		}
	}
	g.Fatal("all of them lead")
	return nil
}

// What a server stores that does not lead, all have; its leases are renewed, and end, as the leader's; and it sees what
// others write.
func TestAServerThatDoesNotLeadStores(t *testing.T) {
	t.Parallel()
	g := gather(t, "a", "b")
	f := g.follower()
	put(t, f, "k", "v")
	for name, own := range g.all {
		if e, err := own.Get(t.Context(), "k"); err != nil || string(e.Value) != "v" {
			t.Errorf("%s has %q, %v", name, e.Value, err)
		}
	}
	lease, err := f.Grant(t.Context(), MinLease)
	g.must(err)
	_, err = f.Commit(t.Context(), state.Txn{Then: []state.Write{state.PutLeased("leased", nil, lease.ID())}})
	g.must(err)
	select {
	case <-lease.Lost():
		t.Error("it was not renewed")
	case <-time.After(2 * MinLease):
	}
	g.must(lease.Revoke(t.Context()))
	if _, err := f.Get(t.Context(), "leased"); !fault.Is(err, fault.NotFound) {
		t.Errorf("after the lease's end: %v", err)
	}
}

// The lead is handed to another server again and again, while each of them reads: no read fails for that.
func TestTheLeadIsHanded(t *testing.T) {
	t.Parallel()
	g := gather(t, "a", "b", "c")
	put(t, g.all["a"], "k", "v")
	ctx, end := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	for name, own := range g.all {
		reading.Go(func() {
			for ctx.Err() == nil {
				if _, err := own.Get(ctx, "k"); err != nil && ctx.Err() == nil {
					t.Errorf("%s does not read: %v", name, err)
				}
				if _, _, err := own.List(ctx, "k"); err != nil && ctx.Err() == nil {
					t.Errorf("%s does not list: %v", name, err)
				}
			}
		})
	}
	for range 10 {
		to, _ := g.follower().Self()
		for _, own := range g.all {
			if !own.Leads() {
				continue
			}
			handing, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			g.must(own.HandLead(handing, to.ID))
			cancel()
			if own.Leads() {
				t.Error("it still leads")
			}
			break
		}
	}
	end()
	reading.Wait()
}

// S17: a server that is alone of two refuses writes soon, of unknown outcome, reads nothing old, and ends its watches;
// what is only asked of its own copy is answered.
func TestS17AServerWithoutTheMajority(t *testing.T) {
	t.Parallel()
	g := gather(t, "a", "b")
	put(t, g.all["a"], "k", "v")
	lone := g.follower()
	if _, err := lone.Get(t.Context(), "k"); err != nil { // then its own copy has it
		t.Fatal(err)
	}
	for name, own := range g.all {
		if own != lone {
			_ = g.doors[name].Close()
			own.member.etcd.Server.HardStop()
		}
	}
	watched := make(chan error, 1)
	go func() { // ends with the watch
		for _, err := range lone.Watch(t.Context(), "k", 0) {
			if err != nil {
				watched <- err
				return
			}
		}
	}()
	began := time.Now()
	_, err := lone.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put("k", []byte("w"))}})
	if took := time.Since(began); !fault.Is(err, fault.UnknownOutcome) || took > requestLimit+2*time.Second {
		t.Errorf("a write: %v after %v", err, took)
	}
	if _, err := lone.Get(t.Context(), "k"); !fault.Is(err, fault.Transient) {
		t.Errorf("a read: %v", err)
	}
	if is, err := lone.Here(t.Context(), "k"); err != nil || !is {
		t.Errorf("its own copy: %v, %v", is, err)
	}
	select {
	case err := <-watched:
		if !fault.Is(err, fault.Transient) {
			t.Errorf("the watch ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the watch goes on in silence")
	}
	if lone.Led() {
		t.Error("it takes itself for led")
	}
}
