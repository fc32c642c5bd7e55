package app_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/nettest"
	"hale/internal/testbed/prometheus"
)

// A real Prometheus finds the machines by a file and over HTTP, with a viewer's token; the zone is one by BIND's own
// judgement. A machine that fails stays a target, and leaves the zone.
func TestOtherProgramsFindTheMachines(t *testing.T) {
	t.Parallel()
	address, dir := nettest.Free(t), t.TempDir()
	h := newHouse(t, wakeful+fmt.Sprintf(`api: {listen: %q}
discovery:
  targets: {prometheus: {path: %s/targets.json, port: 9100}, mode: "0640"}
  plain: {json: {path: %[2]s/machines.json}, fleets: [web], which: serving}
  names: {zone: {path: %[2]s/zone, origin: vms.example.org, server: ns1.example.org}}
`, address, dir))
	stop := h.run()
	h.await("all are well", allWell)
	client := api.Dial(h.socket)
	defer client.Close()
	token, err := client.MakeToken(t.Context(), api.TokenRequest{Name: "prometheus", Role: "viewer",
		For: api.Duration(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	server := prometheus.Start(t, prometheus.Job{Name: "hale", Address: address, Token: token.Text, Further: fmt.Sprintf(`
  - job_name: file
    file_sd_configs: [{files: [%q], refresh_interval: 1s}]
    relabel_configs: [{action: labelmap, regex: __meta_hale_(.+)}]
  - job_name: http
    http_sd_configs:
    - url: http://%s/v1/discovery/prometheus?port=9100&fleet=web
      refresh_interval: 1s
      authorization: {type: Bearer, credentials: %q}
    relabel_configs: [{action: labelmap, regex: __meta_hale_(.+)}]
`, filepath.Join(dir, "targets.json"), address, token.Text)})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(server.Said())
		}
	})
	for _, job := range []string{"file", "http"} {
		h.eventually(job, func(ctx context.Context) bool {
			got, err := server.Query(ctx, `count(up{job="`+job+`",fleet="web",health="healthy",serves="true"}) == 3`)
			return err == nil && len(got) == 1
		})
	}
	zone := filepath.Join(dir, "zone")
	h.eventually("the zone", func(context.Context) bool { return strings.Contains(read(t, zone), "\nweb-2 IN A ") })
	if info, err := os.Stat(filepath.Join(dir, "targets.json")); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	said, err := exec.CommandContext(t.Context(), "named-checkzone", "vms.example.org", zone).CombinedOutput()
	if err != nil {
		t.Errorf("BIND says %v: %s", err, said)
	}
	before := read(t, zone)
	if _, err := client.Break(t.Context(), api.BreakOrder{Machine: "web-2", Way: "crash"}); err != nil {
		t.Fatal(err)
	}
	h.eventually("it leaves", func(context.Context) bool {
		now := read(t, zone)
		return !strings.Contains(now, "\nweb-2 ") && strings.Contains(now, "\nweb-1 ") && serial(now) > serial(before)
	})
	for _, job := range []string{"file", "http"} {
		h.eventually(job, func(ctx context.Context) bool {
			got, err := server.Query(ctx, `up{job="`+job+`",machine="web-2",health="unhealthy",serves="false"}`)
			return err == nil && len(got) == 1
		})
	}
	if plain := read(t, filepath.Join(dir, "machines.json")); strings.Contains(plain, "web-2") ||
		!strings.Contains(plain, "web-3") {
		t.Errorf("the plain list is %s", plain)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v lies about, %v", left, err)
	}
	stop()
}

// serial is the zone's.
func serial(zone string) int {
	before, _, _ := strings.Cut(zone, " ; serial")
	n, _ := strconv.Atoi(before[strings.LastIndexByte(before, '\t')+1:])
	return n
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}
