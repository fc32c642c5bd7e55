package metrics_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/access"
	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/defect"
	"hale/internal/metrics"
	"hale/internal/owner/published"
	"hale/internal/probe/bulkprobe"
	"hale/internal/provider"
	"hale/internal/state"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var dawn = time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)

var everyone = access.Principal{Name: "prometheus", Grants: []access.Grant{{Role: access.Viewer}}}

// nFleets are fleets of so many machines each. Of each one, a few machines are ill in every way.
func nFleets(fleets, machines int) []published.Fleet {
	out := make([]published.Fleet, fleets)
	for i := range out {
		spec := policy.Spec{Name: fleet.Name(fmt.Sprint("fleet-", i)),
			Provider: fleet.ProviderName(fmt.Sprint("lab-", i%10)),
			Mode:     policy.ModeAct, Size: machines,
			Limits: policy.Limits{InRepair: 3, Shared: []policy.SharedLimit{{Scope: policy.ScopeInstallation,
				InRepair: 40},
				{Scope: policy.ScopeProvider, InRepair: 20}, {Scope: policy.ScopeHost, InRepair: 2}},
				Brake: policy.Brake{Percent: 20, AtLeast: 2}},
			Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepStart}, {Kind: fleet.StepReboot},
				{Kind: fleet.StepRecreate}, {Kind: fleet.StepPage}}}}
		f := published.Fleet{Wanted: spec, Lease: 8 * time.Second, Machines: make([]situation.View, machines)}
		f.State.Spec, f.State.Now = spec, fleet.Now{Wall: dawn, Mono: 1}
		f.State.Slots = budget.Slots{{Machine: "fleet-0-1", Provider: "lab-0"},
			{Machine: "fleet-0-2", Provider: "lab-0", Start: true},
			{Machine: "fleet-1-1", Provider: "lab-1"}}
		f.State.Provider.Standing = fleet.ProviderUp
		f.State.Hosts = []fleet.Host{{Name: "h1", Up: true}, {Name: "h2"}}
		f.Tally = guard.Tally{Size: machines, Failing: 2, InRepair: 1}
		for k := range f.Machines {
			f.Machines[k].Machine, f.Machines[k].Checks = machine(spec.Name.Machine(k+1), k), asked(k)
		}
		out[i] = f
	}
	return out
}

func machine(name fleet.MachineName, k int) belief.Machine {
	m := belief.Machine{Name: name, Health: belief.Health{Verdict: belief.VerdictHealthy},
		Current: belief.Incarnation{ID: fleet.InstanceID("i-" + string(name)), Generation: 1}}
	switch k {
	case 0:
		m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
		m.Incident = &belief.Incident{ID: string(name) + "/1", Cause: belief.CauseChecks, Paged: true}
		m.Waiting = fleet.ReasonBudget
	case 1:
		m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseOff}
		m.Incident = &belief.Incident{ID: string(name) + "/1", Cause: belief.CauseOff}
		m.Repair = &belief.Repair{Kind: belief.RepairHeal}
	case 2:
		m.Health.Verdict, m.Quarantine = belief.VerdictUnhealthy, &belief.Quarantine{Since: dawn}
		m.Waiting = fleet.ReasonQuarantined
	case 3:
		m.Health.Verdict = belief.VerdictSuspect
	}
	return m
}

// asked are the checks of a machine.
func asked(k int) []fleet.CheckState {
	if k == 4 {
		return []fleet.CheckState{{Check: "page", Standing: fleet.StandingUnknown, Result: fleet.ResultLate}}
	}
	return []fleet.CheckState{{Check: "page", Standing: fleet.StandingUp, Result: fleet.ResultOK}}
}

func options(fleets []published.Fleet) metrics.Options {
	quiet := slog.New(slog.DiscardHandler)
	return metrics.Options{
		Version: "1.2.3", Started: dawn, Counts: metrics.NewCounts(), Logger: quiet,
		Fleets: func() []published.Fleet { return fleets }, Stored: func() published.Store { return published.Store{} },
		Defects: defect.NewRegister(quiet),
		Room: func() (state.Space, error) {
			return state.Space{Free: 1 << 30, Total: 1 << 34, Used: 1 << 20, Quota: 1 << 31}, nil
		},
		Probes: func() (bulkprobe.Stats, bool) {
			return bulkprobe.Stats{Targets: 7, Started: 100, Skipped: 3, Late: time.Second}, true
		},
	}
}

// scrape returns the answer as Prometheus gets it.
func scrape(t testing.TB, o metrics.Options, as access.Principal) string {
	t.Helper()
	return served(t, metrics.Handler(o), as)
}

func served(t testing.TB, h http.Handler, as access.Principal) string {
	t.Helper()
	r := httptest.NewRequestWithContext(access.With(t.Context(), as), http.MethodGet, "/metrics", http.NoBody)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v %s", w.Code, err, body)
	}
	return string(body)
}

// parsed are the families of an answer by name.
func parsed(t testing.TB, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	out, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// has reports whether each line stands in the answer.
func has(t testing.TB, text string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains("\n"+text, "\n"+want+"\n") {
			name, _, _ := strings.Cut(want, "{")
			var near []string
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, name) {
					near = append(near, line)
				}
			}
			t.Errorf("%s is not there, but\n%s", want, strings.Join(near, ""))
		}
	}
}

// lacks reports whether no line of the answer begins with one of these.
func lacks(t testing.TB, text string, beginnings ...string) {
	t.Helper()
	for _, no := range beginnings {
		if strings.Contains("\n"+text, "\n"+no) {
			t.Errorf("there is %s", no)
		}
	}
}

func TestHowAFleetStandsIsTold(t *testing.T) {
	t.Parallel()
	text := scrape(t, options(nFleets(1, 10)), everyone)
	has(t, text,
		`hale_machines{fleet="fleet-0",verdict="healthy"} 6`, `hale_machines{fleet="fleet-0",verdict="unhealthy"} 3`,
		`hale_machines{fleet="fleet-0",verdict="suspect"} 1`, `hale_machines{fleet="fleet-0",verdict="starting"} 0`,
		`hale_checks{fleet="fleet-0",standing="up"} 9`, `hale_checks_unknown{fleet="fleet-0",result="late"} 1`,
		`hale_machines_held{fleet="fleet-0",reason="budget"} 1`,
		`hale_machines_in_repair{fleet="fleet-0",kind="heal"} 1`,
		`hale_machines_waiting_for_person{fleet="fleet-0"} 2`, `hale_machines_quarantined{fleet="fleet-0"} 1`,
		`hale_incidents_open{cause="off",fleet="fleet-0"} 1`,
		`hale_fleet_brake_engaged{fleet="fleet-0"} 0`, `hale_fleet_brake_limit{fleet="fleet-0"} 2`,
		`hale_fleet_repair_budget{fleet="fleet-0"} 3`, `hale_fleet_repair_budget_left{fleet="fleet-0"} 2`,
		`hale_fleet_info{fleet="fleet-0",mode="act",provider="lab-0"} 1`, `hale_fleet_acting{fleet="fleet-0"} 1`,
		`hale_fleet_lease_remaining_seconds{fleet="fleet-0"} 8`,
		`hale_repair_budget 40`, `hale_repair_budget_used 2`, `hale_provider_repair_budget{provider="lab-0"} 20`,
		`hale_provider_repair_budget_used{provider="lab-0"} 1`,
		`hale_provider_up{provider="lab-0"} 1`, `hale_provider_hosts{answers="no",provider="lab-0"} 1`,
		`hale_store_takes 1`, `hale_store_size_bytes 1.048576e+06`, `hale_probes_skipped_total 3`,
		`hale_panics_total 0`, `hale_incidents_opened_total{cause="checks",fleet="fleet-0"} 0`,
	)
	if strings.Contains(text, "hale_heartbeat") {
		t.Error("there is a heartbeat of a hale that did not act yet")
	}
}

// A failure is counted from its first sign to its end, and a second scrape does not count it again.
func TestAFailureIsCountedFromTheJournal(t *testing.T) {
	t.Parallel()
	o := options(nFleets(1, 10))
	at := func(s int) time.Time { return dawn.Add(time.Duration(s) * time.Second) }
	scrape(t, o, everyone)
	for _, r := range []record.Record{
		{Kind: record.Verdict, At: at(0), Was: belief.VerdictHealthy, Verdict: belief.VerdictSuspect},
		{Kind: record.Verdict, At: at(7), Was: belief.VerdictSuspect, Verdict: belief.VerdictUnhealthy},
		{Kind: record.IncidentOpen, At: at(7), Cause: belief.CauseChecks},
		{Kind: record.RepairStarted, At: at(8), Reason: fleet.Reason(belief.RepairHeal)},
		{Kind: record.StepSkipped, At: at(8), Step: fleet.StepStart, Reason: fleet.ReasonNotOff},
		{Kind: record.StepFailed, At: at(20), Step: fleet.StepReboot, Reason: fleet.ReasonNotVerified},
		{Kind: record.Paged, At: at(20), Reason: fleet.ReasonStepPage},
		{Kind: record.Order, At: at(21), Command: fleet.OrderHeal},
		{Kind: record.Order, At: at(21), Command: fleet.OrderHeal, Reason: fleet.ReasonInRepair},
		{Kind: record.Verdict, At: at(90), Was: belief.VerdictUnhealthy, Verdict: belief.VerdictHealthy},
		{Kind: record.Verified, At: at(90), Step: fleet.StepRecreate},
		{Kind: record.RepairEnded, At: at(91), Reason: fleet.ReasonHealed},
		{Kind: record.IncidentClosed, At: at(91), Reason: fleet.ReasonHealed, Took: 84 * time.Second, Paged: true},
		{Kind: record.Notified, At: at(92), Target: "ops"},
		{Kind: record.Undelivered, At: at(93), Target: "chat", Reason: fleet.ReasonTriesSpent},
	} {
		r.Fleet, r.Machine = "fleet-0", "fleet-0-3"
		o.Counts.Take(r)
	}
	for range 2 {
		has(t, scrape(t, o, everyone),
			`hale_incidents_opened_total{cause="checks",fleet="fleet-0"} 1`,
			`hale_incidents_closed_total{fleet="fleet-0",reason="healed"} 1`,
			`hale_repairs_started_total{fleet="fleet-0",kind="heal"} 1`,
			`hale_repairs_ended_total{fleet="fleet-0",reason="healed"} 1`,
			`hale_repair_steps_total{fleet="fleet-0",result="skipped",step="start"} 1`,
			`hale_repair_steps_total{fleet="fleet-0",result="failed",step="reboot"} 1`,
			`hale_repair_steps_total{fleet="fleet-0",result="verified",step="recreate"} 1`,
			`hale_repair_steps_total{fleet="fleet-0",result="verified",step="reboot"} 0`,
			`hale_pages_total{fleet="fleet-0",reason="step-page"} 1`,
			`hale_orders_total{command="heal",fleet="fleet-0",result="refused"} 1`,
			`hale_failure_to_verdict_seconds_sum{fleet="fleet-0"} 7`,
			`hale_failure_to_verdict_seconds_count{fleet="fleet-0"} 1`,
			`hale_failure_to_healed_seconds_sum{fleet="fleet-0",reason="healed"} 91`,
			`hale_failure_to_healed_seconds_bucket{fleet="fleet-0",reason="healed",le="120"} 1`,
			`hale_failure_to_healed_seconds_bucket{fleet="fleet-0",reason="healed",le="60"} 0`,
			`hale_notifications_total{result="taken",target="ops"} 1`,
			`hale_notifications_total{result="given-up",target="chat"} 1`,
			`hale_records_total{kind="verdict"} 3`,
		)
	}
}

// A machine that was ill before hale was started has no first sign that was seen: its incident's own time counts.
func TestAFailureThatBeganBeforeHaleIsCountedAsItsIncident(t *testing.T) {
	t.Parallel()
	o := options(nFleets(1, 10))
	o.Counts.Take(record.Record{Fleet: "fleet-0", Machine: "fleet-0-1", Kind: record.Verdict, At: dawn,
		Was: belief.VerdictSuspect, Verdict: belief.VerdictUnhealthy})
	o.Counts.Take(record.Record{Fleet: "fleet-0", Machine: "fleet-0-1", Kind: record.IncidentClosed, At: dawn,
		Reason: fleet.ReasonRecovered, Took: time.Minute})
	has(t, scrape(t, o, everyone), `hale_failure_to_verdict_seconds_count{fleet="fleet-0"} 0`,
		`hale_failure_to_healed_seconds_sum{fleet="fleet-0",reason="recovered"} 60`)
}

// A fleet that leaves the configuration leaves the metrics, too.
func TestAFleetThatLeftHasNoSeries(t *testing.T) {
	t.Parallel()
	fleets := nFleets(2, 3)
	o := options(fleets)
	shown := 2
	o.Fleets = func() []published.Fleet { return fleets[:shown] }
	h := metrics.Handler(o)
	if !strings.Contains(served(t, h, everyone), `fleet="fleet-1"`) {
		t.Fatal("the second fleet is not there")
	}
	shown = 1
	if text := served(t, h, everyone); strings.Contains(text, `fleet="fleet-1"`) {
		t.Error("the second fleet is still there")
	}
}

// A caller sees the metrics of the fleets that they may see, and what belongs to no fleet only if they may see all.
func TestACallerSeesTheirOwnFleets(t *testing.T) {
	t.Parallel()
	o := options(nFleets(2, 3))
	o.Counts.Called("lab-0", provider.Call{Op: provider.OpList}, time.Second, nil)
	text := scrape(t, o, access.Principal{Grants: []access.Grant{{Role: access.Operator,
		Fleets: []fleet.Name{"fleet-1"}}}})
	for _, family := range parsed(t, text) {
		for _, m := range family.GetMetric() {
			if !strings.Contains(m.String(), `"fleet-1"`) {
				t.Errorf("%s shows %s", family.GetName(), m)
			}
		}
	}
	has(t, text, `hale_fleet_acting{fleet="fleet-1"} 1`)

	w := httptest.NewRecorder()
	metrics.Handler(o).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics",
		http.NoBody))
	if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "hale_") {
		t.Errorf("a caller who cannot be told gets %d %s", w.Code, w.Body)
	}
}

func TestEachMachineHasSeriesOnlyWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	o := options(nFleets(1, 4))
	if text := scrape(t, o, everyone); strings.Contains(text, "fleet-0-1") {
		t.Error("a machine has a series")
	}
	o.Machines = func() bool { return true }
	has(t, scrape(t, o, everyone), `hale_machine_verdict{fleet="fleet-0",machine="fleet-0-1",verdict="unhealthy"} 1`,
		`hale_machine_held{fleet="fleet-0",machine="fleet-0-1",reason="budget"} 1`)
}

func TestCallsAndWritesAreCounted(t *testing.T) {
	t.Parallel()
	o := options(nFleets(1, 1))
	o.Counts.Called("lab-0", provider.Call{Op: fleet.OpReboot}, 3*time.Second, errUnknown)
	o.Counts.Called("lab-0", provider.Call{Op: provider.OpList}, 30*time.Millisecond, nil)
	o.Counts.Committed(time.Millisecond, nil)
	o.Counts.Beat(dawn)
	has(t, scrape(t, o, everyone),
		`hale_provider_calls_total{call="reboot",provider="lab-0",result="unknown-outcome"} 1`,
		`hale_provider_call_duration_seconds_sum{call="reboot",provider="lab-0"} 3`,
		`hale_store_transactions_total{result="ok"} 1`, `hale_heartbeat_timestamp_seconds 1.7935128e+09`)
}

// busy has counted everything that there is to count, in every fleet.
func busy(o metrics.Options) {
	for _, f := range o.Fleets() {
		for _, kind := range []record.Kind{record.IncidentOpen, record.IncidentClosed,
			record.RepairStarted, record.RepairEnded, record.Paged, record.Held} {
			for _, reason := range []fleet.Reason{"healed", "recovered", "heal", "build", "exhausted", "attempts"} {
				for _, cause := range []belief.Cause{belief.CauseChecks, belief.CauseGone, belief.CauseMissing} {
					o.Counts.Take(record.Record{Fleet: f.Spec.Name, Machine: f.Spec.Name.Machine(1), Kind: kind,
						Reason: reason, Cause: cause, Step: fleet.StepReboot})
				}
			}
		}
		for _, op := range []fleet.Op{provider.OpList, provider.OpGet, fleet.OpReboot, fleet.OpCreate, fleet.OpDelete} {
			o.Counts.Called(f.Spec.Provider, provider.Call{Op: op}, time.Second, nil)
		}
	}
}

// Several read at once while hale counts, and fleets come and go.
func TestMetricsAreReadWhileHaleWorks(t *testing.T) {
	t.Parallel()
	fleets := nFleets(3, 5)
	o := options(fleets)
	var scrapes atomic.Int64
	o.Fleets = func() []published.Fleet { return fleets[:1+scrapes.Add(1)%3] }
	h := metrics.Handler(o)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 20 {
				parsed(t, served(t, h, everyone))
			}
		})
		wg.Go(func() {
			for k := range 200 {
				f := fleets[k%3].Spec.Name
				o.Counts.Take(record.Record{Fleet: f, Machine: f.Machine(i + 1), Kind: record.Verdict,
					Was: belief.VerdictHealthy, Verdict: belief.VerdictUnhealthy})
				o.Counts.Take(record.Record{Fleet: f, Machine: f.Machine(i + 1), Kind: record.IncidentClosed,
					Reason: fleet.ReasonHealed})
				o.Counts.Called("lab-0", provider.Call{Op: provider.OpList}, time.Millisecond, nil)
				o.Counts.Beat(dawn)
			}
		})
	}
	wg.Wait()
}

// A hundred thousand machines in a hundred fleets are told in less than 2 MB, with no machine's name in it.
func TestAHundredThousandMachinesFitIntoTwoMegabytes(t *testing.T) {
	t.Parallel()
	o := options(nFleets(100, 1000))
	busy(o)
	text := scrape(t, o, everyone)
	series := strings.Count(text, "\n") - strings.Count(text, "\n#")
	t.Logf("%d bytes, %d series", len(text), series)
	if len(text) >= 2<<20 {
		t.Errorf("%d bytes", len(text))
	}
	if strings.Contains(text, "machine=") {
		t.Error("a machine has series of its own")
	}
}

func BenchmarkScrapeOfAHundredThousandMachines(b *testing.B) {
	o := options(nFleets(100, 1000))
	busy(o)
	h := metrics.Handler(o)
	for b.Loop() {
		b.SetBytes(int64(len(served(b, h, everyone))))
	}
}

var errUnknown = fault.New(fault.UnknownOutcome, "test", "", nil)
