package heartbeat_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/heartbeat"
	"hale/internal/probe/netprobe"
	"hale/internal/testbed/nettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a receiver that really listens, a probe engine of a fleet.
type house struct {
	t        *testing.T
	address  string
	receiver *heartbeat.Receiver
	engine   *netprobe.Engine
	token    string // where it is kept
	client   *http.Client
}

const token = "a-token-of-the-fleet"

// open lets a house stand until the test ends.
func open(t *testing.T, place heartbeat.Place) *house {
	t.Helper()
	if place.Listen == "" {
		place.Listen = nettest.Free(t)
	}
	h := &house{
		t:       t,
		address: place.Listen,
		token:   filepath.Join(t.TempDir(), "token"),
		client:  &http.Client{Timeout: 10 * time.Second},
	}
	h.write(h.token, token+"\n")
	h.receiver = heartbeat.New(slog.New(slog.DiscardHandler), nil)
	h.receiver.Take(place, []policy.Spec{{Name: "web", Checks: []policy.Check{*h.check()}}})
	register := h.receiver.Register("web")
	t.Cleanup(register.Close)
	h.engine = netprobe.New(nil, netprobe.Options{Hearing: register})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 2)
	go func() { ended <- h.engine.Run(ctx) }()
	go func() {
		h.receiver.Run(ctx)
		ended <- nil
	}()
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return h
}

func (h *house) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) check() *policy.Check {
	return &policy.Check{
		Name: "beat", Kind: policy.CheckHeartbeat, Every: 600 * time.Millisecond, Timeout: 400 * time.Millisecond,
		DownAfter: 2, UpAfter: 1, Heartbeat: policy.HeartbeatCheck{Token: fleet.Secret{File: h.token}},
	}
}

func (h *house) target(epoch uint64) probe.Target {
	return probe.Target{ID: probe.ID{Machine: "web-1", Check: "beat"}, Instance: "a", Epoch: epoch, Spec: h.check()}
}

// report sends one, as a machine does, and returns the status.
func (h *house) report(path, shown, body string) (int, string) {
	h.t.Helper()
	scheme := "http"
	if h.client.Transport != nil {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, scheme+"://"+h.address+path,
		strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if shown != "" {
		req.Header.Set("Authorization", "Bearer "+shown)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// becomes waits until the check stands so, beating meanwhile if there is something to say.
func (h *house) becomes(standing fleet.Standing, result fleet.ResultReason, detail string, beat func()) {
	h.t.Helper()
	deadline := time.Now().Add(time.Minute)
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	var is probe.Edge
	for time.Now().Before(deadline) {
		if beat != nil {
			beat()
		}
		for _, e := range h.engine.Standings() {
			is = e
		}
		if is.Standing == standing && is.Result == result && strings.Contains(is.Detail, detail) {
			return
		}
		<-pause.C
	}
	h.t.Fatalf("it is %s %s (%s), want %s %s (%s)", is.Standing, is.Result, is.Detail, standing, result, detail)
}

const beatPath = "/heartbeat/web/web-1/beat"

// TestMachineReports: a real client that reports, says that it is not well, falls silent, and comes back.
func TestMachineReports(t *testing.T) {
	t.Parallel()
	h := open(t, heartbeat.Place{})
	h.engine.Set(h.target(1))
	well := func() { h.report(beatPath, token, "") }
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", well)
	h.becomes(fleet.StandingDown, fleet.ResultStatus, "disk full, and [secret]", func() {
		h.report(beatPath, token, `{"ok": false, "detail": "disk full, and `+token+`"}`)
	})
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", well)
	h.becomes(fleet.StandingDown, fleet.ResultTimeout, "the last heartbeat came at ", nil)
	h.becomes(fleet.StandingUp, fleet.ResultOK, "all well", func() {
		h.report(beatPath, token, `{"ok": true, "detail": "all well"}`)
	})
}

func TestWhoIsHeard(t *testing.T) {
	t.Parallel()
	h := open(t, heartbeat.Place{})
	h.engine.Set(h.target(1))
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", func() { h.report(beatPath, token, "") })
	for name, c := range map[string]struct {
		path, token, body string
		want              int
	}{
		"well":                      {beatPath, token, "", http.StatusNoContent},
		"not well":                  {beatPath, token, `{"ok": false}`, http.StatusNoContent},
		"it is not watched here":    {"/heartbeat/web/web-7/beat", token, "", http.StatusAccepted},
		"no token":                  {beatPath, "", "", http.StatusUnauthorized},
		"another token":             {beatPath, token + "x", "", http.StatusUnauthorized},
		"no such check":             {"/heartbeat/web/web-1/page", token, "", http.StatusUnauthorized},
		"no such fleet":             {"/heartbeat/db/web-1/beat", token, "", http.StatusUnauthorized},
		"no such path":              {"/heartbeat/web/web-1", token, "", http.StatusNotFound},
		"what it says is no report": {beatPath, token, "well", http.StatusBadRequest},
		"it does not say how it is": {beatPath, token, `{"detail": "x"}`, http.StatusBadRequest},
		"far too much":              {beatPath, token, strings.Repeat(" ", 5000), http.StatusRequestEntityTooLarge},
	} {
		if got, said := h.report(c.path, c.token, c.body); got != c.want {
			t.Errorf("%s: status %d (%s), want %d", name, got, strings.TrimSpace(said), c.want)
		}
	}
	h.write(h.token, "another-one\n")
	if got, _ := h.report(beatPath, token, ""); got != http.StatusUnauthorized {
		t.Errorf("the old token of a check with a new one: status %d", got)
	}
	if got, _ := h.report(beatPath, "another-one", ""); got != http.StatusNoContent {
		t.Errorf("the new token: status %d", got)
	}
	if err := os.Remove(h.token); err != nil {
		t.Fatal(err)
	}
	if got, _ := h.report(beatPath, token, ""); got != http.StatusServiceUnavailable {
		t.Errorf("a token that hale cannot read: status %d", got)
	}
}

// TestUnheardMachinesAreUnknown: another program has the port, and later the token cannot be read.
func TestUnheardMachinesAreUnknown(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, heartbeat.Place{Listen: other.Addr().String()})
	h.engine.Set(h.target(1))
	h.becomes(fleet.StandingUnknown, fleet.ResultLocal, "hale cannot listen for heartbeats", nil)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", func() { h.report(beatPath, token, "") })
	if err := os.Remove(h.token); err != nil {
		t.Fatal(err)
	}
	h.becomes(fleet.StandingUnknown, fleet.ResultLocal, "the secret of token cannot be read",
		func() { h.report(beatPath, token, "") })
}

// TestReceiverMoves: it listens elsewhere when it is told, and nowhere when there is nothing to listen for.
func TestReceiverMoves(t *testing.T) {
	t.Parallel()
	h := open(t, heartbeat.Place{})
	h.engine.Set(h.target(1))
	well := func() { h.report(beatPath, token, "") }
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", well)
	fleets := []policy.Spec{{Name: "web", Checks: []policy.Check{*h.check()}}}
	was := h.address
	h.address = nettest.Free(t)
	h.receiver.Take(heartbeat.Place{Listen: h.address}, fleets)
	h.engine.Set(h.target(2))
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", well)
	h.receiver.Take(heartbeat.Place{}, nil)
	h.becomes(fleet.StandingUnknown, fleet.ResultLocal, "hale has not begun to listen", nil)
	for _, address := range []string{was, h.address} {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("it still listens at %s", address)
		}
	}
}

// TestReportsOverTLS: as soon as there is a certificate, and never without it.
func TestReportsOverTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place := heartbeat.Place{Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	h := open(t, place)
	h.engine.Set(h.target(1))
	// there is no certificate yet
	h.becomes(fleet.StandingUnknown, fleet.ResultLocal, "hale cannot listen for heartbeats", nil)
	pool := h.certificate(place)
	h.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}
	h.becomes(fleet.StandingUp, fleet.ResultOK, "", func() { h.report(beatPath, token, "") })
	plain := &http.Client{}
	if resp, err := plain.Get("http://" + h.address + "/heartbeat"); err == nil {
		resp.Body.Close()
		if resp.StatusCode == http.StatusNoContent {
			t.Error("it also answers without TLS")
		}
	}
	plain.CloseIdleConnections()
}

// certificate writes a pair for 127.0.0.1, and returns what trusts it.
func (h *house) certificate(place heartbeat.Place) *x509.CertPool {
	h.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		h.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		h.t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	h.write(place.Key, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	h.write(place.Certificate, string(public))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return pool
}
