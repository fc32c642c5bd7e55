// Package haproxy starts a private HAProxy, of the system's packages, before the machines of a fleet, for tests.
//
// It promises that it listens on loopback only, at ports of its own, and ends with the test or its process. It has as
// many seats as the fleet may have machines; at first all of them are empty. Its own metrics are Prometheus's.
package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hale/internal/testbed/daemon"
	"hale/internal/testbed/nettest"
)

// Service is what is served at every machine.
type Service struct {
	Seats int    // for so many machines
	Page  string // that HAProxy asks for, to know whether a machine serves
	// AtOnce is how many requests one machine gets at a time; more of them wait.
	AtOnce int
}

// Proxy is a HAProxy.
type Proxy struct {
	*daemon.Daemon
	// URL is where users come in. Metrics is the host:port of its own metrics.
	URL, Metrics string
	orders       string // the socket that takes them
}

// Query is the rate of users' requests per second, over so many seconds, as Prometheus is asked for it.
func Query(seconds int) string {
	return fmt.Sprintf(`sum(rate(haproxy_frontend_http_requests_total{proxy="users"}[%ds]))`, seconds)
}

// A machine that breaks off, or does not answer, costs the requests that are at it; what waits goes elsewhere. A new
// one gets its share with the first check that it passes.
const config = `global
  maxconn 1000
  nbthread 1
  stats socket %s mode 600 level admin
defaults
  mode http
  timeout client 5s
  timeout connect 500ms
  timeout server 2s
  timeout queue 2s
  retries 3
  option redispatch 1
frontend users
  bind %s
  default_backend machines
frontend metrics
  bind %s
  http-request use-service prometheus-exporter
backend machines
  balance leastconn
  option httpchk GET %s
  server-template seat %d 0.0.0.0:80 check inter 500ms fall 2 rise 1 maxconn %d disabled
`

// Start starts a HAProxy, and waits until it takes orders.
func Start(t testing.TB, s Service) Proxy {
	t.Helper()
	dir, users := t.TempDir(), nettest.Free(t)
	p := Proxy{URL: "http://" + users, Metrics: nettest.Free(t), orders: socket(t)}
	file := filepath.Join(dir, "haproxy.cfg")
	text := fmt.Sprintf(config, p.orders, users, p.Metrics, s.Page, s.Seats, s.AtOnce)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Daemon = daemon.Start(t, dir, daemon.Installed(t, "haproxy"), "-db", "-f", file)
	p.AwaitReady(t, func(ctx context.Context) error { return p.order(ctx, "show info") })
	return p
}

// socket is a short path, as sockets need one.
func socket(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "haproxy-") //nolint:usetesting // a test's own folder has too long a name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left of it does no harm
	return filepath.Join(dir, "sock")
}

// Seat has requests go to the address, from seat n on. Seats are counted from 1.
func (p Proxy) Seat(ctx context.Context, n int, at netip.AddrPort) error {
	return errors.Join(
		p.order(ctx, fmt.Sprintf("set server machines/seat%d addr %s port %d", n, at.Addr(), at.Port())),
		p.order(ctx, fmt.Sprintf("set server machines/seat%d state ready", n)),
	)
}

// Leave empties seat n: requests that are there are answered, others go elsewhere.
func (p Proxy) Leave(ctx context.Context, n int) error {
	return p.order(ctx, fmt.Sprintf("set server machines/seat%d state maint", n))
}

// order gives one order; what HAProxy does not take, it says.
func (p Proxy) order(ctx context.Context, text string) error {
	said, err := ask(ctx, p.orders, text)
	if err != nil {
		return err
	}
	if strings.HasPrefix(text, "set ") && !taken(said) {
		return fmt.Errorf("haproxy: %s: %s", text, strings.TrimSpace(said))
	}
	return nil
}

// ask gives one command at the socket, and returns the answer.
func ask(ctx context.Context, socket, command string) (string, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if _, err := fmt.Fprintln(c, command); err != nil {
		return "", err
	}
	said, err := io.ReadAll(c)
	return string(said), err
}

// taken reports whether HAProxy's answer to an order is silence, or what it says of an address.
func taken(said string) bool {
	said = strings.TrimSpace(said)
	return said == "" || strings.HasPrefix(said, "IP changed") || strings.HasPrefix(said, "no need to change") ||
		strings.HasPrefix(said, "port changed")
}
