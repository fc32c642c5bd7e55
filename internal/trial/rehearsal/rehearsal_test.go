package rehearsal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/config/configtest"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/load"
	"hale/internal/sim/script"
	"hale/internal/sim/trace"
	"hale/internal/sim/verbs"
	"hale/internal/trial/rehearsal"
	"hale/internal/trial/scenario"

	"github.com/google/go-cmp/cmp"
)

const day = 24 * time.Hour

const page = "checks: {page: {http: {}, every: 5s}}"

func rehearse(t *testing.T, o rehearsal.Options) rehearsal.Outcome {
	t.Helper()
	out, err := rehearsal.Rehearse(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryExampleIsRehearsedWithoutAWrongAct(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(paths) < 7 {
		t.Fatalf("examples %v, %v", paths, err)
	}
	weather := rehearsal.Faults{Kinds: []script.Kind{
		script.KindMachine,
		script.KindStorm,
		script.KindPower,
		script.KindProvider,
		script.KindController,
		script.KindPerson,
	}}
	failures := exampleTrace(t)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(path, adapters.All())
			if err != nil {
				t.Fatal(err)
			}
			out := rehearse(t, rehearsal.Options{
				Config: c, Seed: 1, Horizon: 7 * day, Operator: time.Hour, Weather: weather,
			})
			if len(out.Fleets) != len(c.Fleets) || out.Faults < 10 || out.MachineDays < 7 {
				t.Errorf("%d fleets, %d faults in %v machine-days", len(out.Fleets), out.Faults, out.MachineDays)
			}
			for _, f := range out.Fleets {
				for _, m := range f.Wrong {
					t.Errorf("%s: law %s, %s: %s\n  %s",
						f.Name, m.Law, m.Machine, m.What, strings.Join(m.Around, "\n  "))
				}
			}
			out = rehearse(t, rehearsal.Options{Config: c, Seed: 1, Horizon: failures.Span(), Weather: failures})
			if !out.OK() || out.Faults < 3 {
				t.Errorf("the example's trace: %d faults, wrong: %+v", out.Faults, out.Score)
			}
		})
	}
}

// Machines that stood before the play bear its load from the first moment, also when nothing ever changes.
func TestWhatStandsAlreadyBearsTheLoad(t *testing.T) {
	t.Parallel()
	c, err := config.Load("../../../examples/autoscale.yaml", adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	out := rehearse(t, rehearsal.Options{
		Config: c, Seed: 1, Horizon: 2 * time.Hour, Weather: rehearsal.Faults{},
		Load: &load.Trace{Name: "calm", Points: []load.Point{{Units: 100}}},
	})
	if out.Faults > 0 || out.SecondsUnder > 0 || out.MachineHours < 4 {
		t.Errorf("%d faults; too small for %v s, %v machine-hours on", out.Faults, out.SecondsUnder, out.MachineHours)
	}
}

// What a policy tolerates above its target is no lack: no machine is added for that.
func TestAMachineTakesWhatIsToleratedAboveItsTarget(t *testing.T) {
	t.Parallel()
	c := configtest.Parse(t, `size: {min: 1, max: 9, metrics: {requests: {prometheus: {url: http://p:9090, query: q}}},
      opinions: {load: {metric: requests, target: 70, tolerance: 0.2}}}`, page)
	if got := rehearsal.Takes(c.Fleets[0].Sizing); got != 84 {
		t.Errorf("a machine takes %v, and is to take 70 and a fifth more", got)
	}
}

// exampleTrace reads the trace that the guide points to.
func exampleTrace(t *testing.T) rehearsal.Recorded {
	t.Helper()
	file, err := os.Open("../../../examples/failures.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f, err := trace.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return rehearsal.Recorded{Name: file.Name(), File: f}
}

func TestEqualOrdersHaveEqualOutcomes(t *testing.T) {
	t.Parallel()
	var said [2][]byte
	for i := range said {
		var trace bytes.Buffer
		out := rehearse(t, rehearsal.Options{
			Config: configtest.Parse(t, "size: 6", page), Seed: 7, Horizon: 3 * day, Operator: time.Hour,
			Weather: rehearsal.Usual(), Trace: &trace,
		})
		data, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		said[i] = append(data, trace.Bytes()...)
	}
	if !bytes.Equal(said[0], said[1]) {
		t.Error("the same order had two outcomes")
	}
	other := rehearse(t, rehearsal.Options{
		Config:  configtest.Parse(t, "size: 6", page),
		Seed:    8,
		Horizon: 3 * day,
		Weather: rehearsal.Usual(),
	})
	if data, err := json.Marshal(other); err != nil || bytes.HasPrefix(said[0], data) {
		t.Error("another seed changed nothing")
	}
}

func TestTheSumOfTheFleetsIsTheWhole(t *testing.T) {
	t.Parallel()
	c := configtest.Parse(t, "size: 4", page)
	c.Fleets = append(c.Fleets, c.Fleets[0])
	c.Fleets[1].Name = "shop"
	order := rehearsal.Options{
		Config:  c,
		Seed:    3,
		Horizon: 40 * day,
		Weather: rehearsal.Faults{Kinds: []script.Kind{script.KindMachine}},
	}
	out := rehearse(t, order)
	if len(out.Fleets) != 2 || out.Outages == 0 ||
		out.Outages != out.Fleets[0].Score.Outages+out.Fleets[1].Score.Outages {
		t.Errorf("%d outages in all, of %d fleets", out.Outages, len(out.Fleets))
	}
	order.Fleet = "shop"
	if alone := rehearse(t, order); len(alone.Fleets) != 1 || alone.Fleets[0].Name != "shop" ||
		alone.Outages != out.Fleets[1].Score.Outages {
		t.Errorf("by itself it is %+v", alone)
	}
	order.Fleet = "shpo"
	if _, err := rehearsal.Rehearse(order); err == nil || !strings.Contains(err.Error(), "there are web, shop") {
		t.Errorf("a fleet that is not there: %v", err)
	}
}

func TestAFleetWithoutABrakeIsSparedPartitionsUnlessTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	parted := func(out rehearsal.Outcome) bool {
		return slices.ContainsFunc(out.Fleets[0].Faults, func(f rehearsal.Fault) bool {
			return strings.HasSuffix(f.Kind, string(verbs.IsOutOfSight))
		})
	}
	order := rehearsal.Options{Config: configtest.Parse(t, "size: 1", page, "silence: act"), Seed: 1,
		Horizon: 20 * day, Weather: rehearsal.Usual()}
	out := rehearse(t, order)
	if parted(out) || len(out.DidNotFit) != 1 || !strings.Contains(out.DidNotFit[0], "--faults partition") {
		t.Errorf("parted: %v; did not fit: %v", parted(out), out.DidNotFit)
	}
	order.Weather = rehearsal.Faults{Kinds: []script.Kind{script.KindPartition}}
	if out = rehearse(t, order); !parted(out) || len(out.DidNotFit) != 0 {
		t.Errorf("parted: %v; did not fit: %v", parted(out), out.DidNotFit)
	}
}

func TestWhatARunShowsAboutThePolicyIsSaid(t *testing.T) {
	t.Parallel()
	const disk = "1m web-2 loses its disk"
	const storm = "1m web-1 crashes\n1m web-2 crashes\n1m web-3 crashes\n1m web-4 crashes"
	for name, c := range map[string]struct {
		fleet  []string
		events string
		says   string
	}{
		"only watched": {[]string{"size: 3", page, "mode: observe"}, disk,
			"hale only watched (mode: observe): it healed none of 1 outage"},
		"no recreate": {[]string{"size: 5", page, "repair: {steps: [start, reboot]}"}, disk,
			"the ladder ends with reboot and has no recreate"},
		"a kept disk": {[]string{"size: 5", page, "template: {image: x, disks: {root: keep}}"}, disk,
			"has no recreate (disk root is kept, which forbids it)"},
		"only pinged": {[]string{"size: 5", "checks: {alive: {ping: {}, every: 5s}}"}, "1m web-2 answers 503",
			"no check asks for what was lost, or unhealthy_when wants more (answers 503"},
		"one lost packet": {[]string{"size: 5", "checks: {alive: {ping: {}, every: 5s, down_after: 1}}"}, disk,
			"check alive has down_after: 1: a single lost packet"},
		"a storm": {[]string{"size: 10", page}, storm, "the brake engaged 1 time"},
		"no brake": {[]string{"size: 1", page, "silence: act"}, "1m web-1 crashes",
			"a fleet of 1 has no brake"},
		"one at a time": {[]string{"size: 40", page, "limits: {in_repair: 1, brake: {percent: 90%}}"},
			strings.ReplaceAll(storm, "crashes", "stops serving"),
			"of 4 repairs waited for their turn (limits.in_repair: 1)"},
		"it is not mended": {[]string{"size: 4", page, "repair: {steps: [start]}"}, disk,
			"1 machine was still down at the end: web-2"},
		"a quiet policy": {[]string{"size: 3", page}, disk, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := rehearse(t, rehearsal.Options{
				Config:  configtest.Parse(t, c.fleet...),
				Seed:    1,
				Horizon: time.Hour,
				Weather: story(t, "-- events --\n"+c.events+"\n"),
			})
			warned := strings.Join(out.Fleets[0].Warnings, "\n")
			if !strings.Contains(warned, c.says) || c.says == "" && warned != "" {
				t.Errorf("it says\n%s\nand was to say %q", warned, c.says)
			}
		})
	}
}

func TestFaultsAreSummedUpByWhatCameOfThem(t *testing.T) {
	t.Parallel()
	out := rehearse(t, rehearsal.Options{Config: configtest.Parse(t, "size: 5", page), Seed: 1, Horizon: 60 * day,
		Weather: rehearsal.Faults{Kinds: []script.Kind{script.KindMachine}}})
	f := out.Fleets[0]
	var times, outages int
	for _, row := range f.Faults {
		times += row.Times
		outages += row.Outages
		if sum := row.Healed + row.HealedPaged + row.ByItself + row.ByPerson + row.Open; sum != row.Outages {
			t.Errorf("%s: %d outages, and %d have an end or none", row.Kind, row.Outages, sum)
		}
	}
	if times != out.Faults || outages != out.Outages || outages == 0 {
		t.Errorf("%d faults of %d and %d outages of %d are in the table", times, out.Faults, outages, out.Outages)
	}
	crashes := func(f rehearsal.Fault) bool { return f.Kind == string(verbs.Crashes) }
	if i := slices.IndexFunc(f.Faults, crashes); i < 0 || f.Faults[i].Healed == 0 {
		t.Errorf("no crash was healed: %+v", f.Faults)
	}
	acts := 0
	for _, a := range f.Actions {
		acts += a.Times
	}
	if acts != out.Actions {
		t.Errorf("%d of %d actions are told", acts, out.Actions)
	}
}

func TestWrongActsComeWithTheLinesAroundThem(t *testing.T) {
	t.Parallel()
	out := rehearse(t, rehearsal.Options{Config: configtest.Parse(t, "size: 1", page, "silence: act"), Seed: 1,
		Horizon: 10 * day,
		Weather: rehearsal.Faults{Kinds: []script.Kind{script.KindPartition}}})
	if out.OK() || len(out.Fleets[0].Wrong) == 0 {
		t.Fatal("a machine out of sight was let alone, although the policy takes silence for death")
	}
	m := out.Fleets[0].Wrong[0]
	around := strings.Join(m.Around, "\n")
	if m.Law != "harm" || m.Machine == "" || !strings.Contains(around, "is out of sight of hale-1") ||
		!strings.Contains(around, "BROKEN harm "+m.Machine) {
		t.Errorf("%+v", m)
	}
}

func TestTheJSONNamesWhatItsReadersCountOn(t *testing.T) {
	t.Parallel()
	out := rehearse(t, rehearsal.Options{
		Config:  configtest.Parse(t, "size: 3", page),
		Seed:    1,
		Horizon: day,
		Weather: rehearsal.Usual(),
	})
	data, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, key := range []string{
		"machine_days", "faults", "healthy_destroyed", "double_instances", "lost_repairs", "unhealed", "late_heals",
		"held", "paged", "repairs", "heal_seconds_p50", "heal_seconds_p99", "seed", "weather", "fleets", "did_not_fit",
	} {
		if _, ok := got[key]; !ok {
			missing = append(missing, key)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Error(diff)
	}
	if _, ok := got["did_not_fit"].([]any); !ok {
		t.Errorf("did_not_fit is %v, and a list even when it is empty", got["did_not_fit"])
	}
	if f := out.Fleets[0]; f.Mode != policy.ModeAct || f.Hosts != 1 || f.Servers != 1 || f.Days != 1 {
		t.Errorf("the fleet is %+v", f)
	}
}

func fleetName(s string) fleet.Name { return fleet.Name(s) }

func TestTheLeastThatDoesItAgainIsFoundAndIsAScenarioFile(t *testing.T) {
	t.Parallel()
	out := rehearse(t, rehearsal.Options{
		Config:  configtest.Parse(t, "size: 1", page, "silence: act"),
		Seed:    1,
		Horizon: 20 * day,
		Weather: rehearsal.Faults{
			Kinds: []script.Kind{script.KindMachine, script.KindPartition, script.KindController},
		},
	})
	found := out.Find(nil)
	if len(found) != 1 || found[0].Events != 1 || found[0].Of < 20 || !found[0].Whole {
		t.Fatalf("found %+v", found)
	}
	s, err := scenario.Parse("found.txt", []byte(found[0].File))
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Play()
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Result.Violations) == 0 || again.Result.Violations[0].Law != found[0].Law || len(again.Problems) == 0 {
		t.Errorf("played again it breaks %+v", again.Result.Violations)
	}
	fine := rehearse(t, rehearsal.Options{
		Config:  configtest.Parse(t, "size: 3", page),
		Seed:    1,
		Horizon: day,
		Weather: rehearsal.Usual(),
	})
	if found := fine.Find(nil); len(found) != 0 {
		t.Errorf("nothing wrong was done, and %+v was found", found)
	}
}
