// Package prometheus starts a private Prometheus, and a private Alertmanager, of the system's packages, for tests, and
// runs their tool promtool.
//
// It promises that both listen on loopback only, at ports of their own, keep their data in the test's folder, and end
// with the test or its process.
package prometheus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/testbed/nettest"
)

// startLimit is more than either needs to start on a machine that has much else to do.
const startLimit = time.Minute

// Server is a Prometheus.
type Server struct{ URL string }

// Job is what a Prometheus is told to do, every second.
type Job struct {
	Name    string // of the job
	Address string // host:port of what it scrapes, at /metrics
	Rules   string // a file of rules
	Alerts  Alertmanager
	Token   string // that it shows; empty: none
}

// Start starts a Prometheus, and waits until it is ready.
func Start(t testing.TB, j Job) Server {
	t.Helper()
	dir, address := t.TempDir(), nettest.Free(t)
	token := ""
	if j.Token != "" {
		token = fmt.Sprintf("    authorization: {credentials: %q}\n", j.Token)
	}
	config := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
alerting:
  alertmanagers:
  - static_configs: [{targets: [%q]}]
scrape_configs:
  - job_name: %s
%s    static_configs: [{targets: [%q]}]
`, j.Rules, strings.TrimPrefix(j.Alerts.URL, "http://"), j.Name, token, j.Address)
	run(t, dir, "prometheus.yml", config, "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	s := Server{"http://" + address}
	await(t, dir, s.URL)
	return s
}

// Sample is one series of an answer.
type Sample struct {
	Metric map[string]string
	Value  [2]any // the time, and the value as a text
}

// Query asks for what an expression comes to now. An error is the expression's, or the way there.
func (s Server) Query(ctx context.Context, expression string) ([]Sample, error) {
	var out struct {
		Error string
		Data  struct {
			Result json.RawMessage
		}
	}
	if err := get(ctx, s.URL+"/api/v1/query?query="+url.QueryEscape(expression), &out); err != nil {
		return nil, err
	}
	if out.Error != "" {
		return nil, errors.New(out.Error)
	}
	var samples []Sample
	err := json.Unmarshal(out.Data.Result, &samples)
	return samples, err
}

// Alertmanager is one.
type Alertmanager struct{ URL string }

// StartAlertmanager starts an Alertmanager that has no one to tell, and waits until it is ready.
func StartAlertmanager(t testing.TB) Alertmanager {
	t.Helper()
	dir, address := t.TempDir(), nettest.Free(t)
	run(t, dir, "alertmanager.yml", "route: {receiver: none}\nreceivers: [{name: none}]\n", "prometheus-alertmanager",
		"--config.file="+filepath.Join(dir, "alertmanager.yml"), "--storage.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--cluster.listen-address=")
	a := Alertmanager{"http://" + address}
	await(t, dir, a.URL)
	return a
}

// Alert is one that an Alertmanager has.
type Alert struct{ Labels, Annotations map[string]string }

// Alerts returns those of the name.
func (a Alertmanager) Alerts(ctx context.Context, name string) ([]Alert, error) {
	var out []Alert
	err := get(ctx, a.URL+"/api/v2/alerts?filter="+url.QueryEscape("alertname="+name), &out)
	return out, err
}

// Promtool runs the tool with the arguments, and returns what it said.
func Promtool(t testing.TB, stdin io.Reader, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), installed(t, "promtool"), args...)
	c.Stdin = stdin
	out, err := c.CombinedOutput()
	return string(out), err
}

func installed(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%v: scripts/install-deps.sh tests", err)
	}
	return path
}

// run starts a program that ends with the test.
func run(t testing.TB, dir, name, config, program string, args ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(context.WithoutCancel(t.Context()), installed(t, program), args...)
	c.Stdout, c.Stderr, c.Dir = log, log, dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()         // by that
		_ = log.Close()
	})
}

// await waits until the program says that it is ready.
func await(t testing.TB, dir, at string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for get(ctx, at+"/-/ready", nil) != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("it did not start within %s:\n%s", startLimit, log)
		}
	}
}

// get reads an answer into a value; nil: what it says is of no interest.
func get(ctx context.Context, from string, into any) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || into == nil {
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		return err
	}
	return json.NewDecoder(bytes.NewReader(body)).Decode(into)
}
