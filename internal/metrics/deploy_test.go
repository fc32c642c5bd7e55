package metrics_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/metrics"
	"hale/internal/owner/published"
	"hale/internal/provider"
	"hale/internal/state/outbox"
	"hale/internal/testbed/prometheus"

	"github.com/goccy/go-yaml"
	dto "github.com/prometheus/client_model/go"
)

var update = flag.Bool("update", false, "write the reference of the metrics anew")

// Where users find what belongs to the metrics.
const (
	rulesFile     = "../../deploy/prometheus/hale-alerts.yaml"
	rulesTests    = "../../deploy/prometheus/hale-alerts-test.yaml"
	dashboardFile = "../../deploy/grafana/hale.json"
	guide         = "../../docs/guide/monitoring.md"
	reference     = "../../docs/reference/metrics.md"
)

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// everything are the options of a hale in which there is something of all that can be told.
func everything() metrics.Options {
	fleets := nFleets(1, 10)
	f := &fleets[0]
	f.Acting, f.Post = fleet.ReasonNotOwner, outbox.Standing{Waiting: 1, Since: dawn, Dead: 2}
	bounded(f)
	o := options(fleets)
	o.Machines = func() bool { return true }
	o.Troubles = func() []api.Trouble { return nil }
	o.Unowned = func() []published.Unowned { return []published.Unowned{{Provider: "lab-0"}} }
	o.Fences = func() []api.FencedHost {
		return []api.FencedHost{{Provider: "lab-0", Host: "h1",
			Methods: []api.FenceMethod{{}, {Test: &api.FenceTest{}}}}}
	}
	o.Streams = func() []metrics.Stream { return []metrics.Stream{{Name: "traces", Taken: 3}} }
	o.Reloaded = func() (time.Time, error) { return dawn, nil }
	o.Defects.Note(defect.Place{Part: defect.Check}, "its work", &defect.Panic{Value: "boom"})
	for _, r := range []record.Record{{Kind: record.Paged, Reason: fleet.ReasonBrake}, {Kind: record.Order,
		Command: fleet.OrderHeal}, {Kind: record.Notified, Target: "ops"},
		{Kind: record.Order, Command: fleet.OrderScale, Reason: fleet.ReasonCooldown}} {
		r.Fleet = "fleet-0"
		o.Counts.Take(r)
	}
	o.Counts.Called("lab-0", provider.Call{Op: provider.OpList}, time.Second, nil)
	o.Counts.Committed(time.Millisecond, nil)
	o.Counts.Beat(dawn)
	return o
}

// hales are the families that are hale's own.
func hales(t testing.TB) map[string]*dto.MetricFamily {
	t.Helper()
	out := parsed(t, scrape(t, everything(), everyone))
	maps.DeleteFunc(out, func(name string, _ *dto.MetricFamily) bool { return !strings.HasPrefix(name, "hale_") })
	return out
}

var nameOfMetric = regexp.MustCompile(`\bhale_[a-z_]+`)

// named are the families that a text names, the parts of a histogram by its name.
func named(text string, known map[string]*dto.MetricFamily) []string {
	var out []string
	for _, name := range nameOfMetric.FindAllString(text, -1) {
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			if whole, is := strings.CutSuffix(name, part); is && known[name] == nil && known[whole] != nil {
				name = whole
			}
		}
		out = append(out, name)
	}
	return out
}

func TestWhatRulesAndDashboardNameIsTold(t *testing.T) {
	t.Parallel()
	known := hales(t)
	for _, path := range []string{rulesFile, rulesTests, dashboardFile, guide} {
		all := named(read(t, path), known)
		if len(all) == 0 {
			t.Errorf("%s names no metric", path)
		}
		for _, name := range all {
			if known[name] == nil && name != "hale_token" {
				t.Errorf("%s names %s, which there is not", path, name)
			}
		}
	}
}

func TestTheMetricsAreAsPrometheusWantsThem(t *testing.T) {
	t.Parallel()
	said, err := prometheus.Promtool(t, strings.NewReader(scrape(t, everything(), everyone)), "check", "metrics")
	if err != nil || said != "" {
		t.Errorf("%v: %s", err, said)
	}
}

func TestTheAlertsFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	for _, what := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", rulesTests}} {
		if said, err := prometheus.Promtool(t, nil, what...); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
}

// Each alert says what is wrong, how urgent that is and what to do, in its rule, in the tests and in the guide.
func TestEachAlertIsTestedAndExplained(t *testing.T) {
	t.Parallel()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert               string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, rulesFile)), &file); err != nil {
		t.Fatal(err)
	}
	tests, pages := read(t, rulesTests), read(t, guide)
	for _, r := range file.Groups[0].Rules {
		if !slices.Contains([]string{"page", "warning", "info", "none"}, r.Labels["severity"]) {
			t.Errorf("%s has the severity %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s says too little", r.Alert)
		}
		if !strings.Contains(tests, `alertname="`+r.Alert+`"`) {
			t.Errorf("no test has %s fire", r.Alert)
		}
		if !strings.Contains(pages, "`"+r.Alert+"`") {
			t.Errorf("the guide does not say what to do about %s", r.Alert)
		}
	}
}

func TestTheDashboardIsWhole(t *testing.T) {
	t.Parallel()
	var board struct {
		Panels []struct {
			ID          int
			Type, Title string
			Targets     []struct{ Expr string }
			GridPos     struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &board); err != nil {
		t.Fatal(err)
	}
	seen, known, shown := map[int]bool{}, hales(t), map[string]bool{}
	for _, p := range board.Panels {
		if seen[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d (%s) is not well made", p.ID, p.Title)
		}
		seen[p.ID] = true
		for _, target := range p.Targets {
			for _, name := range named(target.Expr, known) {
				shown[name] = true
			}
		}
	}
	if len(shown) < len(known)/2 {
		t.Errorf("it shows %d metrics of %d", len(shown), len(known))
	}
}

// The reference names each metric, with its labels and its meaning.
func TestTheReferenceOfTheMetricsIsCurrent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Metrics\n\nAll of hale's metrics, at `/metrics` ([guide](../guide/monitoring.md)). Counters begin at 0 " +
		"when hale starts. A fleet's are read by those who may see it; those without a fleet, by those who may see all.\n\n" +
		"| metric | type | labels | meaning |\n|---|---|---|---|\n")
	all := hales(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()),
			strings.Join(labels, ", "), f.GetHelp())
	}
	if *update {
		if err := os.WriteFile(reference, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, reference) != b.String() {
		t.Errorf("%s is not current: go test ./internal/metrics -update", reference)
	}
}
