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
	"testing"

	"hale/internal/testbed/daemon"
	"hale/internal/testbed/nettest"
)

// Server is a Prometheus.
type Server struct {
	*daemon.Daemon
	URL string
}

// Job is what a Prometheus is told to do, every second.
type Job struct {
	Name    string // of the job
	Address string // host:port of what it scrapes, at /metrics
	Rules   string // a file of rules
	Alerts  Alertmanager
	Token   string // that it shows; empty: none
	// Further are more scrape configurations, as YAML: items of a list, indented by two spaces.
	Further string
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
%s`, j.Rules, strings.TrimPrefix(j.Alerts.URL, "http://"), j.Name, token, j.Address, j.Further)
	s := Server{URL: "http://" + address}
	s.Daemon = run(t, dir, s.URL, config, "prometheus",
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
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
	a := Alertmanager{"http://" + address}
	run(t, dir, a.URL, "route: {receiver: none}\nreceivers: [{name: none}]\n",
		"prometheus-alertmanager", "--storage.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--cluster.listen-address=")
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
	c := exec.CommandContext(t.Context(), daemon.Installed(t, "promtool"), args...)
	c.Stdin = stdin
	out, err := c.CombinedOutput()
	return string(out), err
}

// run starts a program with its configuration in the folder, and waits until it says at the address that it is ready.
func run(t testing.TB, dir, at, config, program string, args ...string) *daemon.Daemon {
	t.Helper()
	path := filepath.Join(dir, program+".yml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := daemon.Start(t, dir, daemon.Installed(t, program), append(args, "--config.file="+path)...)
	d.AwaitReady(t, func(ctx context.Context) error { return get(ctx, at+"/-/ready", nil) })
	return d
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
