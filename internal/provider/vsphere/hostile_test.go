package vsphere_test

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/provider/vsphere"
)

// quiet starts a server over TLS that says nothing of refused connections, and returns how it is reached.
func quiet(t *testing.T, h http.HandlerFunc) vsphere.Options {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return vsphere.Options{URL: server.URL + "/sdk", User: "u", Password: password(t), Roots: roots, Datacenter: "DC0"}
}

// TestALyingVCenterGetsNothing: it is not followed elsewhere, and read only so far.
func TestALyingVCenterGetsNothing(t *testing.T) {
	t.Parallel()
	var strangers, wrote atomic.Int64
	stranger := quiet(t, func(http.ResponseWriter, *http.Request) { strangers.Add(1) })
	chunk := []byte(strings.Repeat("x", 64<<10))
	for says, lie := range map[string]http.HandlerFunc{
		"refusing redirect": func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, stranger.URL, http.StatusTemporaryRedirect)
		},
		"refusing an answer of more than": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w,
				`<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>`+
					`<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval><rootFolder>`)
			for wrote.Load() < 600<<20 {
				n, err := w.Write(chunk)
				if wrote.Add(int64(n)); err != nil {
					return
				}
			}
		},
	} {
		o := quiet(t, lie)
		o.Unverified = true // a stranger's certificate must not be what saves it
		p, err := vsphere.New(o)
		must(t, err)
		_, err = p.List(t.Context())
		must(t, p.Close())
		if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	if n := strangers.Load(); n != 0 {
		t.Errorf("a stranger was asked %d times", n)
	}
	if n := wrote.Load(); n > 200<<20 {
		t.Errorf("%d bytes of one answer were taken", n)
	}
}
