package netprobe_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
)

func page(address string, port int, h policy.HTTPCheck) probe.Target {
	return probe.Target{
		ID:      probe.ID{Machine: "web-1", Check: "page"},
		Address: netip.MustParseAddr(address),
		Spec: &policy.Check{
			Name: "page", Kind: policy.CheckHTTP, Port: port, HTTP: h,
			Every: 5 * time.Second, Timeout: time.Second, DownAfter: 1, UpAfter: 1,
		},
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		target     probe.Target
		line, host string
	}{
		"as short as can be": {
			target: page("10.0.0.1", 80, policy.HTTPCheck{}), line: "GET / HTTP/1.1", host: "10.0.0.1",
		},
		"a query, another port": {
			target: page("10.0.0.1", 8080, policy.HTTPCheck{Scheme: "http", Path: "/health?full=1"}),
			line:   "GET /health?full=1 HTTP/1.1", host: "10.0.0.1:8080",
		},
		"a name of its own": {
			target: page("10.0.0.1", 8080, policy.HTTPCheck{Scheme: "http", Path: "/", Host: "www.example.com"}),
			line:   "GET / HTTP/1.1", host: "www.example.com",
		},
		"IPv6": {
			target: page("fd00::1", 80, policy.HTTPCheck{Scheme: "http", Path: "/"}), line: "GET / HTTP/1.1",
			host: "[fd00::1]",
		},
		"IPv6 on a link, another port": {
			target: page("fe80::1%eth0", 81, policy.HTTPCheck{Scheme: "http", Path: "/"}),
			line:   "GET / HTTP/1.1", host: "[fe80::1]:81",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := make(chan *http.Request, 1)
				x := probetest.NewTransport()
				x.Script(tc.target.Address, probetest.Answer{Serve: func(conn net.Conn) {
					defer conn.Close()
					if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
						asked <- r
						_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
					}
				}})
				e := start(t, x, netprobe.Options{})
				if got := e.Look(t.Context(), tc.target); got.Standing != fleet.StandingUp {
					t.Fatalf("look says %+v", got)
				}
				r := <-asked
				if line := fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, r.Proto); line != tc.line ||
					r.Host != tc.host {
					t.Errorf("asked %q of %q, want %q of %q", line, r.Host, tc.line, tc.host)
				}
				if agent := r.UserAgent(); agent != "hale" || !r.Close {
					t.Errorf("agent %q, close %v", agent, r.Close)
				}
			})
		})
	}
}

func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer string
		want   fleet.ResultReason
	}{
		"interim answers first":   {"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", fleet.ResultOK},
		"interim answers only":    {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100), fleet.ResultProtocol},
		"a head without end":      {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20), fleet.ResultProtocol},
		"a body without end":      {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1<<20), fleet.ResultOK},
		"a head that breaks off":  {"HTTP/1.1 200 O", fleet.ResultProtocol},
		"HTTP/1.0":                {"HTTP/1.0 200 OK\r\n\r\n", fleet.ResultOK},
		"a page of the next door": {"HTTP/1.1 404 Not Found\r\n\r\n", fleet.ResultStatus},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				target := page("10.0.0.1", 80, policy.HTTPCheck{Scheme: "http", Path: "/"})
				x := probetest.NewTransport()
				x.Script(target.Address, probetest.Answer{Serve: func(conn net.Conn) {
					defer conn.Close()
					if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
						if n, _ := io.WriteString(conn, tc.answer); n > 128<<10 {
							t.Errorf("%d bytes of the answer were read", n)
						}
					}
				}})
				e := start(t, x, netprobe.Options{})
				if got := e.Look(t.Context(), target); got.Result != tc.want {
					t.Errorf("look says %+v, want %s", got, tc.want)
				}
			})
		})
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		host   string
		expiry time.Duration
		want   fleet.ResultReason
	}{
		"good for the name":    {"www.example.com", time.Hour, fleet.ResultOK},
		"good for the address": {"", time.Hour, fleet.ResultOK},
		"of another name":      {"www.example.org", time.Hour, fleet.ResultTLS},
		"expired":              {"www.example.com", -time.Minute, fleet.ResultTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				target := page("10.0.0.1", 443, policy.HTTPCheck{Scheme: "https", Path: "/", Host: tc.host})
				config, roots := certificate(t, time.Now().Add(tc.expiry), "www.example.com", net.IPv4(10, 0, 0, 1))
				x := probetest.NewTransport()
				x.Script(target.Address, probetest.Answer{Serve: func(conn net.Conn) {
					probetest.Status(http.StatusOK).Serve(tls.Server(conn, config))
				}})
				e := start(t, x, netprobe.Options{Roots: roots})
				if got := e.Look(t.Context(), target); got.Result != tc.want {
					t.Errorf("look says %+v, want %s", got, tc.want)
				}
			})
		})
	}
}

func certificate(t *testing.T, expires time.Time, name string, ip net.IP) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IPAddresses: []net.IP{ip},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: expires,
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		SessionTicketsDisabled: true, // a pipe has no room for unread data
	}, roots
}
