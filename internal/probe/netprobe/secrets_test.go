package netprobe_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
)

// token is a value that must never be seen.
const token = "s3cret-t0ken"

// kept returns a reference to a file with the content, and the file's path.
func kept(t *testing.T, content string) (fleet.Secret, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	write(t, path, content)
	return fleet.Secret{File: path}, path
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// echoes answers with what the request's header says, and keeps the values.
func echoes(heard *[]string, answer func(value string) string) probetest.Answer {
	return probetest.Answer{Serve: func(conn net.Conn) {
		defer conn.Close()
		r, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		*heard = append(*heard, r.Header.Get("Authorization"))
		_, _ = fmt.Fprint(conn, answer(r.Header.Get("Authorization")))
	}}
}

func TestS75AHeadersSecretIsReadForEachProbe(t *testing.T) {
	t.Parallel()
	where, path := kept(t, token+"\n")
	synctest.Test(t, func(t *testing.T) {
		target := page("10.0.0.1", 80, policy.HTTPCheck{
			Path:      "/",
			Headers:   []policy.Header{{Name: "Authorization", Secret: where}},
			Redirects: 1,
		})
		var heard []string
		x := probetest.NewTransport()
		x.Script(target.Address,
			echoes(&heard, func(string) string {
				return "HTTP/1.1 302 x\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"
			}),
			echoes(&heard, func(string) string { return "HTTP/1.1 204 x\r\n\r\n" }))
		e := start(t, x, netprobe.Options{})
		if got := e.Look(t.Context(), target); got.Standing != fleet.StandingUp {
			t.Errorf("look says %+v", got)
		}
		write(t, path, "another")
		if got := e.Look(t.Context(), target); got.Standing != fleet.StandingUp {
			t.Errorf("look with another one says %+v", got)
		}
		if want := []string{token, token, "another"}; !slices.Equal(heard, want) {
			t.Errorf("the page heard %q, want %q", heard, want)
		}
	})
}

func TestS75WhatAPageSaysOfASecretIsNotKept(t *testing.T) {
	t.Parallel()
	where, _ := kept(t, token)
	for name, answer := range map[string]func(string) string{
		"no HTTP at all":  func(v string) string { return "you said " + v + "\r\n\r\n" },
		"a broken header": func(v string) string { return "HTTP/1.1 200 x\r\n" + v + "\r\n\r\n" },
		"a status":        func(v string) string { return "HTTP/1.1 401 " + v + "\r\n\r\n" },
		"a wrong page":    func(v string) string { return "HTTP/1.1 200 x\r\nContent-Length: 12\r\n\r\n" + v },
		"a broken page":   func(v string) string { return "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n" + v },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				target := page("10.0.0.1", 80, policy.HTTPCheck{
					Path:    "/",
					Body:    "passing",
					Headers: []policy.Header{{Name: "Authorization", Secret: where}},
				})
				var heard []string
				x := probetest.NewTransport()
				x.Script(target.Address, echoes(&heard, answer))
				got := start(t, x, netprobe.Options{}).Look(t.Context(), target)
				if got.Standing != fleet.StandingDown || len(heard) == 0 || heard[0] != token {
					t.Errorf("look says %+v, and the page heard %q", got, heard)
				}
				if strings.Contains(fmt.Sprintf("%+v", got), token) {
					t.Errorf("look tells the secret: %+v", got)
				}
			})
		})
	}
}

func TestS75AProgramsSecretIsInItsEnvironmentOnly(t *testing.T) {
	t.Parallel()
	where, _ := kept(t, token)
	e := start(t, network(t), netprobe.Options{})
	for name, tc := range map[string]struct{ script, want string }{
		"it is there": {`test "$TOKEN" = ` + token, "up, ok: "},
		"it is said": {`echo "no entry with $TOKEN"; exit 2`,
			"down, exit: exit code 2: no entry with [secret]"},
		"it is said in full": {`echo "$TOKEN | $TOKEN"`, "up, ok: [secret]"},
		"it is cut at the end of the line that is kept": {
			`printf "%0115d%s" 0 "$TOKEN"; exit 2`, "down, exit: exit code 2: " + strings.Repeat("0", 115) + "[secr…"},
		"it is cut at the end of what is read": {`printf "%4090s%s" "" "$TOKEN"; exit 2`,
			"down, exit: exit code 2: [secret]"},
		"the program is undecided": {`echo "$TOKEN"; exit 3`, "unknown, undecided: [secret]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := script("sh", "-c", tc.script)
			target.Spec.Exec.Env = []policy.Variable{{Name: "TOKEN", Secret: where}}
			s := e.Look(t.Context(), target)
			if got := fmt.Sprintf("%s, %s: %s", s.Standing, s.Result, s.Detail); got != tc.want {
				t.Errorf("look says %q, want %q", got, tc.want)
			}
		})
	}
	t.Run("braces in it are its own, and another one is taken up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			x := probetest.NewTransport()
			e := start(t, x, netprobe.Options{})
			target := script("ask", "{ip}")
			own, ownPath := kept(t, "{name}")
			target.Spec.Exec.Env = []policy.Variable{{Name: "TOKEN", Secret: own}}
			e.Look(t.Context(), target)
			write(t, ownPath, "another")
			e.Look(t.Context(), target)
			var got []string
			for _, p := range x.Programs() {
				got = append(got, p.Env...)
			}
			if want := []string{"TOKEN={name}", "TOKEN=another"}; !slices.Equal(got, want) {
				t.Errorf("ran with %q, want %q", got, want)
			}
		})
	})
}

// TestS75ASecretThatCannotBeReadIsNoFailure: it is our own fault, and the machine is asked nothing.
func TestS75ASecretThatCannotBeReadIsNoFailure(t *testing.T) {
	t.Parallel()
	gone := fleet.Secret{File: filepath.Join(t.TempDir(), "gone-"+token)}
	lines, _ := kept(t, token+"\nmore")
	for name, tc := range map[string]struct {
		where fleet.Secret
		why   string
	}{
		"no file":       {gone, "there is no such file"},
		"several lines": {lines, "the secret has more than one line"},
		"no variable":   {fleet.Secret{Env: "HALE_TEST_NOT_SET"}, "the environment variable is not set"},
		"no place":      {fleet.Secret{File: token}, "it is not an absolute path"},
	} {
		asks := map[string]probe.Target{
			"TOKEN": script("ask", "10.0.0.1"),
			"X-A": page("10.0.0.1", 80, policy.HTTPCheck{
				Path:    "/",
				Headers: []policy.Header{{Name: "X-A", Secret: tc.where}},
			}),
		}
		asks["TOKEN"].Spec.Exec.Env = []policy.Variable{{Name: "TOKEN", Secret: tc.where}}
		for line, target := range asks {
			t.Run(name+" for "+line, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					x := probetest.NewTransport()
					got := start(t, x, netprobe.Options{}).Look(t.Context(), target)
					want := fleet.CheckState{
						Check: target.Check, Standing: fleet.StandingUnknown, Result: fleet.ResultLocal,
						Detail: "the secret of " + line + " cannot be read: " + tc.why,
					}
					if got != want || len(x.Starts(target.Address)) > 0 {
						t.Errorf("look says %+v, want %+v", got, want)
					}
				})
			})
		}
	}
}
