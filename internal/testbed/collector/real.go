package collector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/testbed/daemon"
	"hale/internal/testbed/nettest"
)

// Real is OpenTelemetry's own collector, which make test builds. It writes what it takes to its log.
type Real struct {
	*daemon.Daemon
	// HTTP and GRPC are the addresses of its two doors.
	HTTP, GRPC string
}

// writeLimit is more than it needs to write down what it took, on a machine that has much else to do.
const writeLimit = time.Minute

// StartReal has one receive until the test ends.
func StartReal(t *testing.T) *Real {
	t.Helper()
	r, dir := &Real{}, t.TempDir()
	http, grpc := nettest.Free(t), nettest.Free(t)
	r.HTTP, r.GRPC = "http://"+http, "http://"+grpc
	r.Daemon = daemon.Start(t, dir, built(t), "--config", fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: %q}, grpc: {endpoint: %q}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}, logs: {receivers: [otlp], exporters: [debug]}}
`, http, grpc))
	r.AwaitReady(t, r.answers)
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

func (r *Real) answers(ctx context.Context) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.HTTP+"/v1/traces", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := (&http.Client{Timeout: time.Second}).Do(q)
	if err != nil {
		return err
	}
	_ = a.Body.Close() // its status says all
	if a.StatusCode != http.StatusOK {
		return errors.New(a.Status)
	}
	return nil
}

// Await waits until its log has all the texts, and reports whether it does.
func (r *Real) Await(texts ...string) bool {
	limit := time.NewTimer(writeLimit)
	defer limit.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		said := r.Said()
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(said, text) }) {
			return true
		}
		select {
		case <-look.C:
		case <-limit.C:
			return false
		}
	}
}
