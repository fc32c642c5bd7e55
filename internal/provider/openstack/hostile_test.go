package openstack_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/provider/openstack"
)

// liar is a cloud with some false answers. It also counts requests to other hosts: hale must not send any.
type liar struct {
	*twin
	strangers atomic.Int64
	lists     atomic.Int64 // pages of servers that were asked for
	took      atomic.Int64 // bytes of the endless answer
	at        string       // the end of the paths where it lies
	lie       func(l *liar) said
}

// said is an answer.
type said struct {
	status int
	body   io.Reader
	to     string // where it sends hale
}

func (l *liar) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Host != "twin" {
		l.strangers.Add(1)
	}
	if strings.HasSuffix(q.URL.Path, "/servers/detail") {
		l.lists.Add(1)
	}
	if !strings.HasSuffix(q.URL.Path, l.at) {
		return l.twin.RoundTrip(q)
	}
	a := l.lie(l)
	h := http.Header{"Content-Type": {"application/json"}}
	if a.to != "" {
		h.Set("Location", a.to)
	}
	sent(q)
	return &http.Response{StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(a.body),
		Request: q}, nil
}

// Read is an answer that does not end before 600 MiB.
func (l *liar) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	if l.took.Add(int64(len(p))) > 600<<20 {
		return 0, io.EOF
	}
	return len(p), nil
}

// rewrite writes another clouds.yaml.
func (h harness) rewrite(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(h.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestALyingCloudGetsNothing: wherever its answers lead, no token and no password goes to anybody else, and it can
// make hale neither ask nor read without end.
func TestALyingCloudGetsNothing(t *testing.T) {
	t.Parallel()
	const list = "/servers/detail"
	away := func(*liar) said {
		return said{http.StatusTemporaryRedirect, strings.NewReader(""), "http://stranger/x"}
	}
	says := func(text string) func(*liar) said {
		return func(*liar) said { return said{http.StatusOK, strings.NewReader(text), ""} }
	}
	row := func(id string) string { return fmt.Sprintf(`{"id": %q, "status": "ACTIVE"}`, id) }
	next := `"servers_links": [{"rel": "next", "href": "http://twin/"}]}`
	for name, c := range map[string]struct {
		auth string // the path of auth_url; empty: with its version
		at   string
		lie  func(*liar) said
		says string
	}{
		"Keystone redirects": {at: "/auth/tokens", lie: away, says: "refusing redirect"},
		"Nova redirects":     {at: list, lie: away, says: "refusing redirect"},
		"Keystone's versions are elsewhere": {auth: "/identity", at: "/identity/", lie: says(
			`{"versions": {"values": [{"id": "v3.14", "status": "stable", ` +
				`"links": [{"rel": "self", "href": "http://stranger/v3/"}]}]}}`,
		), says: "refusing a foreign address"},
		"a list without end": {at: list, lie: func(l *liar) said {
			return said{http.StatusOK, io.MultiReader(strings.NewReader(`{"servers": [{"id": "`), l), ""}
		}, says: "refusing an answer of more than"},
		"a refusal without end": {at: list, lie: func(l *liar) said { return said{http.StatusBadRequest, l, ""} },
			says: "not the service's own"},
		"a page that leads to itself": {at: list, lie: says(`{"servers": [` + row("a") + `], ` + next),
			says: "leads in a circle"},
		"ever further pages": {at: list, lie: func(l *liar) said {
			return said{http.StatusOK, strings.NewReader(`{"servers": [` + row(fmt.Sprint(l.lists.Load())) + `], ` +
				next), ""}
		}, says: "does not end within 500 pages"},
		"a page of very many": {at: list, lie: says(`{"servers": [{}` + strings.Repeat(`,{}`, 1_000_000) + `]}`),
			says: "more than 10000 rows"},
		"a server that is none": {at: list, lie: says(`{"servers": [null]}`), says: "a row says nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(*twin) {})
			if c.auth != "" {
				h.rewrite(t, strings.Replace(twinClouds, "/identity/v3", c.auth, 1))
			}
			l := &liar{twin: h.twin, at: c.at, lie: c.lie}
			o := h.options()
			o.Wrap = func(http.RoundTripper) http.RoundTripper { return l }
			p, err := openstack.New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			_, err = p.List(t.Context())
			if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %.300v, want %q", err, c.says)
			}
			if n := l.strangers.Load(); n != 0 {
				t.Errorf("a stranger was asked %d times", n)
			}
			if n := l.took.Load(); n > 100<<20 {
				t.Errorf("%d bytes were read", n)
			}
		})
	}
}

// TestARedirectedOrderIsNoSuccess: its outcome is unknown.
func TestARedirectedOrderIsNoSuccess(t *testing.T) {
	t.Parallel()
	play(t, 1, func(s *scene) {
		s.look(func() {
			s.trouble = func(q *http.Request) effect {
				if strings.HasSuffix(q.URL.Path, "/action") {
					return effect{status: http.StatusPermanentRedirect}
				}
				return effect{}
			}
		})
		s.want("a power off that is sent elsewhere", s.p.PowerOff(s.Context(), s.orders[0].Ref), fault.UnknownOutcome)
	})
}

// TestATokenThatGoesInTheClearIsToldOf, where Keystone itself is asked by TLS: the catalogue is the cloud's own word,
// and is used.
func TestATokenThatGoesInTheClearIsToldOf(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(*twin) {})
	h.rewrite(t, strings.Replace(twinClouds, "http://twin", "https://twin", 1))
	var said strings.Builder
	o := h.options()
	o.Logger = slog.New(slog.NewTextHandler(&said, nil))
	p, err := openstack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.List(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(said.String(), "tokens go in the clear"); n != 4 ||
		!strings.Contains(said.String(), "service=compute") {
		t.Errorf("it is told of %d services:\n%s", n, said.String())
	}
}
