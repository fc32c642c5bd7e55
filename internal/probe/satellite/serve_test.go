package satellite

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/internal/defect"
	"hale/internal/secret"
)

// hubOf is a hub with the satellites ams and fra, whose tokens are their names doubled; osl's cannot be read.
func hubOf(t *testing.T, place Place) *Hub {
	t.Helper()
	tokens := map[string]secret.Secret{}
	for _, name := range []string{"ams", "fra", "osl"} {
		path := filepath.Join(t.TempDir(), name)
		of, err := secret.File(path)
		if err == nil && name != "osl" {
			err = os.WriteFile(path, []byte(name+name+"\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = of
	}
	quiet := slog.New(slog.DiscardHandler)
	h := New(quiet, defect.NewRegister(quiet).Witness(defect.Probes, ""))
	h.Take(Settings{Place: place, Tokens: tokens, StaleAfter: 5 * time.Second})
	return h
}

// Who shows no token, or another satellite's, is told nothing and changes nothing. One that the server does not
// understand is told why.
func TestWhoMayReport(t *testing.T) {
	t.Parallel()
	const sound = `{"Protocol":1,"Process":"p"}`
	for name, c := range map[string]struct {
		token, named, body string
		code               int
		says               string
	}{
		"ams":                     {"amsams", "", sound, 200, `"Anew":true`},
		"fra, and says so":        {"frafra", "fra", sound, 200, `"Anew":true`},
		"ams, and says it is fra": {"amsams", "fra", sound, 401, "no satellite has this token"},
		// it may be osl's
		"a stranger":                {"amsfra", "", sound, 503, "cannot read the token of a satellite"},
		"a stranger, as ams":        {"amsfra", "ams", sound, 401, "no satellite has this token"},
		"nobody":                    {"", "ams", sound, 401, "no satellite has this token"},
		"who is not there":          {"amsams", "xyz", sound, 401, "no satellite has this token"},
		"one from the time to come": {"amsams", "", `{"Protocol":2,"Version":"9"}`, 426, "(hale 9) speaks protocol 2"},
		"nonsense":                  {"amsams", "", `nonsense`, 400, "this is no report of a satellite"},
		"what it does not know":     {"amsams", "", `{"Protocol":1,"Process":"p","More":[1]}`, 200, `"Anew":true`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hubOf(t, Place{})
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader(c.body))
			if c.token != "" {
				req.Header.Set("Authorization", "Bearer "+c.token)
			}
			if c.named != "" {
				req.Header.Set(nameHeader, c.named)
			}
			rec := httptest.NewRecorder()
			h.Handler().ServeHTTP(rec, req)
			if said := rec.Body.String(); rec.Code != c.code || !strings.Contains(said, c.says) {
				t.Errorf("%d: %s, want %d: %s", rec.Code, said, c.code, c.says)
			}
			if heard := h.seats["ams"].session+h.seats["fra"].session != ""; heard != (c.code == http.StatusOK) {
				t.Errorf("a satellite was heard: %t", heard)
			}
		})
	}
}

// Where the port is taken, hale says so, and listens as soon as it can.
func TestThePortIsTaken(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := hubOf(t, Place{Listen: other.Addr().String()})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.Run(t.Context())
	}()
	t.Cleanup(func() { <-ended })
	await := func(what string, holds func(error) bool) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		limit := time.After(time.Minute)
		for {
			_, err := h.Trouble()
			if holds(err) {
				return
			}
			select {
			case <-tick.C:
			case <-limit:
				t.Fatalf("%s: never; %v", what, err)
			}
		}
	}
	await("it cannot listen", func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "address already in use")
	})
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	await("it listens", func(err error) bool { return err == nil })
	client := &http.Client{Timeout: time.Minute}
	resp, err := client.Get("http://" + other.Addr().String() + Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%d, %v", resp.StatusCode, err)
	}
}

// Each machine is looked at by as many satellites as it is to be, about as many by each, and when one goes only what it
// looked at changes hands.
func TestWhoLooksAtWhat(t *testing.T) {
	t.Parallel()
	all := []string{"ams", "fra", "osl", "zrh"}
	left := []string{"ams", "osl", "zrh"}
	count := map[string]int{}
	const machines = 2000
	for i := range machines {
		machine := nameOf(i)
		eyes := eyesOf(machine, 2, all, all)
		if len(eyes) != 2 || eyes[0] >= eyes[1] {
			t.Fatalf("%s is looked at by %q", machine, eyes)
		}
		for _, e := range eyes {
			count[e]++
		}
		then := eyesOf(machine, 2, all, left)
		for _, e := range eyes {
			if e != "fra" && e != then[0] && e != then[1] {
				t.Errorf("%s was looked at by %q, and is by %q", machine, eyes, then)
			}
		}
		if then[0] == "fra" || then[1] == "fra" {
			t.Errorf("%s is looked at by one that is away: %q", machine, then)
		}
	}
	for name, n := range count {
		if n < machines/2*8/10 || n > machines/2*12/10 {
			t.Errorf("%s looks at %d of %d machines", name, n, machines)
		}
	}
	if eyes := eyesOf("web-1", 3, []string{"ams", "fra"}, []string{"ams"}); len(eyes) != 2 {
		t.Errorf("where there are too few, all look: %q", eyes)
	}
}
