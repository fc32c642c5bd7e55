package app_test

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/state"
	"hale/internal/testbed/people"
)

const withPeople = `
providers: {lab: {type: simulated, boot: 100ms, poll: 500ms}}
api:
  listen: "%[1]s"
  openid:
    issuer: %[2]s
    client_id: hale
    client_secret: {file: %[3]s}
    roles: [{group: operators, role: operator, fleets: [web]}, {email: bo@example.org, role: admin}]
fleets:
  web:
    provider: lab
    size: 1
    checks: {page: {http: {}, every: 200ms, timeout: 100ms, down_after: 2, up_after: 1}}
`

// TestAPersonSignsInFromATerminal, through a real provider, and steers hale by the token that they get. Nothing that
// proves who hale is, or who they are, is told or stored.
func TestAPersonSignsInFromATerminal(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	provider := people.Start(t, "http://"+at+"/signin/done")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(people.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, fmt.Sprintf(withPeople, at, provider.Issuer, secret))
	log := &written{}
	o := h.options()
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	stop := h.runs(o)
	h.await("the machine is healthy", healthy)
	said, secrets := &strings.Builder{}, []string{people.Secret}
	for who, c := range map[string]struct{ mayNot string }{
		"ana": {api.CodeForbidden}, "bo": {""},
	} {
		stranger := h.remote(at, "")
		d, err := stranger.BeginSignIn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		provider.Browser(who).Confirm(d.Address, d.Code)
		ticket, err := stranger.AwaitSignIn(t.Context(), d.Handle)
		if err != nil || ticket.Person != who+"@example.org" {
			t.Fatalf("%s: %+v, %v", who, ticket, err)
		}
		terminal := h.remote(at, ticket.Token)
		if s, err := terminal.Status(t.Context()); err != nil || len(s.Fleets) != 1 {
			t.Errorf("%s: %+v, %v", who, s, err)
		}
		if _, err := terminal.Audit(t.Context(), api.AuditQuery{}); (c.mayNot == "") != (err == nil) {
			t.Errorf("%s reads the audit: %v", who, err)
		}
		tokens, err := terminal.Tokens(t.Context())
		if err != nil || len(tokens.Tokens) == 0 {
			t.Errorf("%s: %+v, %v", who, tokens, err)
		}
		fmt.Fprint(said, tokens)
		secrets = append(secrets, ticket.Token[16:])
	}
	stranger := h.remote(at, "")
	d, err := stranger.BeginSignIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	provider.Browser("cy").Confirm(d.Address, d.Code)
	if _, err := stranger.AwaitSignIn(t.Context(), d.Handle); refusedWith(err) != api.CodeForbidden {
		t.Errorf("who has no role: %v", err)
	}
	all, err := h.local().Audit(t.Context(), api.AuditQuery{})
	if err != nil || !strings.Contains(fmt.Sprint(all), "has no role here") {
		t.Errorf("%+v, %v", all, err)
	}
	fmt.Fprint(said, all)
	stop()
	h.inStore(func(s state.Store) error {
		entries, _, err := s.List(t.Context(), "")
		fmt.Fprint(said, entries)
		return err
	})
	for i, secret := range secrets {
		if strings.Contains(log.String()+said.String(), secret) {
			t.Errorf("secret %d is told or stored", i)
		}
	}
}
