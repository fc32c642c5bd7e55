package netprobe_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"hale/internal/fleet"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
)

// asked is a target on loopback with a check of a service.
func asked(port int, spec fleet.Check) probe.Target {
	t := page("127.0.0.1", port, fleet.HTTPCheck{})
	spec.Name, spec.Port, spec.Every, spec.Timeout, spec.DownAfter, spec.UpAfter = "page", port, 5*time.Second, 4*time.Second, 1, 1
	t.Spec = &spec
	return t
}

// story is one question to a real server, and what the look makes of its answer.
type story struct {
	spec   fleet.Check
	want   fleet.ResultReason
	detail string // it begins so
}

func tell(t *testing.T, e *netprobe.Engine, port int, stories map[string]story) {
	t.Helper()
	for name, c := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := e.Look(t.Context(), asked(port, c.spec)); got.Result != c.want || !strings.HasPrefix(got.Detail, c.detail) {
				t.Errorf("look says %s (%s), want %s (%s)", got.Result, got.Detail, c.want, c.detail)
			}
		})
	}
}

// listen opens a port until the test ends, and serves what comes.
func listen(t *testing.T, serve func(net.Conn)) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // it ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return portOf(t, l.Addr().String())
}

// closedPort is one at which nobody listens.
func closedPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return portOf(t, l.Addr().String())
}

func TestSSHOnLoopback(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true, ServerVersion: "SSH-2.0-OpenSSH_9.2p1 Debian-2"}
	config.AddHostKey(signer)
	port := listen(t, func(conn net.Conn) {
		defer conn.Close()
		_, _, _, _ = ssh.NewServerConn(conn, config)
	})
	e := start(t, network(t), netprobe.Options{})
	tell(t, e, port, map[string]story{
		"any":         {fleet.Check{Kind: fleet.CheckSSH}, fleet.ResultOK, "SSH-2.0-OpenSSH_9.2p1 Debian-2"},
		"the one":     {fleet.Check{Kind: fleet.CheckSSH, SSH: fleet.SSHCheck{Banner: `OpenSSH_(9|10)\.`}}, fleet.ResultOK, "SSH-2.0-"},
		"another one": {fleet.Check{Kind: fleet.CheckSSH, SSH: fleet.SSHCheck{Banner: "dropbear"}}, fleet.ResultBody, "the pattern is not in it: SSH-2.0-OpenSSH_9.2p1 Debian-2"},
	})
	tell(t, e, closedPort(t), map[string]story{"nobody": {fleet.Check{Kind: fleet.CheckSSH}, fleet.ResultRefused, ""}})
}

// TestTLSOnLoopback: the handshake is that of an https check, and nothing is asked after it.
func TestTLSOnLoopback(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked for something") }))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it hears of refused certificates
	server.StartTLS()
	t.Cleanup(server.Close)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	left := int(time.Until(server.Certificate().NotAfter).Hours() / 24)
	check := func(host string, demand fleet.TLSCheck) fleet.Check {
		return fleet.Check{Kind: fleet.CheckTLS, Certificate: fleet.CertificateCheck{Host: host, TLSCheck: demand}}
	}
	e := start(t, network(t), netprobe.Options{Roots: x509.NewCertPool()})
	tell(t, e, portOf(t, server.Listener.Addr().String()), map[string]story{
		"nobody vouches for it": {check("example.com", fleet.TLSCheck{}), fleet.ResultTLS, "tls: failed to verify certificate"},
		"the check does":        {check("example.com", fleet.TLSCheck{CA: own, Days: left - 1}), fleet.ResultOK, ""},
		"by its address":        {check("", fleet.TLSCheck{CA: own}), fleet.ResultOK, ""},
		"for another name":      {check("example.net", fleet.TLSCheck{CA: own}), fleet.ResultTLS, "tls: failed to verify certificate"},
		"not long enough":       {check("example.com", fleet.TLSCheck{CA: own, Days: left + 1}), fleet.ResultTLS, "the certificate ends in "},
		"whoever, not so short": {check("example.net", fleet.TLSCheck{Insecure: true, Days: left + 1}), fleet.ResultTLS, "the certificate ends in "},
	})
	tell(t, e, closedPort(t), map[string]story{"nobody": {check("", fleet.TLSCheck{}), fleet.ResultRefused, ""}})
}
