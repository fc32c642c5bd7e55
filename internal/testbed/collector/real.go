package collector

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/testbed/nettest"
)

// Real is OpenTelemetry's own collector, which make test builds. It writes what it takes to its log.
type Real struct {
	// HTTP and GRPC are the addresses of its two doors.
	HTTP, GRPC string
	log        string
}

// startLimit is more than it needs to start on a machine that has much else to do.
const startLimit = time.Minute

// StartReal has one receive until the test ends.
func StartReal(t *testing.T) *Real {
	t.Helper()
	program := built(t)
	r := &Real{log: filepath.Join(t.TempDir(), "log")}
	http, grpc := nettest.Free(t), nettest.Free(t)
	r.HTTP, r.GRPC = "http://"+http, "http://"+grpc
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--config", fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: %q}, grpc: {endpoint: %q}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}, logs: {receivers: [otlp], exporters: [debug]}}
`, http, grpc))
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // an error says that it has ended
		_ = c.Wait()         // it is killed
	})
	if !r.await(startLimit, func() bool { return r.answers(t.Context()) }) {
		t.Fatalf("the collector does not answer: %s", r.Said())
	}
	return r
}

// built is where it is.
func built(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if path := filepath.Join(dir, "bin", "otelcol"); exists(path) {
			return path
		}
	}
	const lacks = "there is no bin/otelcol: make bin/otelcol builds it"
	if os.Getenv("CI") == "true" {
		t.Fatal(lacks)
	}
	t.Skip(lacks)
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (r *Real) answers(ctx context.Context) bool {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.HTTP+"/v1/traces", strings.NewReader("{}"))
	if err != nil {
		return false
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := (&http.Client{Timeout: time.Second}).Do(q)
	if err != nil {
		return false
	}
	_ = a.Body.Close() // its status says all
	return a.StatusCode == http.StatusOK
}

// Said is its log so far.
func (r *Real) Said() string {
	text, _ := os.ReadFile(r.log) // it is there
	return string(text)
}

// Await waits until its log has all the texts, and reports whether it does.
func (r *Real) Await(texts ...string) bool {
	return r.await(startLimit, func() bool {
		said := r.Said()
		for _, text := range texts {
			if !strings.Contains(said, text) {
				return false
			}
		}
		return true
	})
}

func (r *Real) await(within time.Duration, holds func() bool) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-limit.C:
			return false
		}
	}
	return true
}
