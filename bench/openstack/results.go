package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// results are everything that was measured. All times are seconds.
type results struct {
	Began      time.Time
	Took       string
	Conditions string
	Builds     []build
	Recoveries []recovery
	Costs      []cost
	APIFaults  []apiFault
	Kills      []killed
}

type build struct {
	Size    int
	Seconds float64
}

// recovery is one trial. The lists are sorted, one entry for each server that failed.
type recovery struct {
	Size    int
	Failed  int
	Fault   string
	By      way
	Told    []float64 // from the request for the failure until Nova had done it, and told so
	Decided []float64 // from the request to the beginning of the repair
	Started []float64 // to the first call
	Since   []float64 // from Nova's word to the first call
	Healthy []float64 // from the request
	Wrong   int       // machines that were ordered something although they had not failed
}

func (r recovery) String() string {
	return fmt.Sprintf("%d of %d by %s, %s: told after %s, decided after %s, first call after %s (since told %s), "+
		"healthy after %s, wrong %d",
		r.Failed, r.Size, r.By, r.Fault, span(r.Told), span(r.Decided), span(r.Started), span(r.Since), span(r.Healthy),
		r.Wrong)
}

type cost struct {
	Size          int
	Window        string
	Polls         int
	Calls         map[string]int
	Cloud         float64 // processor seconds of all services, without those of the idle cloud
	PerServerPoll float64
	Hale          float64
	Idle, Busy    map[string]float64 // per service
}

type apiFault struct {
	Kind  string
	Size  int
	Wrong int // machines that were ordered something
	Lost  int // machines with another server afterwards
}

type killed struct {
	Healthy     float64 // from the restart
	Orphans     int     // servers
	OrphanPorts int
}

// done reports whether a part was measured already.
func (r *results) done(part string) bool {
	if part == "kill" {
		return len(r.Kills) > 0
	}
	for _, f := range r.APIFaults {
		if f.Kind == part {
			return true
		}
	}
	return false
}

// conditions say on what the figures were taken.
func conditions() string {
	load, _ := os.ReadFile("/proc/loadavg") // without it they say less
	return fmt.Sprintf("%d cores, load at the beginning %s; Nova with its fake driver, one compute host for each",
		runtime.NumCPU(), strings.Join(strings.Fields(string(load))[:1], ""))
}

// span writes the smallest, the middle and the largest of sorted figures.
func span(s []float64) string {
	if len(s) == 0 {
		return "-"
	}
	if len(s) == 1 {
		return fmt.Sprintf("%.2f", s[0])
	}
	return fmt.Sprintf("%.2f / %.2f / %.2f", s[0], s[len(s)/2], s[len(s)-1])
}

func (r *results) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}

// What the retired Senlin 14 did on the same kind of cloud.
const (
	senlinStarted = "1.4 / 8.6 / 30.5 (one of ten, polled every 10 s; 2 of 12 never)"
	senlinHealthy = "9.8 / 16.7 / 40.1; 20 % of 50: 79 to 93"
	senlinCost    = 0.29
)

func (r *results) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 4, 2, ' ', 0)
	line := func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }
	line("seconds from the request for the failure: smallest / middle / largest")
	line("trial", "Nova had done it", "decided", "first call", "first call since then", "healthy", "wrong")
	line("Senlin 14, by poll", "", "", senlinStarted, "", senlinHealthy, "")
	line("Senlin 14, by event", "", "never", "", "", "", "")
	for _, t := range r.Recoveries {
		line(fmt.Sprintf("%d of %d, %s, by %s", t.Failed, t.Size, t.Fault, t.By), span(t.Told), span(t.Decided),
			span(t.Started), span(t.Since), span(t.Healthy), fmt.Sprint(t.Wrong))
	}
	line("")
	line("cost of watching",
		"CPU s per server and poll", "Senlin 14: "+fmt.Sprint(senlinCost), "times less", "calls per poll")
	for _, c := range r.Costs {
		calls := 0
		for _, n := range c.Calls {
			calls += n
		}
		line(fmt.Sprintf("%d servers, %d polls", c.Size, c.Polls), fmt.Sprintf("%.5f", c.PerServerPoll), "",
			fmt.Sprintf("%.0f", senlinCost/max(c.PerServerPoll, 1e-6)),
			fmt.Sprintf("%.2f", float64(calls)/float64(c.Polls)))
	}
	line("")
	line("fault", "wrong recoveries", "servers lost", "Senlin 14")
	for _, f := range r.APIFaults {
		senlin := "0 wrong"
		if f.Kind == "404" {
			senlin = "10 of 10 wrong, 10 healthy servers orphaned"
		}
		line(fmt.Sprintf("Nova's API: %s, %d servers", f.Kind, f.Size), fmt.Sprint(f.Wrong), fmt.Sprint(f.Lost), senlin)
	}
	line("")
	line("killed in a create", "restart to healthy", "orphans", "orphan ports", "Senlin 14")
	for _, k := range r.Kills {
		line("", fmt.Sprintf("%.2f", k.Healthy), fmt.Sprint(k.Orphans), fmt.Sprint(k.OrphanPorts),
			"142 to 206 s, an orphan")
	}
	_ = w.Flush() // a terminal that is gone
}
