package netprobe_test

import (
	"context"
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
	"golang.org/x/net/dns/dnsmessage"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/testbed/nettest"
)

// asked is a target on loopback with a check of a service.
func asked(port int, spec policy.Check) probe.Target {
	t := page("127.0.0.1", port, policy.HTTPCheck{})
	spec.Name, spec.Port, spec.Every, spec.Timeout = "page", port, 5*time.Second, 4*time.Second
	spec.DownAfter, spec.UpAfter = 1, 1
	t.Spec = &spec
	return t
}

// story is one question to a real server, and what the look makes of its answer.
type story struct {
	spec   policy.Check
	want   fleet.ResultReason
	detail string // it begins so
}

func tell(t *testing.T, e *netprobe.Engine, port int, stories map[string]story) {
	t.Helper()
	for name, c := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := e.Look(t.Context(), asked(port, c.spec)); got.Result != c.want ||
				!strings.HasPrefix(got.Detail, c.detail) {
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
	nettest.Serve(t, l, func(_ context.Context, conn net.Conn) { serve(conn) })
	return portOf(t, l.Addr().String())
}

// closedPort is one without a listener.
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
		"any": {policy.Check{Kind: policy.CheckSSH}, fleet.ResultOK, "SSH-2.0-OpenSSH_9.2p1 Debian-2"},
		"the one": {policy.Check{Kind: policy.CheckSSH, SSH: policy.SSHCheck{Banner: `OpenSSH_(9|10)\.`}},
			fleet.ResultOK, "SSH-2.0-"},
		"another one": {policy.Check{Kind: policy.CheckSSH, SSH: policy.SSHCheck{Banner: "dropbear"}}, fleet.ResultBody,
			"the pattern is not in it: SSH-2.0-OpenSSH_9.2p1 Debian-2"},
	})
	tell(t, e, closedPort(t), map[string]story{
		"no server": {policy.Check{Kind: policy.CheckSSH}, fleet.ResultRefused, ""},
	})
}

// TestTLSOnLoopback: the handshake is that of an https check, and nothing is asked after it.
func TestTLSOnLoopback(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("it was asked for something")
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it hears of refused certificates
	server.StartTLS()
	t.Cleanup(server.Close)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	left := int(time.Until(server.Certificate().NotAfter).Hours() / 24)
	check := func(host string, demand policy.TLSCheck) policy.Check {
		return policy.Check{Kind: policy.CheckTLS, Certificate: policy.CertificateCheck{Host: host, TLSCheck: demand}}
	}
	e := start(t, network(t), netprobe.Options{Roots: x509.NewCertPool()})
	tell(t, e, portOf(t, server.Listener.Addr().String()), map[string]story{
		"no authority for it": {check("example.com", policy.TLSCheck{}), fleet.ResultTLS,
			"tls: failed to verify certificate"},
		"the check does": {check("example.com", policy.TLSCheck{CA: own, Days: left - 1}), fleet.ResultOK, ""},
		"by its address": {check("", policy.TLSCheck{CA: own}), fleet.ResultOK, ""},
		"for another name": {check("example.net", policy.TLSCheck{CA: own}), fleet.ResultTLS,
			"tls: failed to verify certificate"},
		"not long enough": {check("example.com", policy.TLSCheck{CA: own, Days: left + 1}), fleet.ResultTLS,
			"the certificate ends in "},
		"any, not so short": {check("example.net", policy.TLSCheck{Insecure: true, Days: left + 1}), fleet.ResultTLS,
			"the certificate ends in "},
	})
	tell(t, e, closedPort(t), map[string]story{"no server": {check("", policy.TLSCheck{}), fleet.ResultRefused, ""}})
}

// listenPacket opens a port for datagrams until the test ends, and answers each with what the function makes of it;
// nil: nothing.
func listenPacket(t *testing.T, answer func(packet []byte) []byte) (port int) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() { // it ends with the connection
		packet := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(packet)
			if err != nil {
				return
			}
			if a := answer(packet[:n]); a != nil {
				_, _ = conn.WriteToUDPAddrPort(a, from)
			}
		}
	}()
	return portOf(t, conn.LocalAddr().String())
}

func TestUDPOnLoopback(t *testing.T) {
	t.Parallel()
	port := listenPacket(t, func(packet []byte) []byte { return append([]byte("heard "), packet...) })
	e := start(t, network(t), netprobe.Options{})
	check := func(answer string) policy.Check {
		return policy.Check{Kind: policy.CheckUDP, UDP: policy.UDPCheck{Send: []byte("ping"), Answer: answer}}
	}
	tell(t, e, port, map[string]story{
		"any":         {check(""), fleet.ResultOK, ""},
		"the one":     {check("^heard ping$"), fleet.ResultOK, ""},
		"another one": {check("^pong"), fleet.ResultBody, "the pattern is not in it: heard ping"},
	})
	tell(t, e, closedPort(t), map[string]story{"no server": {check(""), fleet.ResultRefused, ""}})
}

func TestDNSOnLoopback(t *testing.T) {
	t.Parallel()
	port := listenPacket(t, func(packet []byte) []byte {
		var m dnsmessage.Message
		if err := m.Unpack(packet); err != nil || len(m.Questions) != 1 {
			t.Errorf("asked %x: %v", packet, err)
			return nil
		}
		m.Response = true
		if m.Questions[0].Name.String() != "www.example.org." {
			m.RCode = dnsmessage.RCodeNameError
		} else {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}},
			}}
		}
		answer, err := m.Pack()
		if err != nil {
			t.Error(err)
		}
		return answer
	})
	e := start(t, network(t), netprobe.Options{})
	check := func(name string, answer ...string) policy.Check {
		return policy.Check{Kind: policy.CheckDNS, DNS: policy.DNSCheck{Name: name, Type: policy.RecordA,
			Answer: answer}}
	}
	tell(t, e, port, map[string]story{
		"known":        {check("www.example.org"), fleet.ResultOK, ""},
		"as it should": {check("www.example.org.", "192.0.2.1"), fleet.ResultOK, ""},
		"another one":  {check("www.example.org", "192.0.2.2"), fleet.ResultBody, "192.0.2.2 is not in it: 192.0.2.1"},
		"unknown":      {check("example.net"), fleet.ResultStatus, "NXDOMAIN"},
	})
	tell(t, e, closedPort(t), map[string]story{"no server": {check("www.example.org"), fleet.ResultRefused, ""}})
}
