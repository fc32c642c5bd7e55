package openstack

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"hale/internal/testbed/cloud"
)

// byWordOrPage is a fleet of two machines, judged by Nova's word and by a page that they serve.
func byWordOrPage(name, condition string) string {
	return `
  ` + name + `:
    provider: cloud
    size: 2
    ` + template + `
    checks: {page: {http: {port: 8080, body: passing}, every: 1s, timeout: 900ms, down_after: 3, up_after: 1}}
    unhealthy_when: {` + condition + `: [provider, page]}
    repair: {steps: [recreate: {}], attempts: 20 in 1h, backoff: 0s}
    limits: {brake: {at_least: 2}}
    grace: 5s
`
}

// pages are the web servers of all machines in the demo project's network: the test answers at every address there.
type pages struct {
	mu   sync.Mutex
	sick map[string]bool // by address
}

func (p *pages) set(address string, sick bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sick[address] = sick
}

func (p *pages) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	local, _ := q.Context().Value(http.LocalAddrContextKey).(net.Addr)
	host, _, err := net.SplitHostPort(local.String())
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.sick[host] {
		fmt.Fprint(w, "critical")
		return
	}
	fmt.Fprint(w, "passing")
}

// servePages answers at every address of the demo project's network.
func servePages(t *testing.T) *pages {
	t.Helper()
	route := func(what string) {
		out, err := exec.Command("ip", "route", what, "local", "10.10.0.0/16", "dev", "lo").CombinedOutput()
		if err != nil && !strings.Contains(string(out), "File exists") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	route("add")
	listener, err := net.Listen("tcp", ":8080")
	if err != nil {
		t.Fatal(err)
	}
	p := &pages{sick: map[string]bool{}}
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it ends with Close
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
		route("del")
	})
	return p
}

// TestS45AnyOrAllOfStatusAndURL: with any, Nova's word or the page alone leads to a recovery; with all, it takes both.
func TestS45AnyOrAllOfStatusAndURL(t *testing.T) {
	web := servePages(t)
	m := newMachines(t, theCloud+"fleets:\n"+byWordOrPage("web-any", "any")+byWordOrPage("web-all", "all"),
		"web-all-1", "web-all-2", "web-any-1", "web-any-2")
	m.awaitWell("the first builds")
	admin := newPerson(t, cloud.Admin)
	fail := func(name string) {
		if err := servers.ResetState(t.Context(), admin.compute, m.all()[name].ID,
			servers.StateError).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	sicken := func(name string) { web.set(m.machine(name).Address, true) }
	began, before := time.Now(), m.all()

	fail("web-any-1")
	sicken("web-any-2")
	fail("web-all-1")
	sicken("web-all-2")
	m.await("both of any to be recovered", func() (string, bool) {
		now := m.all()
		return fmt.Sprint(now), now["web-any-1"].ID != before["web-any-1"].ID &&
			now["web-any-2"].ID != before["web-any-2"].ID
	})
	m.await("the page of one of all to be down", func() (string, bool) {
		checks := m.machine("web-all-2").Checks
		return fmt.Sprint(checks), len(checks) == 1 && checks[0].Standing == "down"
	})
	if orders := m.orders(began); orders["web-all-1"]+orders["web-all-2"] > 0 ||
		m.all()["web-all-1"].Status != "ERROR" {
		t.Fatalf("one of two was enough, or Nova's word was changed: %v", orders)
	}

	sicken("web-all-1")
	fail("web-all-2")
	m.await("both of all to be recovered", func() (string, bool) {
		now := m.all()
		return fmt.Sprint(now), now["web-all-1"].ID != before["web-all-1"].ID &&
			now["web-all-2"].ID != before["web-all-2"].ID
	})
	m.awaitWell("any and all")
}
