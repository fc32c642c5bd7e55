// Package octavia starts a private Octavia, of the distribution's packages (scripts/openstack/install.sh), for tests:
// its API, on a database in a file, with the driver that does nothing. A thread beside it ends the changes that the
// load balancers would make, and finds of their members what a test says.
//
// It promises that it listens on loopback only, at a port of its own, and ends with the test or its process. It knows
// no credentials: whose project is meant says a header. It is for tests only.
package octavia

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"hale/internal/testbed/daemon"
	"hale/internal/testbed/nettest"
)

//go:embed api.py
var program []byte

// Octavia is one.
type Octavia struct {
	URL string

	dir    string
	daemon *daemon.Daemon

	mu    sync.Mutex
	found map[string]string
}

// patience is how long one answer may take.
const patience = 20 * time.Second

// python is Debian's, which its modules are for; a login shell's may be another one.
const python = "/usr/bin/python3"

// Start starts one, and waits until it answers.
func Start(t testing.TB) *Octavia {
	t.Helper()
	at := nettest.Free(t)
	o := &Octavia{URL: "http://" + at, dir: t.TempDir(), found: map[string]string{}}
	file := filepath.Join(o.dir, "api.py")
	if err := os.WriteFile(file, program, 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := bytes.Cut([]byte(at), []byte(":"))
	o.daemon = daemon.Start(t, o.dir, python, "-W", "ignore", file, o.dir, string(port))
	o.daemon.AwaitReady(t, func(ctx context.Context) error {
		return o.ask(ctx, "p", http.MethodGet, "/v2.0/lbaas/pools", nil, nil)
	})
	return o
}

// Handler passes requests on to it.
func (o *Octavia) Handler() http.Handler {
	u, err := url.Parse(o.URL)
	if err != nil {
		return http.NotFoundHandler()
	}
	return httputil.NewSingleHostReverseProxy(u)
}

// Pool makes a load balancer of the project, with a pool of the name, and returns the pool's id.
func (o *Octavia) Pool(t testing.TB, project, name string) string {
	t.Helper()
	var lb struct {
		LB struct{ ID string } `json:"loadbalancer"`
	}
	o.must(t, project, http.MethodPost, "/v2.0/lbaas/loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": "lb", "vip_subnet_id": "8f4c1b9e-0000-4000-8000-000000000001", "project_id": project}}, &lb)
	var pool struct{ Pool struct{ ID string } }
	o.must(t, project, http.MethodPost, "/v2.0/lbaas/pools", map[string]any{"pool": map[string]any{
		"name": name, "loadbalancer_id": lb.LB.ID, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}}, &pool)
	return pool.Pool.ID
}

// Update changes a member, as a person does.
func (o *Octavia) Update(t testing.TB, project, pool, member string, change map[string]any) {
	t.Helper()
	o.must(t, project, http.MethodPut, "/v2.0/lbaas/pools/"+pool+"/members/"+member, map[string]any{"member": change},
		nil)
}

// Member returns the id of the member of the name.
func (o *Octavia) Member(t testing.TB, project, pool, name string) string {
	t.Helper()
	return o.member(t, project, pool, name).ID
}

// Weight returns the weight of the member of the name.
func (o *Octavia) Weight(t testing.TB, project, pool, name string) int {
	t.Helper()
	return o.member(t, project, pool, name).Weight
}

type member struct {
	ID     string
	Weight int
}

func (o *Octavia) member(t testing.TB, project, pool, name string) member {
	t.Helper()
	var all struct{ Members []member }
	o.must(t, project, http.MethodGet, "/v2.0/lbaas/pools/"+pool+"/members?name="+url.QueryEscape(name), nil, &all)
	if len(all.Members) != 1 {
		t.Fatalf("there are %d members %s", len(all.Members), name)
	}
	return all.Members[0]
}

// Find has the load balancer find the member so, as Octavia says it: ONLINE, ERROR.
func (o *Octavia) Find(t testing.TB, member, status string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.found[member] = status
	data, err := json.Marshal(o.found)
	if err == nil {
		err = os.WriteFile(filepath.Join(o.dir, "found"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Fail has the load balancer be able to do no change of the pool's members, until the returned function is called.
func (o *Octavia) Fail(t testing.TB, pool string) (end func()) {
	t.Helper()
	file := filepath.Join(o.dir, "fails", pool)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(file) }
}

// Stall has the load balancers end no change, until the returned function is called.
func (o *Octavia) Stall(t testing.TB) (end func()) {
	t.Helper()
	file := filepath.Join(o.dir, "busy")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(file) }
}

// must asks until no change is under way that stands in the way.
func (o *Octavia) must(t testing.TB, project, method, path string, body, into any) {
	t.Helper()
	o.daemon.AwaitReady(t, func(ctx context.Context) error { return o.ask(ctx, project, method, path, body, into) })
}

func (o *Octavia) ask(ctx context.Context, project, method, path string, body, into any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	q, err := http.NewRequestWithContext(ctx, method, o.URL+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-Project-Id", project)
	a, err := (&http.Client{Timeout: patience}).Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode >= http.StatusMultipleChoices {
		var said bytes.Buffer
		_, _ = said.ReadFrom(a.Body) // what there is of it
		return fmt.Errorf("octavia: %s %s: %s: %s", method, path, a.Status, said.String())
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(a.Body).Decode(into)
}
