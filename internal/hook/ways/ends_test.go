package ways_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/program"
	"hale/internal/program/programtest"
)

// soon is all the time that a hook has which misbehaves.
const soon = 300 * time.Millisecond

// most is the most that is kept of what a hook says, in bytes.
const most = 32 << 10

// A command ends however it behaves, and what it left running ends with it.
func TestACommandEndsHoweverItBehaves(t *testing.T) {
	t.Parallel()
	left := filepath.Join(t.TempDir(), "late")
	for name, c := range map[string]struct {
		text string
		code int
		kind fault.Kind
		says string
	}{
		"it fails": {"echo no such pool; exit 3", 3, "", "no such pool"},
		"it hangs": {"echo begun; sleep 600", 0, fault.Permanent, "begun"},
		"it floods, and has no end": {"while :; do echo 0123456789012345678901234567890123456789; done", 0,
			fault.Permanent, "left out"},
		"it says that it failed, too": {"echo done; echo failed >&2", 0, "", "failed"}, // only how it ends counts
		"it is killed":                {"kill -9 $$", -1, "", ""},
		"it goes on in the background": {"(sleep 600; touch " + left + ") & exit 0", 0, "",
			""},
		"it is done after its deadline": {"trap 'touch " + left + "; exit 0' TERM; sleep 600 & wait", 0,
			fault.Permanent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			script := programtest.Script(t, "drain", c.text)
			r, err := here.Run(ctx, errand(policy.Hook{Kind: policy.HookCommand,
				Run: policy.Command{Args: []string{script}}}))
			if fault.KindOf(err) != c.kind || err == nil && r.Code != c.code || !strings.Contains(r.Output, c.says) {
				t.Errorf("it ends with %d, %v: %.200s", r.Code, err, r.Output)
			}
			if len(r.Output) > most {
				t.Errorf("%d bytes are kept", len(r.Output))
			}
			if _, err := os.Stat(left); err == nil {
				t.Error("what it began lives on")
			}
		})
	}
}

// A request ends however its receiver behaves: only what came in time counts, and of it the first answer. Of what did
// not come it is unknown whether it was done.
func TestARequestEndsHoweverItsReceiverBehaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(conn net.Conn)
		kind   fault.Kind
	}{
		"it hangs": {func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, fault.UnknownOutcome},
		"it fails": {answers("HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n"), fault.UnknownOutcome},
		"it floods": {func(conn net.Conn) {
			_, err := io.WriteString(conn, "HTTP/1.1 200 yes\r\nContent-Length: 99999999999\r\n\r\n")
			for page := strings.Repeat("all is well ", 1000); err == nil; {
				_, err = io.WriteString(conn, page)
			}
		}, ""},
		"it floods its head": {func(conn net.Conn) {
			_, err := io.WriteString(conn, "HTTP/1.1 200 yes\r\n")
			for head := "X-More: " + strings.Repeat("more ", 1000) + "\r\n"; err == nil; {
				_, err = io.WriteString(conn, head)
			}
		}, fault.UnknownOutcome},
		"it answers twice": {answers("HTTP/1.1 200 yes\r\nContent-Length: 0\r\n\r\n" +
			"HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n"), ""},
		"it says no and then yes": {answers("HTTP/1.1 409 no\r\nContent-Length: 0\r\n\r\n" +
			"HTTP/1.1 200 yes\r\nContent-Length: 0\r\n\r\n"), fault.Permanent},
		"it says no HTTP":  {answers("all is well\r\n\r\n"), fault.UnknownOutcome},
		"it hangs up":      {answers(""), fault.UnknownOutcome},
		"it breaks a yes":  {answers("HTTP/1.1 200 yes\r\nContent-Length: 10\r\n\r\nye"), ""},
		"it answers later": {func(conn net.Conn) { late(conn) }, fault.UnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			r, err := here.Run(ctx, errand(policy.Hook{Kind: policy.HookHTTP, Request: policy.HookRequest{
				URL: policy.Variable{Value: "http://" + receiver(t, c.answer)}}}))
			if fault.KindOf(err) != c.kind {
				t.Errorf("it ends with %v", err)
			}
			if len(r.Output) > most {
				t.Errorf("%d bytes are kept", len(r.Output))
			}
		})
	}
}

// late answers when the caller has given up.
func late(conn net.Conn) {
	_, _ = io.Copy(io.Discard, conn)
	_, _ = io.WriteString(conn, "HTTP/1.1 200 yes\r\nContent-Length: 0\r\n\r\n")
}

// answers reads a request's head, and writes what it is to say.
func answers(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, text)
	}
}

// receiver has each connection answered, and returns where.
func receiver(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				answer(conn)
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// What lacks a secret is not begun, whichever way it is done, and where that is kept is not said.
func TestWhatLacksASecretIsNotBegun(t *testing.T) {
	t.Parallel()
	none := fleet.Secret{File: filepath.Join(t.TempDir(), "none")}
	reached := false
	to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(to.Close)
	for name, h := range map[string]policy.Hook{
		"a command": {Kind: policy.HookCommand, Run: policy.Command{Args: []string{"true"},
			Env: []policy.Variable{{Name: "TOKEN", Secret: none}}}},
		"an address": {Kind: policy.HookHTTP, Request: policy.HookRequest{URL: policy.Variable{Secret: none}}},
		"a header": {Kind: policy.HookHTTP, Request: policy.HookRequest{URL: policy.Variable{Value: to.URL},
			Headers: []policy.Header{{Name: "Authorization", Secret: none}}}},
		"a playbook's key": {Kind: policy.HookAnsible, Playbook: policy.Playbook{Path: "site.yaml",
			Login: policy.Login{Key: none.File}}},
		"the key to copy": {Kind: policy.HookCopy, Copy: policy.Copying{Login: policy.Login{Key: none.File}}},
	} {
		_, err := here.Run(t.Context(), errand(h))
		if !errors.As(err, new(program.NoSecret)) || strings.Contains(err.Error(), none.File) {
			t.Errorf("%s: it says %v", name, err)
		}
	}
	if reached {
		t.Error("a request was sent without its secret")
	}
}
