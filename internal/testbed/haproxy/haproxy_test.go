package haproxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"hale/internal/testbed/haproxy"
)

// A machine serves users from when it has a seat until it leaves it.
func TestRequestsGoToWhoHasASeat(t *testing.T) {
	t.Parallel()
	at := machine(t)
	p := haproxy.Start(t, haproxy.Service{Seats: 2, Page: "/", AtOnce: 1})
	answers(t, p, http.StatusServiceUnavailable)
	if err := p.Seat(t.Context(), 2, at); err != nil {
		t.Fatal(err)
	}
	answers(t, p, http.StatusOK)
	if err := p.Leave(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	answers(t, p, http.StatusServiceUnavailable)
	if err := p.Seat(t.Context(), 3, at); err == nil {
		t.Error("there are two seats, and one took the third")
	}
}

// machine serves pages, and returns where.
func machine(t *testing.T) netip.AddrPort {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = fmt.Fprint(w, "ok")
	}))
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

// answers waits until users get answers of this status.
func answers(t *testing.T, p haproxy.Proxy, status int) {
	t.Helper()
	p.AwaitReady(t, func(ctx context.Context) error {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, http.NoBody)
		if err != nil {
			return err
		}
		a, err := (&http.Client{Timeout: time.Second}).Do(q)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		if a.StatusCode != status {
			return fmt.Errorf("it answers %s", a.Status)
		}
		return nil
	})
}
