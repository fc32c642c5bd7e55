package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/bench/rig"
	"hale/internal/core/belief"
)

// figures are what a run finds.
type figures struct {
	Machines       int     `json:"machines"`
	Fleets         int     `json:"fleets"`
	EverySeconds   float64 `json:"every_seconds"`
	AnswerSeconds  float64 `json:"start_to_socket_seconds"`
	KnownSeconds   float64 `json:"start_to_all_healthy_seconds"`
	KnownCPU       float64 `json:"start_cpu_seconds"`
	KnownMiB       float64 `json:"start_peak_resident_mib"`
	RestMiB        float64 `json:"rest_resident_mib"`
	RestAnonMiB    float64 `json:"rest_anonymous_mib"`
	RestCores      float64 `json:"rest_cores"`
	ScrapeSeconds  float64 `json:"scrape_seconds"` // the slowest of some
	ScrapeMiB      float64 `json:"scrape_mib"`
	Dead           int     `json:"dead"`
	Found          int     `json:"found"`
	FoundP50       float64 `json:"found_p50_seconds"`
	FoundP99       float64 `json:"found_p99_seconds"`
	FoundMax       float64 `json:"found_max_seconds"`
	Wrong          int     `json:"wrongly_failing"`
	ReturnSeconds  float64 `json:"all_healthy_again_seconds"`
	ReadySeconds   float64 `json:"restart_to_all_healthy_seconds"`
	ReadyCPU       float64 `json:"restart_cpu_seconds"`
	ReadyMiB       float64 `json:"restart_peak_resident_mib"`
	AgainMiB       float64 `json:"restart_rest_resident_mib"`
	FailureCores   float64 `json:"failure_cores"`
	DataMiB        float64 `json:"data_mib"`
	PeakMiB        float64 `json:"peak_resident_mib"`
	WrongEver      int     `json:"wrong_verdicts_in_the_journal"`
	ListingSeconds float64 `json:"provider_program_seconds"`
}

// patience bounds every wait.
const patience = 10 * time.Minute

// trial is one run.
type trial struct {
	options
	dir     string
	state   string   // what the configuration says of it; empty: nothing, it is in hale itself
	args    []string // of hale run
	program *program
	client  *api.Client
	told    figures
}

func measure(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "controller")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t := &trial{options: o, dir: dir}
	t.told.Machines, t.told.Fleets, t.told.EverySeconds = o.machines, o.fleets, o.every.Seconds()
	defer func() {
		if t.program != nil {
			t.program.end()
		}
	}()
	steps := []func(context.Context) error{
		t.configure, t.list, t.start, t.rest, t.scrape, t.fail, t.mend, t.restart,
	}
	if t.dead == 0 {
		steps = []func(context.Context) error{t.configure, t.list, t.start, t.rest, t.restart}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%w\n%s", err, tail(filepath.Join(dir, "log")))
		}
	}
	return o.tell(t.told)
}

// tell prints the figures, and writes them into the file for them, if there is one.
func (o *options) tell(told any) error {
	text, err := json.MarshalIndent(told, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, append(text, '\n'), 0o600)
}

func tail(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(b[max(0, len(b)-2000):])
}

// configure writes hale's configuration: it watches, and touches nothing.
func (t *trial) configure(context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		"providers:\n  field: {type: exec, command: [%s, provider, \"%d\", \"%d\"], poll: 1m, timeout: 1m}\nfleets:\n",
		self, t.machines, t.fleets)
	for i := range t.fleets {
		f := fleetOf(i, t.fleets)
		fmt.Fprintf(&b,
			"  %s:\n    provider: field\n    mode: observe\n    select: {name: \"%s-*\"}\n    checks: {alive: {ping: "+
				"{}, every: %s, timeout: %s, down_after: 3, up_after: 1}}\n",
			f, f, t.every, min(t.every*9/10, 2*time.Second))
	}
	b.WriteString(t.state)
	return os.WriteFile(filepath.Join(t.dir, "hale.yaml"), []byte(b.String()), 0o600)
}

// list tells how long the provider's program takes by itself.
func (t *trial) list(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "provider", fmt.Sprint(t.machines), fmt.Sprint(t.fleets))
	cmd.Stdin = strings.NewReader(`{"operation": "list"}`)
	at := time.Now()
	_, err = cmd.Output()
	t.told.ListingSeconds = time.Since(at).Seconds()
	return err
}

// start starts hale, and waits until it has found every machine healthy.
func (t *trial) start(ctx context.Context) (err error) {
	at := time.Now()
	if t.program, err = begin(t.hale, t.dir, t.args...); err != nil {
		return err
	}
	t.client = api.Dial(filepath.Join(t.dir, "data", "hale.sock"))
	if err := t.await(ctx, 200*time.Millisecond, func() (bool, error) {
		_, err := os.Stat(filepath.Join(t.dir, "data", "hale.sock"))
		return err == nil, nil
	}); err != nil {
		return err
	}
	t.told.AnswerSeconds = time.Since(at).Seconds()
	err = t.await(ctx, time.Second, t.allHealthy(ctx))
	t.told.KnownSeconds, t.told.KnownCPU = time.Since(at).Seconds(), t.program.CPU().Seconds()
	t.told.KnownMiB = t.program.Memory("VmHWM")
	return errors.Join(err, t.profile(ctx, "start"))
}

// await asks again and again.
func (t *trial) await(ctx context.Context, every time.Duration, cond func() (bool, error)) error {
	for deadline := time.Now().Add(patience); ; {
		if t.program.Over() {
			return errors.New("hale has ended")
		}
		is, err := cond()
		if err != nil || is {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %s", patience)
		}
		if err := rig.Pass(ctx, every); err != nil {
			return err
		}
	}
}

func (t *trial) allHealthy(ctx context.Context) func() (bool, error) {
	return func() (bool, error) {
		healthy := 0
		for f, err := range api.All(func(p api.Page) (api.List[api.FleetSummary], error) {
			return t.client.Fleets(ctx, p)
		}) {
			if err != nil {
				return false, ctx.Err() // not yet
			}
			healthy += f.Healthy
		}
		return healthy == t.machines, nil
	}
}

// rest measures hale with nothing to do but to probe.
func (t *trial) rest(ctx context.Context) error {
	if err := rig.Pass(ctx, t.restAfter()); err != nil {
		return err
	}
	cpu, at := t.program.CPU(), time.Now()
	if err := rig.Pass(ctx, t.options.rest); err != nil {
		return err
	}
	t.told.RestCores = (t.program.CPU() - cpu).Seconds() / time.Since(at).Seconds()
	t.told.RestMiB, t.told.RestAnonMiB = t.program.Memory("VmRSS"), t.program.Memory("RssAnon")
	t.told.DataMiB = folder(filepath.Join(t.dir, "data"))
	return t.profile(ctx, "rest")
}

// profile keeps what lives, and what was allocated since the start, in the folder of the profiles, if there is one.
func (t *trial) profile(ctx context.Context, name string) error {
	if t.profiles == "" {
		return nil
	}
	for _, kind := range []string{"heap", "goroutine"} {
		b, err := t.get(ctx, "/debug/pprof/"+kind)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(t.profiles, name+"."+kind), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// get reads what the API's own client does not have.
func (t *trial) get(ctx context.Context, path string) ([]byte, error) {
	socket := filepath.Join(t.dir, "data", "hale.sock")
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	defer client.CloseIdleConnections()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hale"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept-Encoding", "identity")
	answer, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return text, err
}

// scrapes is how often the metrics are read.
const scrapes = 10

// scrape measures how long what monitoring reads takes, and how much that is.
func (t *trial) scrape(ctx context.Context) error {
	for range scrapes {
		at := time.Now()
		text, err := t.get(ctx, "/metrics")
		if err != nil {
			return err
		}
		t.told.ScrapeSeconds = max(t.told.ScrapeSeconds, time.Since(at).Seconds())
		t.told.ScrapeMiB = float64(len(text)) / (1 << 20)
	}
	return nil
}

// restAfter is when what the start left behind is over.
func (t *trial) restAfter() time.Duration { return 20*time.Second + 2*t.every }

// fail silences machines at random, and waits until hale has found each.
func (t *trial) fail(ctx context.Context) error {
	dead := map[string]bool{}
	var addresses []string
	random := rand.New(rand.NewPCG(t.seed, 0)) //nolint:gosec // a choice that can be made again
	for _, i := range random.Perm(t.machines)[:int(float64(t.machines)*t.dead)] {
		dead[nameOf(i, t.fleets)] = true
		addresses = append(addresses, addressOf(i).String())
	}
	t.told.Dead = len(dead)
	cpu, at := t.program.CPU(), time.Now()
	if err := silence(ctx, t.dir, addresses); err != nil {
		return err
	}
	within := 3*t.every + min(t.every, 2*time.Second)
	if err := rig.Pass(ctx, within+5*time.Second); err != nil {
		return err
	}
	found, wrong, err := t.failing(ctx, dead)
	for deadline := time.Now().Add(patience / 10); err == nil && found < len(dead) && time.Now().Before(deadline); {
		if err = rig.Pass(ctx, time.Second); err == nil {
			found, wrong, err = t.failing(ctx, dead)
		}
	}
	t.told.FailureCores = (t.program.CPU() - cpu).Seconds() / time.Since(at).Seconds()
	t.told.Found, t.told.Wrong = found, wrong
	if err != nil {
		return err
	}
	return t.times(ctx, dead, at)
}

// failing counts those that are rightly and wrongly held for unhealthy now.
func (t *trial) failing(ctx context.Context, dead map[string]bool) (found, wrong int, err error) {
	s, err := t.client.Status(ctx)
	for _, f := range s.Fleets {
		for k := range f.Machines {
			switch m := &f.Machines[k]; {
			case m.Verdict != string(belief.VerdictUnhealthy):
			case dead[m.Alias]:
				found++
			default:
				wrong++
			}
		}
	}
	return found, wrong, err
}

// times reads in the journal when each was found unhealthy, and whether any that was not silent ever was.
func (t *trial) times(ctx context.Context, dead map[string]bool, at time.Time) error {
	first := map[string]time.Duration{}
	wrong := map[string]bool{}
	for e, err := range t.client.Events(ctx, api.EventsQuery{}) {
		if err != nil {
			return err
		}
		if e.Verdict != string(belief.VerdictUnhealthy) || e.At.Before(at) {
			continue
		}
		if !dead[e.Alias] {
			wrong[e.Alias] = true
		} else if _, is := first[e.Alias]; !is {
			first[e.Alias] = e.At.Sub(at)
		}
	}
	t.told.WrongEver = len(wrong)
	all := slices.Sorted(maps.Values(first))
	if len(all) > 0 {
		t.told.FoundP50 = all[len(all)/2].Seconds()
		t.told.FoundP99 = all[len(all)*99/100].Seconds()
		t.told.FoundMax = all[len(all)-1].Seconds()
	}
	return nil
}

// mend lets all of them answer again.
func (t *trial) mend(ctx context.Context) error {
	at := time.Now()
	if err := silence(ctx, t.dir, nil); err != nil {
		return err
	}
	err := t.await(ctx, time.Second, t.allHealthy(ctx))
	t.told.ReturnSeconds = time.Since(at).Seconds()
	t.told.PeakMiB = t.program.Memory("VmHWM")
	return err
}

// restart ends hale and starts it again on what it knows.
func (t *trial) restart(ctx context.Context) (err error) {
	t.program.end()
	at := time.Now()
	if t.program, err = begin(t.hale, t.dir); err != nil {
		return err
	}
	err = t.await(ctx, time.Second, t.allHealthy(ctx))
	t.told.ReadySeconds, t.told.ReadyCPU = time.Since(at).Seconds(), t.program.CPU().Seconds()
	t.told.ReadyMiB = t.program.Memory("VmHWM")
	if err := errors.Join(err, t.profile(ctx, "restart")); err != nil {
		return err
	}
	if err := rig.Pass(ctx, t.restAfter()+t.options.rest); err != nil {
		return err
	}
	t.told.AgainMiB = t.program.Memory("VmRSS")
	return t.profile(ctx, "again")
}
