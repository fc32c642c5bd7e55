package netprobe_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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

// site is a server with what the pages of this test need.
func site(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	page("/passing", `{"checks": 3, "status": "passing"}`)
	page("/warning", `{"checks": 3, "status": "warning"}`)
	page("/late", strings.Repeat("x", 60<<10)+"passing")
	page("/too-late", strings.Repeat("x", 64<<10)+"passing")
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "passing, and more to come\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "pass")
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscan(r.PathValue("code"), &code)
		w.WriteHeader(code)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("there"))
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/asked", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Probe") != "hale" || r.UserAgent() != "monitor/1" {
			t.Errorf("asked with %v", r.Header)
		}
		_, _ = io.WriteString(w, r.Method)
	})
	return mux
}

// TestPages asks a real server in all the ways that a check can ask for (S44: a pattern in the page).
func TestPages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(site(t))
	t.Cleanup(server.Close)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("it went where it was sent")
	}))
	t.Cleanup(elsewhere.Close)
	port := portOf(t, server.Listener.Addr().String())
	e := start(t, network(t), netprobe.Options{})
	only := func(codes ...int) (out []policy.StatusRange) {
		for _, c := range codes {
			out = append(out, policy.StatusRange{First: c, Last: c})
		}
		return out
	}
	headers := []policy.Header{{Name: "User-Agent", Value: "monitor/1"}, {Name: "X-Probe", Value: "hale"}}
	ok := fleet.ResultOK
	for name, tc := range map[string]struct {
		check  policy.HTTPCheck
		want   fleet.ResultReason
		detail string
	}{
		"the pattern is there": {policy.HTTPCheck{Path: "/passing", Body: `"status": *"passing"`}, ok, ""},
		"it is not": {policy.HTTPCheck{Path: "/warning", Body: `"status": *"passing"`},
			fleet.ResultBody, "the pattern is not in it"},
		"far down": {policy.HTTPCheck{Path: "/late", Body: "passing"}, ok, ""},
		"too far down": {policy.HTTPCheck{Path: "/too-late", Body: "passing"}, fleet.ResultBody,
			"the pattern is not in it"},
		"a page without end": {policy.HTTPCheck{Path: "/endless", Body: "passing"}, ok, ""},
		"a page without end, without it": {policy.HTTPCheck{Path: "/endless", Body: "failing"}, fleet.ResultTimeout,
			""},
		"a page that breaks off": {policy.HTTPCheck{Path: "/cut", Body: "passing"}, fleet.ResultProtocol,
			"unexpected EOF"},
		"an answer that is wanted": {policy.HTTPCheck{Path: "/status/401", Status: only(200, 401)}, ok, ""},
		"one that is not": {policy.HTTPCheck{Path: "/status/204", Status: only(200, 401)},
			fleet.ResultStatus, "204"},
		"a class": {policy.HTTPCheck{Path: "/status/404", Status: []policy.StatusRange{{First: 400, Last: 499}}},
			ok, ""},
		"the wrong status comes first": {policy.HTTPCheck{Path: "/status/500", Body: "passing"}, fleet.ResultStatus,
			"500"},
		"HEAD":                          {policy.HTTPCheck{Path: "/passing", Method: "HEAD"}, ok, ""},
		"headers":                       {policy.HTTPCheck{Path: "/asked", Headers: headers, Body: "^GET$"}, ok, ""},
		"a redirect":                    {policy.HTTPCheck{Path: "/to?there=/passing"}, fleet.ResultStatus, "302"},
		"a redirect that is the answer": {policy.HTTPCheck{Path: "/to?there=/passing", Status: only(302)}, ok, ""},
		"followed": {policy.HTTPCheck{Path: "/to?there=/passing", Redirects: 1, Body: "passing"},
			ok, ""},
		"followed by name": {
			policy.HTTPCheck{Path: fmt.Sprintf("/to?there=http://127.0.0.1:%d/passing", port), Redirects: 1}, ok, "",
		},
		"twice": {policy.HTTPCheck{Path: "/to?there=/to?there=/passing", Redirects: 2}, ok, ""},
		"twice, once too often": {policy.HTTPCheck{Path: "/to?there=/to?there=/passing", Redirects: 1},
			fleet.ResultStatus, "one redirect too many"},
		"in a circle": {policy.HTTPCheck{Path: "/to?there=", Redirects: 3}, fleet.ResultStatus, "302"},
		"to another port": {policy.HTTPCheck{Path: "/to?there=" + elsewhere.URL, Redirects: 3}, fleet.ResultStatus,
			"302, and it leads elsewhere"},
		"to another host": {policy.HTTPCheck{Path: "/to?there=http://example.org/", Redirects: 3},
			fleet.ResultStatus, "302, and it leads elsewhere"},
		"to another protocol": {policy.HTTPCheck{Path: "/to?there=ftp://127.0.0.1/", Redirects: 3}, fleet.ResultStatus,
			"302, and it leads elsewhere"},
		"with a password": {
			policy.HTTPCheck{Path: fmt.Sprintf("/to?there=http://a:b@127.0.0.1:%d/passing", port), Redirects: 3},
			fleet.ResultStatus, "302, and it leads elsewhere",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := page("127.0.0.1", port, tc.check)
			if tc.want != fleet.ResultTimeout {
				target.Spec.Timeout = 4 * time.Second
			}
			if got := e.Look(t.Context(), target); got.Result != tc.want || got.Detail != tc.detail {
				t.Errorf("look says %s (%s), want %s (%s)", got.Result, got.Detail, tc.want, tc.detail)
			}
		})
	}
}

// TestARedirectToHTTPSIsFollowedAndNoneBack: the machine's own certificate counts there, and plain text is never gone
// back to.
func TestARedirectToHTTPSIsFollowedAndNoneBack(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(site(t))
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(site(t))
	t.Cleanup(plain.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	e := start(t, network(t), netprobe.Options{Roots: roots})
	look := func(scheme, port, to string) fleet.CheckState {
		target := page("127.0.0.1", portOf(t, port), policy.HTTPCheck{
			Scheme:    scheme,
			Host:      "example.com",
			Path:      "/to?there=" + to,
			Redirects: 1,
		})
		target.Spec.Timeout = 4 * time.Second
		return e.Look(t.Context(), target)
	}
	_, securePort, _ := net.SplitHostPort(secure.Listener.Addr().String())
	_, plainPort, _ := net.SplitHostPort(plain.Listener.Addr().String())
	if got := look("http", plain.Listener.Addr().String(),
		"https://example.com:"+securePort+"/passing"); got.Result != fleet.ResultOK {
		t.Errorf("to https: %+v", got)
	}
	if got := look("https", secure.Listener.Addr().String(),
		"http://example.com:"+plainPort+"/passing"); got.Detail != "302, and it leads elsewhere" {
		t.Errorf("back to http: %+v", got)
	}
}

// TestOwnAuthority: a check may name the certificate that it trusts, or trust any, and say how long it must last.
func TestOwnAuthority(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(site(t))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it hears of refused certificates
	server.StartTLS()
	t.Cleanup(server.Close)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	left := int(time.Until(server.Certificate().NotAfter).Hours() / 24)
	e := start(t, network(t), netprobe.Options{Roots: x509.NewCertPool()})
	for name, tc := range map[string]struct {
		tls  policy.TLSCheck
		host string
		want fleet.ResultReason
	}{
		"no authority vouches for it": {policy.TLSCheck{}, "example.com", fleet.ResultTLS},
		"the check does":              {policy.TLSCheck{CA: own}, "example.com", fleet.ResultOK},
		"for another name":            {policy.TLSCheck{CA: own}, "example.net", fleet.ResultTLS},
		"any certificate will do":     {policy.TLSCheck{Insecure: true}, "example.net", fleet.ResultOK},
		"it lasts":                    {policy.TLSCheck{CA: own, Days: left - 1}, "example.com", fleet.ResultOK},
		"not long enough":             {policy.TLSCheck{CA: own, Days: left + 1}, "example.com", fleet.ResultTLS},
		"any, but not so short": {policy.TLSCheck{Insecure: true, Days: left + 1}, "example.net",
			fleet.ResultTLS},
		"an authority that is no PEM": {policy.TLSCheck{CA: "-"}, "example.com", fleet.ResultLocal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := page("127.0.0.1", portOf(t, server.Listener.Addr().String()), policy.HTTPCheck{
				Scheme: "https",
				Host:   tc.host,
				Path:   "/passing",
				TLS:    tc.tls,
			})
			target.Spec.Timeout = 4 * time.Second
			got := e.Look(t.Context(), target)
			if got.Result != tc.want {
				t.Errorf("look says %+v, want %s", got, tc.want)
			}
			if tc.tls.Days > left &&
				!strings.HasPrefix(got.Detail, fmt.Sprintf("the certificate ends in %d days, on ", left)) {
				t.Errorf("detail %q", got.Detail)
			}
		})
	}
}

// S44: an unreachable page counts neither way when the check says so; once connected, everything counts.
func TestS44NoConnectionCanBeIgnored(t *testing.T) {
	t.Parallel()
	hang := probetest.Answer{Serve: func(conn net.Conn) {
		defer conn.Close()
		_, _ = io.Copy(io.Discard, conn)
	}}
	for name, tc := range map[string]struct {
		answer           probetest.Answer
		counted, ignored string
	}{
		"refused":           {probetest.Answer{Err: refused}, "down refused ", "unknown not-connected refused"},
		"no answer":         {probetest.Silent(), "down timeout ", "unknown not-connected timeout"},
		"connected, silent": {hang, "down timeout ", "down timeout "},
		"an error page":     {probetest.Status(503), "down status 503", "down status 503"},
		"our own fault": {probetest.Answer{Err: probe.LocalError{Err: io.ErrShortWrite}},
			"unknown local short write", "unknown local short write"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x := probetest.NewTransport()
				e := start(t, x, netprobe.Options{})
				target := page("10.0.0.1", 80, policy.HTTPCheck{})
				x.Script(target.Address, tc.answer)
				for ignored, want := range map[policy.NoConnection]string{
					"":                        tc.counted,
					policy.NoConnectionIgnore: tc.ignored,
				} {
					spec := *target.Spec
					spec.HTTP.NoConnection = ignored
					target.Spec = &spec
					s := e.Look(t.Context(), target)
					got := fmt.Sprintf("%s %s %s", s.Standing, s.Result, s.Detail)
					if !strings.HasPrefix(got, strings.TrimSuffix(want, " ")) {
						t.Errorf("no_connection %q: %s, want %s", ignored, got, want)
					}
				}
			})
		})
	}
}
