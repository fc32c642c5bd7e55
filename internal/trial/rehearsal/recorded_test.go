package rehearsal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/config/configtest"
	"hale/internal/sim/script"
	"hale/internal/sim/trace"
	"hale/internal/sim/verbs"
	"hale/internal/trial/rehearsal"
)

func recorded(t *testing.T, rows ...string) rehearsal.Recorded {
	t.Helper()
	f, err := trace.Read(strings.NewReader(strings.Join(rows, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return rehearsal.Recorded{Name: "t.csv", File: f}
}

// replayed plays a trace on a fleet for as long as it lasts, and returns its plan as scenario files write it.
func replayed(t *testing.T, c *config.Config, r rehearsal.Recorded) (out rehearsal.Outcome, plan []string) {
	t.Helper()
	out = rehearse(t, rehearsal.Options{Config: c, Seed: 1, Horizon: r.Span(), Weather: r})
	for _, e := range out.Fleets[0].Options.Plan {
		plan = append(plan, e.At.String()+" "+e.String())
	}
	return out, plan
}

func TestOutagesBecomeEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows []string
		want []string
	}{
		"a cause of ours, with an end": {[]string{"start,end,node,cause", "60,3660,a,crash", "120,150,b,Slow"},
			[]string{"11m0s web-1 crashes for 1h", "12m0s web-2 is too slow for 30s"}},
		"a verb of scenario files": {[]string{
			"start,end,node,cause", "0,60,a,answers 503", "1,61,b,loses its network", "2,62,c,vanishes",
		},
			[]string{
				"10m0s web-1 answers 503 for 1m", "10m1s web-2 loses its network for 1m",
				"10m2s web-3 vanishes for 1m",
			}},
		"dates begin with the first": {[]string{
			"start,end,node,cause",
			"2026-03-01T10:00:00Z,2026-03-01T10:05:00Z,a,hang",
			"2026-03-01T11:00:00Z,2026-03-01T11:05:00Z,a,hang",
		},
			[]string{"10m0s web-1 hangs for 5m", "1h10m0s web-1 hangs for 5m"}},
		"nodes that are machines of the fleet are themselves": {[]string{
			"start,end,node,cause", "0,60,web-3,hang", "1,61,web-1,hang",
		},
			[]string{"10m0s web-3 hangs for 1m", "10m1s web-1 hangs for 1m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, plan := replayed(t, configtest.Parse(t, "size: 4", page), recorded(t, c.rows...))
			if !slices.Equal(plan, c.want) || len(out.DidNotFit) > 0 {
				t.Errorf("it became\n%s\nand was to be\n%s\ndid not fit: %v",
					strings.Join(plan, "\n"), strings.Join(c.want, "\n"), out.DidNotFit)
			}
			if out.Faults != len(c.want) {
				t.Errorf("%d of %d happened", out.Faults, len(c.want))
			}
		})
	}
}

func TestWhatDoesNotFitIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows []string
		says string
	}{
		"more nodes than machines": {[]string{"start,node", "0,a", "1,b", "2,c", "3,d", "4,e", "5,f", "6,f"},
			"2 nodes: its rack or room of the fleet has no machine left for its node"},
		"more rooms than fit": {[]string{"start,node,rack,room", "0,a,1,1", "1,b,1,2", "2,c,1,3", "3,d,1,4", "4,e,1,5"},
			"1 outage of 1 node: the fleet has no room left for its room"},
		"a machine beyond the size": {[]string{"start,node", "0,web-1", "1,web-7"}, "web-7: the fleet has 4 machines"},
		"a cause that is none": {[]string{"start,node,cause", "0,a,gremlins", "1,b,gremlins"},
			`cause "gremlins" is none that the simulated world knows: its 2 outages are the usual crashes, hangs or ` +
				`lost disks`},
		"a column that is none": {[]string{"start,node,rak", "0,a,1"}, `column "rak" says nothing`},
		"down already": {[]string{"start,end,node", "0,600,a", "60,90,a"},
			"1 outage begins while the same node was down already"},
		"a node that moved": {[]string{"start,end,node,rack", "0,9,a,1", "60,90,a,2"},
			"1 node stood at several places"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recorded(t, c.rows...)
			out, plan := replayed(t, configtest.Parse(t, "size: 4", page), r)
			if said := strings.Join(out.DidNotFit, "\n"); !strings.Contains(said, c.says) {
				t.Errorf("it says\n%s\nand was to say %q", said, c.says)
			}
			if len(plan) == 0 {
				t.Error("nothing was left to play")
			}
		})
	}
	out := rehearse(t, rehearsal.Options{Config: configtest.Parse(t, "size: 4", page), Seed: 1, Horizon: time.Hour,
		Weather: recorded(t, "start,node", "0,a", "3601,b", "7200,c")})
	if out.Faults != 1 || len(out.DidNotFit) != 1 ||
		!strings.Contains(out.DidNotFit[0], "2 outages begin later than 50m0s after the first") {
		t.Errorf("%d faults; did not fit: %v", out.Faults, out.DidNotFit)
	}
}

func TestWithoutACauseMachinesFailInOneOfThreeWaysAndEndOneDay(t *testing.T) {
	t.Parallel()
	rows := []string{"start,node"}
	for i := range 400 {
		rows = append(rows, fmt.Sprintf("%d,n%d", 60*i, i))
	}
	out, _ := replayed(t, configtest.Parse(t, "size: 400", page, "limits: {in_repair: 20}"), recorded(t, rows...))
	n := map[script.Verb]int{}
	for _, e := range out.Fleets[0].Options.Plan {
		n[e.Verb]++
		if e.For <= 0 {
			t.Errorf("%s has no end", e)
		}
	}
	if n[verbs.Crashes] < 150 || n[verbs.Crashes] > 250 || n[verbs.Hangs] < 100 || n[verbs.Hangs] > 200 ||
		n[verbs.LosesDisk] < 20 || n[verbs.LosesDisk] > 80 {
		t.Errorf("the mixture is %v", n)
	}
	if !out.OK() {
		t.Errorf("wrong: %+v", out.Fleets[0].Wrong)
	}
}

func TestRacksAndRoomsOfATraceAreThoseOfTheWorld(t *testing.T) {
	t.Parallel()
	rows := []string{"start,end,node,rack,room,cause"}
	for i := range 12 { // three racks of four, the last one in another room
		rows = append(rows, fmt.Sprintf("%d,%d,n%d,r%d,m%d,hang", 600*i, 600*i+30, i, i/4, i/8))
	}
	out, _ := replayed(t, configtest.Parse(t, "size: 12", page), recorded(t, rows...))
	o := out.Fleets[0].Options
	racks := map[string]string{} // by host
	for _, h := range o.Hosts {
		racks[h.Name] = h.Rack + " " + h.Room
	}
	together := map[string][]string{}
	for i, h := range o.Homes {
		together[racks[h]] = append(together[racks[h]], fmt.Sprint(i))
	}
	if len(o.Hosts) != 3 || len(together) != 3 || len(out.DidNotFit) > 0 {
		t.Fatalf("hosts %v, homes %v; did not fit: %v", o.Hosts, o.Homes, out.DidNotFit)
	}
	for rack, machines := range together {
		if len(machines) != 4 {
			t.Errorf("%s has %v", rack, machines)
		}
	}
	several, err := config.Load("../../../examples/several-hosts.yaml", adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	out, _ = replayed(t, several, recorded(t, rows...))
	if o := out.Fleets[0].Options; len(o.Hosts) != 3 || o.Homes[0] != "h1" || o.Homes[4] != "h2" ||
		o.Homes[11] != "here" {
		t.Errorf("configured hosts became %v, homes %v", o.Hosts, o.Homes)
	}
	for i := range several.Providers[0].Hosts { // two of them share a rack
		several.Providers[0].Hosts[i].Place.Rack = []string{"left", "left", "right"}[i]
	}
	out, _ = replayed(t, several, recorded(t, rows...))
	o = out.Fleets[0].Options
	if strings.Join(o.Homes[:7], " ") != "h1 h2 h1 h2 h1 h2 here" || o.Homes[11] != "here" ||
		o.Hosts[2].Rack != "right" {
		t.Errorf("hosts %v, homes %v", o.Hosts, o.Homes)
	}
	if len(out.DidNotFit) != 1 || !strings.Contains(out.DidNotFit[0], "the fleet has no room left for its room") {
		t.Errorf("three racks on two did not fit: %v", out.DidNotFit)
	}
}
