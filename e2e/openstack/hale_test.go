package openstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"hale/api"
	"hale/internal/testbed/cloud"
)

const theCloud = `
providers:
  cloud: {type: openstack, cloud: {name: demo, file: CLOUDS, region: Proxied}, poll: 1s}
`

const template = `template: {image: tiny, network: private, disks: {root: ephemeral}, server: {flavor: m1.nano}}`

// byWord is a fleet without checks, since no address answers there: what counts is the provider's word.
const byWord = theCloud + `
fleets:
  web:
    provider: cloud
    size: 3
    ` + template + `
    repair:
      steps: [start: {verify_within: 1m}, recreate: {}]
      attempts: 20 in 1h
      backoff: 0s
    grace: 5s
    on_external_stop: heal
`

// flag is a check that a test fails by making the file DIR/sick.
const flag = `flag: {exec: {command: [/bin/sh, -c, "test ! -e DIR/sick || exit 2"]}, every: 1s, timeout: 900ms, down_after: 2, up_after: 1}`

// machines is hale as a process, with the fleet, a proxy between it and the cloud, and a person who sees the truth.
type machines struct {
	*testing.T
	dir    string
	hale   string
	config string // the file or folder that it runs on
	proxy  *proxy
	client *api.Client
	person *person
	cmd    *exec.Cmd
	names  []string
}

// newMachines starts hale on the configuration, in which CLOUDS and DIR are replaced, and which builds the machines of
// the names.
func newMachines(t *testing.T, text string, names ...string) *machines {
	t.Helper()
	m := newStage(t, names...)
	m.configure("hale.yaml", text)
	m.config = filepath.Join(m.dir, "hale.yaml")
	m.start()
	return m
}

// newStage has everything ready for hale to start.
func newStage(t *testing.T, names ...string) *machines {
	t.Helper()
	dir, err := os.MkdirTemp("", "hale-e2e-") //nolint:usetesting // a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	m := &machines{
		T:      t,
		dir:    dir,
		client: api.Dial(filepath.Join(dir, "sock")),
		person: newPerson(t, cloud.Demo),
		proxy:  newProxy(t),
		names:  names,
	}
	t.Cleanup(m.end)
	m.hale, err = program()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// configure writes a file of the configuration.
func (m *machines) configure(name, text string) {
	m.Helper()
	text = strings.NewReplacer("CLOUDS", cloud.Running().CloudsFile(), "DIR", m.dir).Replace(text)
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
}

// envHale names a hale that is built already, by an absolute path.
const envHale = "E2E_HALE"

// program builds hale, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	if built := os.Getenv(envHale); built != "" {
		return built, nil
	}
	var err error
	if workshop, err = os.MkdirTemp("", "hale-e2e-"); err != nil {
		return "", err
	}
	path := filepath.Join(workshop, "hale")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "hale/cmd/hale")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hale: %w\n%s", err, out)
	}
	return path, nil
})

func (m *machines) start() {
	m.Helper()
	log, err := os.OpenFile(filepath.Join(m.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.Fatal(err)
	}
	defer log.Close()
	m.cmd = exec.Command(m.hale, "run", m.config, "--data-dir", filepath.Join(m.dir, "data"), "--socket",
		filepath.Join(m.dir, "sock"))
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.cmd.Start(); err != nil {
		m.Fatal(err)
	}
}

// kill is kill -9.
func (m *machines) kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill() // an error says that it has ended
	_ = m.cmd.Wait()         // reports the kill
}

// end removes everything; what hale said is shown when the test failed.
func (m *machines) end() {
	m.kill()
	if m.Failed() {
		said, _ := os.ReadFile(filepath.Join(m.dir, "log"))
		m.Logf("hale said:\n%s", said)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, s := range m.all() {
		servers.ForceDelete(ctx, m.person.compute, s.ID)
		servers.Delete(ctx, m.person.compute, s.ID)
	}
	m.await("the end of the servers", func() (string, bool) {
		n := len(m.all())
		return fmt.Sprint(n, " servers"), n == 0
	})
	for _, p := range m.ports() {
		ports.Delete(ctx, m.person.network, p.ID)
	}
	m.person.clearVolumes(within{m.T, ctx}, "web-")
	os.RemoveAll(m.dir)
}

// all returns the fleet's servers by their names, with the number of the name where there are several.
func (m *machines) all() map[string]servers.Server {
	m.Helper()
	byName := map[string]servers.Server{}
	for i, s := range every(within{m.T, context.Background()},
		servers.List(m.person.compute, servers.ListOpts{Name: "^web-"}), servers.ExtractServers) {
		if _, twice := byName[s.Name]; twice {
			s.Name = fmt.Sprintf("%s, another %d", s.Name, i)
		}
		byName[s.Name] = s
	}
	return byName
}

// ports returns those that hale made for its fleets.
func (m *machines) ports() []ports.Port {
	m.Helper()
	return slices.DeleteFunc(m.person.ports(within{m.T, context.WithoutCancel(m.Context())}),
		func(p ports.Port) bool { return !strings.HasPrefix(p.Name, "web-") })
}

func (m *machines) await(what string, holds func() (saw string, ok bool)) {
	m.Helper()
	awaitEvery(m.T, time.Second, 4*time.Minute, what, holds) // each look costs the cloud a list
}

// awaitEvery looks at once and then at intervals until something holds, and ends the test where that takes too long.
func awaitEvery(t *testing.T, every, most time.Duration, what string, holds func() (saw string, ok bool)) {
	t.Helper()
	deadline := time.After(most)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		saw, ok := holds()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited for %s; last seen: %s", what, saw)
		}
	}
}

// status is what hale says of the fleet; of several, the sums, and of the first what is no number.
func (m *machines) status() (api.Fleet, error) {
	ctx, cancel := context.WithTimeout(m.Context(), 10*time.Second)
	defer cancel()
	s, err := m.client.Status(ctx)
	if err != nil {
		return api.Fleet{}, err
	}
	if len(s.Fleets) == 0 {
		return api.Fleet{}, errors.New("there is no fleet yet")
	}
	sum := s.Fleets[0]
	for _, f := range s.Fleets[1:] {
		sum.Healthy, sum.InRepair, sum.InBuild, sum.Machines = sum.Healthy+
			f.Healthy, sum.InRepair+f.InRepair, sum.InBuild+f.InBuild, append(sum.Machines, f.Machines...)
	}
	return sum, nil
}

// machine is what hale says of one; nothing, as long as it does not know it.
func (m *machines) machine(name string) api.Machine {
	m.Helper()
	f, err := m.status()
	if err != nil {
		m.Fatal(err)
	}
	for _, one := range f.Machines {
		if one.Name == name {
			return one
		}
	}
	return api.Machine{}
}

// orders returns how many orders were given to each machine since, beside what hale writes on a new one.
func (m *machines) orders(since time.Time) map[string]int {
	m.Helper()
	n := map[string]int{}
	for e, err := range m.client.Events(m.Context(), api.EventsQuery{}) {
		if err != nil {
			m.Fatal(err)
		}
		if e.Kind == "intent" && e.Op != "certify" && !e.At.Before(since) {
			n[e.Machine]++
		}
	}
	return n
}

// says is the person at the command line, who returns what hale answered.
func (m *machines) says(args ...string) string {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), m.hale, args...)
	cmd.Env = append(os.Environ(), "HALE_SOCKET="+filepath.Join(m.dir, "sock"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Fatalf("hale %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// awaitWell waits until hale says that all is well, and finds the cloud so: each machine is one server that runs, with
// one port.
func (m *machines) awaitWell(what string) map[string]servers.Server {
	m.Helper()
	began := time.Now()
	m.await(what, func() (string, bool) {
		f, err := m.status()
		if err != nil {
			return err.Error(), false
		}
		all := m.all()
		running := 0
		for _, s := range all {
			if s.Status == "ACTIVE" {
				running++
			}
		}
		return fmt.Sprintf("%d healthy, %d in repair; %d servers, %d run", f.Healthy, f.InRepair, len(all), running),
			f.Healthy == len(m.names) && f.InRepair == 0 && f.InBuild == 0 && len(all) == len(m.names) &&
				running == len(m.names)
	})
	all := m.all()
	if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, m.names) {
		m.Errorf("%s: the servers are %q", what, names)
	}
	if n := len(m.ports()); n != len(m.names) {
		m.Errorf("%s: hale has %d ports, want %d", what, n, len(m.names))
	}
	m.Logf("%s: after %s", what, time.Since(began).Round(100*time.Millisecond))
	return all
}

// TestS42Fleet: whatever Nova says of a server, it is recovered; what an API fault says, is not.
func TestS42Fleet(t *testing.T) {
	m := newMachines(t, byWord, "web-1", "web-2", "web-3")
	ids := m.awaitWell("the first builds")
	for _, scene := range []struct {
		what      string
		make      func(id string) error
		recreated bool
	}{
		{
			"SHUTOFF by a person",
			func(id string) error { return servers.Stop(t.Context(), m.person.compute, id).ExtractErr() },
			false,
		},
		{"SHUTOFF by a crash", cloud.Running().Crash, false},
		{"ERROR", func(id string) error {
			return servers.ResetState(t.Context(), newPerson(t, cloud.Admin).compute, id,
				servers.StateError).ExtractErr()
		}, true},
		{
			"deleted",
			func(id string) error { return servers.Delete(t.Context(), m.person.compute, id).ExtractErr() },
			true,
		},
	} {
		victim := ids["web-2"]
		if err := scene.make(victim.ID); err != nil {
			t.Fatalf("%s: %v", scene.what, err)
		}
		m.await(scene.what+" to be seen", func() (string, bool) {
			f, err := m.status()
			return fmt.Sprint(f.Healthy, err), err == nil && f.Healthy < 3
		})
		now := m.awaitWell(scene.what)
		for name, s := range ids {
			if changed := now[name].ID != s.ID; changed != (scene.recreated && name == victim.Name) {
				t.Errorf("%s: %s was server %s and is %s", scene.what, name, s.ID, now[name].ID)
			}
		}
		ids = now
	}
	m.untouchedBy("404 to everything", "down", ids, func(w http.ResponseWriter) {
		http.Error(w, "<html>404 Not Found</html>", http.StatusNotFound)
	})
	m.untouchedBy("503 to everything", "down", ids, func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	m.untouchedBy("an empty list", "doubtful", ids, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"servers": []}`)
	})
}

// untouchedBy lets the API answer so for a while: hale reports the provider, and does nothing to any machine, then or
// later.
func (m *machines) untouchedBy(what, standing string, ids map[string]servers.Server, answer func(http.ResponseWriter)) {
	m.Helper()
	m.proxy.set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { answer(w) })
	m.await(what+" to be reported", func() (string, bool) {
		f, err := m.status()
		return fmt.Sprint(f.Provider.Standing, err), err == nil && f.Provider.Standing == standing
	})
	end := time.NewTimer(8 * time.Second) // eight polls
	<-end.C
	m.proxy.set(nil)
	now := m.awaitWell("after " + what)
	for name, s := range ids {
		if now[name].ID != s.ID || !now[name].Updated.Equal(s.Updated) {
			m.Errorf("%s: %s was touched: server %s of %s is %s of %s",
				what, name, s.ID, s.Updated, now[name].ID, now[name].Updated)
		}
	}
}

// TestKilledWhenNovaAccepted: hale is killed at the moment when Nova takes an order, before it hears so. It finds that
// server, and builds no other.
func TestKilledWhenNovaAccepted(t *testing.T) {
	m := newMachines(t, byWord, "web-1", "web-2", "web-3")
	ids := m.awaitWell("the first builds")
	accepted := make(chan string, 1)
	m.proxy.set(func(w http.ResponseWriter, q *http.Request, through http.Handler) {
		if q.Method != http.MethodPost || !strings.HasSuffix(q.URL.Path, "/servers") {
			through.ServeHTTP(w, q)
			return
		}
		answer := &heard{ResponseWriter: w}
		through.ServeHTTP(answer, q)
		select {
		case accepted <- fmt.Sprint(answer.status):
		default:
		}
		<-q.Context().Done() // the answer never comes
	})
	if err := servers.Delete(t.Context(), m.person.compute, ids["web-2"].ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	select {
	case status := <-accepted:
		if status != "202" {
			t.Fatalf("Nova answered %s", status)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing was asked for")
	}
	m.kill()
	m.proxy.set(nil)
	ordered := m.all()["web-2"].ID
	m.start()
	now := m.awaitWell("killed when Nova had accepted, and started again")
	if now["web-2"].ID != ordered {
		t.Errorf("web-2 is server %s, and %s was ordered", now["web-2"].ID, ordered)
	}
}

// TestS48EveryStepIsTheRightCall: a machine that stays sick goes up the whole ladder, and each step asks Nova for what
// it says.
func TestS48EveryStepIsTheRightCall(t *testing.T) {
	m := newMachines(t, theCloud+`
fleets:
  web:
    provider: cloud
    size: 1
    `+template+`
    checks:
      `+flag+`
    repair:
      steps: [reboot: {mode: soft, verify_within: 10s}, reboot: {verify_within: 10s}, rebuild: {timeout: 2m}, recreate: {}]
    build_within: 45s
    grace: 5s
`, "web-1")
	ids := m.awaitWell("the first build")
	sick := filepath.Join(m.dir, "sick")
	var mu sync.Mutex
	var calls []string
	m.proxy.set(func(w http.ResponseWriter, q *http.Request, through http.Handler) {
		if q.Method != http.MethodGet {
			body, err := io.ReadAll(q.Body)
			if err != nil {
				return
			}
			q.Body = io.NopCloser(bytes.NewReader(body))
			mu.Lock()
			calls = append(calls, q.Method+" "+string(body))
			mu.Unlock()
			if strings.HasSuffix(q.URL.Path, "/servers") {
				os.Remove(sick) // the next one is well
			}
		}
		through.ServeHTTP(w, q)
	})
	if err := os.WriteFile(sick, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.await("a recreate", func() (string, bool) {
		_, err := os.Stat(sick)
		return fmt.Sprint(calls), errors.Is(err, os.ErrNotExist)
	})
	now := m.awaitWell("the whole ladder")
	if now["web-1"].ID == ids["web-1"].ID {
		t.Error("it was not recreated")
	}
	mu.Lock()
	defer mu.Unlock()
	rest := calls
	for _, want := range []string{
		`"reboot":{"type":"SOFT"}`, `"reboot":{"type":"HARD"}`, `"os-stop"`, `"rebuild":{"imageRef":"`, `"os-start"`,
		`"os-stop"`, "DELETE", `"flavorRef":"42"`,
	} {
		i := slices.IndexFunc(rest, func(c string) bool { return strings.Contains(c, want) })
		if i < 0 {
			t.Fatalf("no %s, in its turn, among %q", want, calls)
		}
		rest = rest[i+1:]
	}
}

// heard swallows an answer and remembers what it was.
type heard struct {
	http.ResponseWriter
	status int
}

func (h *heard) WriteHeader(status int)      { h.status = status }
func (h *heard) Write(p []byte) (int, error) { return len(p), nil }

// proxy stands between hale and the cloud's services.
type proxy struct {
	mu sync.Mutex
	do func(w http.ResponseWriter, q *http.Request, through http.Handler)
}

// set decides what happens to Nova's requests from now on; nil: they go through.
func (p *proxy) set(do func(w http.ResponseWriter, q *http.Request, through http.Handler)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.do = do
}

// newProxy listens where the region cloud.Proxied has its services.
func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{}
	for _, port := range []string{"8774", "9696", "9292", "8776"} {
		origin, err := url.Parse("http://127.0.0.1:" + port)
		if err != nil {
			t.Fatal(err)
		}
		through := httputil.NewSingleHostReverseProxy(origin)
		handler := http.Handler(through)
		if port == "8774" {
			handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				p.mu.Lock()
				do := p.do
				p.mu.Unlock()
				if do == nil {
					through.ServeHTTP(w, q)
					return
				}
				do(w, q, through)
			})
		}
		listener, err := net.Listen("tcp", "127.0.0.1:1"+port)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(listener) }) // it ends with Close
		t.Cleanup(func() {
			server.Close()
			serving.Wait()
		})
	}
	return p
}
