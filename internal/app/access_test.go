package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/api"
	"hale/internal/state"
)

// open is a small fleet with its API on the network.
const open = `
providers: {lab: {type: simulated, boot: 100ms, poll: 500ms}}
api: {listen: "%s", second_person: [brake-off, delete]}
fleets:
  web:
    provider: lab
    size: 1
    checks: {page: {http: {}, every: 200ms, timeout: 100ms, down_after: 2, up_after: 1}}
`

// log is what hale writes, safe for a reader meanwhile.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// reachable is a house with its API at the address.
func reachable(t *testing.T) (h *house, at string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at = l.Addr().String()
	l.Close()
	return newHouse(t, fmt.Sprintf(open, at)), at
}

func (h *house) local() *api.Client {
	c := api.Dial(h.socket)
	h.t.Cleanup(c.Close)
	return c
}

// bearer makes a token for the person, and returns it with a client that shows it.
func (h *house) bearer(at, person, role string) (string, *api.Client) {
	h.t.Helper()
	made, err := h.local().MakeToken(h.t.Context(), api.TokenRequest{
		Name: "laptop", Person: person, Role: role, For: api.Duration(time.Hour),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return made.Text, h.remote(at, made.Text)
}

func (h *house) remote(at, token string) *api.Client {
	h.t.Helper()
	c, err := api.DialServer(api.Server{URL: "http://" + at, Token: token})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

func refusedWith(err error) string {
	var p api.Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return fmt.Sprint(err)
}

// TestALaptopSteersHale by a token: what it does is in the audit with its person, and the token is nowhere.
func TestALaptopSteersHale(t *testing.T) {
	t.Parallel()
	h, at := reachable(t)
	log := &written{}
	o := h.options()
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	stop := h.runs(o)
	h.await("the machine is healthy", healthy)
	text, laptop := h.bearer(at, "ana@example.org", "operator")
	if s, err := laptop.Status(t.Context()); err != nil || len(s.Fleets) != 1 {
		t.Fatal(s, err)
	}
	done, err := laptop.Order(t.Context(), api.OrderRequest{
		Kind: "hold", Subjects: []string{"web-1"}, Reason: "test", For: api.Duration(time.Hour),
		Wait: api.Duration(10 * time.Second),
	})
	if err != nil || done.Orders[0].State != api.OrderTaken || !strings.Contains(done.Orders[0].By, "ana@example.org") {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := laptop.Reload(t.Context()); refusedWith(err) != api.CodeForbidden {
		t.Errorf("an operator reloads: %v", err)
	}
	if _, err := laptop.Audit(t.Context(), api.AuditQuery{}); refusedWith(err) != api.CodeForbidden {
		t.Errorf("an operator reads the audit: %v", err)
	}
	if _, err := h.remote(at, "").Status(t.Context()); refusedWith(err) != api.CodeUnauthenticated {
		t.Errorf("without a token: %v", err)
	}
	all, err := h.local().Audit(t.Context(), api.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%+v", all)
	for _, want := range []string{"order", "hold", "web-1", "ana@example.org", "127.0.0.1", "reload", "make-token", "refused"} {
		if !strings.Contains(said, want) {
			t.Errorf("the audit lacks %s: %s", want, said)
		}
	}
	tokens, err := laptop.Tokens(t.Context())
	if err != nil || len(tokens.Tokens) != 1 {
		t.Fatalf("%+v, %v", tokens, err)
	}
	if _, err := laptop.Revoke(t.Context(), tokens.Tokens[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := laptop.Status(t.Context()); refusedWith(err) != api.CodeUnauthenticated {
		t.Errorf("with a token that was revoked: %v", err)
	}
	said += h.scraped()
	stop()
	secret := text[len("hale_")+11:]
	h.inStore(func(s state.Store) error {
		entries, _, err := s.List(t.Context(), "")
		for _, e := range entries {
			if strings.Contains(e.Key+string(e.Value), secret) {
				t.Errorf("%s has the token", e.Key)
			}
		}
		return err
	})
	if strings.Contains(log.String()+said+fmt.Sprintf("%+v", tokens), secret) {
		t.Error("the log, the audit, the metrics or the list has the token")
	}
}

// scraped is what monitoring sees.
func (h *house) scraped() string {
	h.t.Helper()
	q, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://hale/metrics", http.NoBody)
	if err != nil {
		h.t.Fatal(err)
	}
	said, err := h.onSocket().Do(q)
	if err != nil {
		h.t.Fatal(err)
	}
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	if err != nil || !strings.Contains(string(text), "hale_machines{") {
		h.t.Errorf("%v: %s", err, text)
	}
	return string(text)
}

// TestTwoPeopleTakeTheBrakeOff: what one asked for outlives a restart, and is done when the other one agrees, once.
func TestTwoPeopleTakeTheBrakeOff(t *testing.T) {
	t.Parallel()
	h, at := reachable(t)
	stop := h.run()
	h.await("the machine is healthy", healthy)
	_, ana := h.bearer(at, "ana", "operator")
	_, again := h.bearer(at, "Ana", "operator")
	_, bo := h.bearer(at, "bo", "operator")
	_, viewer := h.bearer(at, "cy", "viewer")
	wait := api.Duration(10 * time.Second)
	if _, err := ana.Order(t.Context(), api.OrderRequest{Kind: "brake-on", Subjects: []string{"web"}, Wait: wait}); err != nil {
		t.Fatal(err)
	}
	_, err := ana.Order(t.Context(), api.OrderRequest{Kind: "brake-off", Subjects: []string{"web"}, Wait: wait, Reason: "over"})
	var held api.Problem
	if !errors.As(err, &held) || held.Code != api.CodeSecondPerson || held.Waits == "" {
		t.Fatalf("%+v", err)
	}
	h.await("the brake stays on", func(f api.Fleet) bool { return f.Brake.Engaged })
	stop()
	h.run()
	h.await("the brake is on after a restart", func(f api.Fleet) bool { return f.Brake.Engaged })
	for who, c := range map[string]*api.Client{"ana": ana, "ana by another token": again, "a viewer": viewer} {
		if _, err := c.Agree(t.Context(), held.Waits); refusedWith(err) != api.CodeForbidden {
			t.Errorf("%s agrees: %v", who, err)
		}
	}
	all, err := bo.Acts(t.Context())
	if err != nil || len(all.Acts) != 1 || !strings.Contains(all.Acts[0].Body, `"over"`) || all.Acts[0].Standing != "waits" {
		t.Fatalf("%+v, %v", all, err)
	}
	got, err := bo.Agree(t.Context(), held.Waits)
	if err != nil || got.Status != http.StatusOK || !strings.Contains(string(got.Answer), "agreed by bo") {
		t.Fatalf("%+v, %s, %v", got, got.Answer, err)
	}
	h.await("the brake is off", func(f api.Fleet) bool { return !f.Brake.Engaged })
	if _, err := bo.Agree(t.Context(), held.Waits); refusedWith(err) != api.CodeRefused {
		t.Errorf("it is agreed to twice: %v", err)
	}
	off := api.OrderRequest{Kind: "brake-off", Subjects: []string{"web"}, Wait: wait}
	if _, err := h.local().Order(t.Context(), off); refusedWith(err) != api.CodeSecondPerson {
		t.Errorf("at the machine: %v", err)
	}
	here := h.local()
	here.Alone()
	if _, err := here.Order(t.Context(), off); err != nil {
		t.Errorf("at the machine, alone: %v", err)
	}
	far := ana
	far.Alone()
	if _, err := far.Order(t.Context(), off); refusedWith(err) != api.CodeSecondPerson {
		t.Errorf("from afar, alone: %v", err)
	}
}

// healthy reports whether all of the fleet is.
func healthy(f api.Fleet) bool {
	return len(f.Machines) > 0 && f.Machines[0].Verdict == "healthy"
}
