// Package front is a cloud for tests of Octavia's adapter: a Keystone that knows one account, before an Octavia, the
// real one or a twin, whose answers it can spoil.
//
// It promises to listen on loopback only, and to end with its test.
package front

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/balancer/balancertest"
)

// Cloud is one.
type Cloud struct {
	URL string
	// File is a clouds.yaml with the account, of the name Name.
	File string

	behind  http.Handler
	project string

	mu       sync.Mutex
	fault    balancertest.Fault
	password string
	token    int
}

// Name is the entry of the cloud in its file.
const Name = "lb"

// Start starts one before what is behind. It asks there in the name of the project.
func Start(t testing.TB, project string, behind http.Handler) *Cloud {
	t.Helper()
	c := &Cloud{behind: behind, project: project, password: "first"}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	c.URL, c.File = s.URL, filepath.Join(t.TempDir(), "clouds.yaml")
	text := fmt.Sprintf("clouds:\n  %s:\n    auth: {auth_url: \"%s/identity/v3\", username: u, password: first, "+
		"project_name: p, user_domain_name: Default, project_domain_name: Default}\n    region_name: R\n", Name, s.URL)
	if err := os.WriteFile(c.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// Break has Octavia behave so from now on.
func (c *Cloud) Break(f balancertest.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// Revoke has the account have another password, and its tokens end.
func (c *Cloud) Revoke(password string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.password = password
	c.token++
}

func (c *Cloud) now() (fault balancertest.Fault, password, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault, c.password, fmt.Sprint("token-", c.token)
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault, password, token := c.now()
	switch {
	case strings.HasPrefix(r.URL.Path, "/identity"):
		c.keystone(w, r, password, token)
	case r.Header.Get("X-Auth-Token") != token:
		http.Error(w, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`,
			http.StatusUnauthorized)
	default:
		c.spoil(w, r, fault)
	}
}

func (c *Cloud) keystone(w http.ResponseWriter, r *http.Request, password, token string) {
	var asked struct {
		Auth struct {
			Identity struct {
				Password struct{ User struct{ Password string } }
			}
		}
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || asked.Auth.Identity.Password.User.Password != password {
		http.Error(w, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`,
			http.StatusUnauthorized)
		return
	}
	w.Header().Set("X-Subject-Token", token)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{ // who hung up gets none
		"expires_at": time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z"),
		"project":    map[string]any{"id": "p", "name": "p", "domain": map[string]any{"id": "d", "name": "Default"}},
		"catalog": []any{map[string]any{"type": "load-balancer", "name": "octavia", "endpoints": []any{
			map[string]any{"interface": "public", "region": "R", "region_id": "R", "url": c.URL + "/load-balancer"},
		}}},
	}})
}

// spoil passes the request on, and does to the answer what the fault says.
func (c *Cloud) spoil(w http.ResponseWriter, r *http.Request, fault balancertest.Fault) {
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/load-balancer")
	r.Header.Set("X-Project-Id", c.project)
	switch fault {
	case balancertest.Dead:
		panic(http.ErrAbortHandler)
	case balancertest.Frozen:
		<-r.Context().Done()
		return
	case balancertest.Garbage:
		_, _ = w.Write([]byte("\x00\xff<html>1, 2, 3</html>\n"))
		return
	case balancertest.Slow:
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
		}
	case balancertest.AnswerLost:
		if r.Method != http.MethodGet {
			c.behind.ServeHTTP(httptest.NewRecorder(), r)
			<-r.Context().Done()
			return
		}
	case balancertest.Works, balancertest.Full, balancertest.Fails:
	}
	c.behind.ServeHTTP(w, r)
}
