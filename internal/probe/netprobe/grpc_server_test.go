package netprobe_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe/netprobe"
)

// serveGRPC runs gRPC's own server until the test ends. Orders serve, stock does not.
func serveGRPC(t *testing.T, options ...grpc.ServerOption) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, h := grpc.NewServer(options...), health.NewServer()
	h.SetServingStatus("shop.v1.Orders", grpc_health_v1.HealthCheckResponse_SERVING)
	h.SetServingStatus("shop.v1.Stock", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	grpc_health_v1.RegisterHealthServer(server, h)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		<-ended
	})
	return portOf(t, l.Addr().String())
}

func asksHealth(c policy.GRPCCheck) policy.Check {
	return policy.Check{Kind: policy.CheckGRPC, GRPC: c}
}

func TestGRPCOnLoopback(t *testing.T) {
	t.Parallel()
	e := start(t, network(t), netprobe.Options{})
	tell(t, e, serveGRPC(t), map[string]story{
		"as a whole": {asksHealth(policy.GRPCCheck{}), fleet.ResultOK, ""},
		"one that serves": {asksHealth(policy.GRPCCheck{Service: "shop.v1.Orders", Host: "orders.example.org"}),
			fleet.ResultOK, ""},
		"one that does not": {asksHealth(policy.GRPCCheck{Service: "shop.v1.Stock"}), fleet.ResultStatus,
			"NOT_SERVING"},
		"an unknown one": {asksHealth(policy.GRPCCheck{Service: "shop.v1.Cart"}), fleet.ResultStatus,
			"NOT_FOUND: the server does not know the service"},
		"it speaks no TLS": {asksHealth(policy.GRPCCheck{Secure: true, TLS: policy.TLSCheck{Insecure: true}}),
			fleet.ResultTLS, "tls: "},
	})
	tell(t, e, closedPort(t), map[string]story{
		"it is not there": {asksHealth(policy.GRPCCheck{}), fleet.ResultRefused, ""},
	})
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	tell(t, e, portOf(t, web.Listener.Addr().String()), map[string]story{
		"a web server": {asksHealth(policy.GRPCCheck{}), fleet.ResultProtocol, ""},
	})
	rude := listen(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1))
	})
	tell(t, e, rude, map[string]story{"hangs up": {asksHealth(policy.GRPCCheck{}), fleet.ResultRefused, ""}})
}

// TestGRPCOverTLS: the handshake is that of an https check, and offers HTTP/2.
func TestGRPCOverTLS(t *testing.T) {
	t.Parallel()
	// An HTTP server of the library's own brings a certificate for example.com and 127.0.0.1.
	lender := httptest.NewUnstartedServer(http.NotFoundHandler())
	lender.StartTLS()
	t.Cleanup(lender.Close)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw}))
	port := serveGRPC(t,
		grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: lender.TLS.Certificates,
			MinVersion:   tls.VersionTLS12,
		})))
	left := int(time.Until(lender.Certificate().NotAfter).Hours() / 24)
	check := func(service, host string, demand policy.TLSCheck) policy.Check {
		return asksHealth(policy.GRPCCheck{Service: service, Host: host, Secure: true, TLS: demand})
	}
	e := start(t, network(t), netprobe.Options{Roots: x509.NewCertPool()})
	tell(t, e, port, map[string]story{
		"as it should be":   {check("", "example.com", policy.TLSCheck{CA: own, Days: left - 1}), fleet.ResultOK, ""},
		"with a port":       {check("", "example.com:8443", policy.TLSCheck{CA: own}), fleet.ResultOK, ""},
		"by its address":    {check("", "", policy.TLSCheck{CA: own}), fleet.ResultOK, ""},
		"it does not serve": {check("shop.v1.Stock", "", policy.TLSCheck{CA: own}), fleet.ResultStatus, "NOT_SERVING"},
		"any certificate":   {check("", "example.net", policy.TLSCheck{Insecure: true}), fleet.ResultOK, ""},
		"no authority for it": {check("", "example.com", policy.TLSCheck{}), fleet.ResultTLS,
			"tls: failed to verify certificate"},
		"for another name": {check("", "example.net", policy.TLSCheck{CA: own}), fleet.ResultTLS,
			"tls: failed to verify certificate"},
		"not long enough": {check("", "example.com", policy.TLSCheck{CA: own, Days: left + 1}), fleet.ResultTLS,
			"the certificate ends in "},
	})
	old := listen(t, func(conn net.Conn) {
		_ = tls.Server(conn, &tls.Config{
			Certificates: lender.TLS.Certificates,
			MinVersion:   tls.VersionTLS12,
		}).HandshakeContext(t.Context())
	})
	tell(t, e, old, map[string]story{
		"a server without HTTP/2": {check("", "example.com", policy.TLSCheck{CA: own}), fleet.ResultTLS,
			"the server does not offer HTTP/2"},
	})
}

// TestHealthLeavesNothingBehind: not even where the server hangs, or is another one.
func TestHealthLeavesNothingBehind(t *testing.T) { //nolint:paralleltest // it counts goroutines
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	e := start(t, network(t), netprobe.Options{})
	hanging := listen(t, func(conn net.Conn) {
		for b := make([]byte, 1024); ; {
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
	})
	deaf := listen(t, func(net.Conn) { <-t.Context().Done() })
	healthy := serveGRPC(t)
	for port, want := range map[int]fleet.ResultReason{
		healthy: fleet.ResultOK,
		hanging: fleet.ResultTimeout,
		deaf:    fleet.ResultTimeout,
	} {
		target := asked(port, asksHealth(policy.GRPCCheck{}))
		target.Spec.Timeout = 100 * time.Millisecond
		if want == fleet.ResultOK {
			target.Spec.Timeout = 4 * time.Second
		}
		if got := e.Look(t.Context(), target); got.Result != want {
			t.Errorf("look says %s (%s), want %s", got.Result, got.Detail, want)
		}
	}
}
