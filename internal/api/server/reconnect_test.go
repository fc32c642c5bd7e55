package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"hale/api"
	"hale/internal/core/belief"

	"github.com/google/go-cmp/cmp"
)

// A follower whose way to the controller breaks in the middle of a line goes on behind the last event, with the next.
func TestAFollowerGoesOnWhenItsConnectionBreaks(t *testing.T) {
	t.Parallel()
	o := open(t)
	var streams atomic.Int32
	way := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "hale"})
	way.FlushInterval = -1
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", o.socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	way.Transport = transport
	way.ModifyResponse = func(r *http.Response) error {
		if streams.Add(1) < 3 { // the first two break after some bytes
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(r.Body, 400), r.Body}
		}
		return nil
	}
	way.ErrorLog = nil
	front := httptest.NewServer(way)
	t.Cleanup(front.Close)
	for range 6 {
		o.write(verdict("web-1", belief.VerdictHealthy))
	}
	client, err := api.DialServer(api.Server{URL: front.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	var got []uint64
	for e, err := range client.Events(t.Context(), api.EventsQuery{Fleet: "web", From: "0", Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.Seq); len(got) == 6 {
			break
		}
	}
	if diff := cmp.Diff([]uint64{1, 2, 3, 4, 5, 6}, got); diff != "" || streams.Load() < 3 {
		t.Errorf("%d streams: %s", streams.Load(), diff)
	}
}
