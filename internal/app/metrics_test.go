package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/app"
	"hale/internal/program/programtest"
)

// A whole hale asks for the metrics of its configuration: a server by a query, and a program.
func TestAWholeHaleReadsTheMetricsOfItsConfiguration(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		select {
		case asked <- q.UserAgent() + " " + string(body):
		default:
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"scalar","result":[%d,"1"]}}`, time.Now().Unix())
	}))
	t.Cleanup(s.Close)
	ran := filepath.Join(t.TempDir(), "ran")
	program := programtest.Script(t, "queue", `echo "$HALE_FLEET" >"`+ran+`"; echo 1`)
	h := newHouse(t, strings.Replace(quick, "size: 2", fmt.Sprintf(`size:
      min: 1
      max: 3
      metrics:
        requests: {prometheus: {url: %q, query: "sum(up)"}, every: 1s}
        queue: {command: [%q], every: 1s}
      opinions:
        by-requests: {metric: requests, target: 1}
        by-queue: {metric: queue, target: 1}
`, s.URL, program), 1))
	stop := h.run()
	defer stop()
	select {
	case said := <-asked:
		if !strings.HasPrefix(said, "hale/test ") || !strings.Contains(said, "query=sum%28up%29") {
			t.Errorf("the server is asked %q", said)
		}
	case <-time.After(patience):
		t.Fatal("the server is not asked")
	}
	h.await("the program runs", func(api.Fleet) bool {
		text, _ := os.ReadFile(ran)
		return string(text) == "web\n"
	})
}

// A plan reads a server's metrics once, so that a query which is wrong is found before it counts.
func TestAPlanTriesMetrics(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if body, _ := io.ReadAll(q.Body); strings.Contains(string(body), "many") {
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[`+
				`{"metric":{"a":"1"},"value":[%[1]d,"1"]},{"metric":{"a":"2"},"value":[%[1]d,"2"]}]}}`,
				time.Now().Unix())
			return
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"scalar","result":[%d,"1"]}}`, time.Now().Unix())
	}))
	t.Cleanup(s.Close)
	h := newHouse(t, strings.Replace(quick, "size: 2", fmt.Sprintf(`size:
      min: 1
      max: 3
      metrics:
        good: {prometheus: {url: %[1]q, query: "one"}}
        bad: {prometheus: {url: %[1]q, query: "many"}}
        gone: {command: [/nowhere/at/all]}
      opinions:
        a: {metric: good, target: 1}
        b: {metric: bad, target: 1}
        c: {metric: gone, target: 1}
`, s.URL), 1))
	p, err := app.Plan(t.Context(), app.PlanOptions{Config: h.config, DataDir: h.dir, Client: h.client(h.socket),
		Deep: true, Logger: h.options().Logger})
	if err != nil {
		t.Fatal(err)
	}
	for subject, fails := range map[string]bool{"metric good": false, "metric bad": true, "metric gone": true} {
		i := slices.IndexFunc(p.Trials, func(r api.Trial) bool { return strings.HasSuffix(r.Subject, subject) })
		if i < 0 || (p.Trials[i].Problem != "") != fails {
			t.Errorf("%s: %+v", subject, p.Trials)
		}
	}
}
