package rehearsal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hale/internal/config/configtest"
	"hale/internal/sim/script"
	"hale/internal/trial/rehearsal"
)

// rackOf are rows of four nodes in each of two racks; those of the first rack fail as told, one of the second by
// itself.
func rackOf(cause string, at ...int) []string {
	rows := []string{"start,end,node,rack,cause"}
	for i, start := range at {
		rows = append(rows, fmt.Sprintf("%d,%d,a%d,r1,%s", start, 600+start, i, cause))
	}
	for i := range 4 {
		rows = append(rows, fmt.Sprintf("%d,%d,b%d,r2,crash", 7200*(i+1), 7200*(i+1)+60, i))
	}
	return rows
}

// TestARackOfATraceFailsAsOne: what takes a rack's nodes along in one moment is one failure of the rack.
func TestARackOfATraceFailsAsOne(t *testing.T) {
	t.Parallel()
	alone := []string{"2h10m0s", "4h10m0s", "6h10m0s", "8h10m0s"} // the second rack's
	for name, c := range map[string]struct {
		cause string
		at    []int
		want  []string
	}{
		"power, within a minute": {"power", []int{0, 5, 30, 60}, []string{"10m0s rack r1 loses power for 11m"}},
		"a switch":               {"network", []int{0, 1, 2, 3}, []string{"10m0s rack r1 is cut off for 10m3s"}},
		"no cause is stated":     {"", []int{0, 1, 2, 3}, []string{"10m0s rack r1 loses power for 10m3s"}},
		"half of the rack": {"power", []int{0, 1, 7000, 10000},
			[]string{"10m0s rack r1 loses power for 10m1s"}},
		"hangs are each one's own": {"hang", []int{0, 1, 2, 3}, nil},
		"one after the other":      {"power", []int{0, 100, 200, 300}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, plan := replayed(t, configtest.Parse(t, "size: 8", page), recorded(t, rackOf(c.cause, c.at...)...))
			common := slices.DeleteFunc(slices.Clone(plan), func(e string) bool { return strings.Contains(e, " web-") })
			if !slices.Equal(common, c.want) {
				t.Errorf("together failed %v, and was to %v; all: %v", common, c.want, plan)
			}
			for _, at := range alone {
				if !slices.ContainsFunc(plan, func(e string) bool { return strings.HasPrefix(e, at+" web-") }) {
					t.Errorf("the other rack's node of %s is lost: %v", at, plan)
				}
			}
		})
	}
}

// TestATraceAndDrawnFaultsPlayTogether: what was recorded happens, and what is drawn happens beside it, on one set of
// hosts.
func TestATraceAndDrawnFaultsPlayTogether(t *testing.T) {
	t.Parallel()
	r := recorded(t, rackOf("power", 0, 1, 2, 3)...)
	both := rehearsal.Both{
		Recorded: r,
		Faults:   rehearsal.Faults{Kinds: []script.Kind{script.KindReboot, script.KindMachine}},
	}
	out := rehearse(t, rehearsal.Options{
		Config: configtest.Parse(t, "size: 8", page), Seed: 1, Horizon: 10 * 24 * r.Span(), Weather: both,
	})
	n := map[string]int{}
	for i, e := range out.Fleets[0].Options.Plan {
		if i > 0 && e.At < out.Fleets[0].Options.Plan[i-1].At {
			t.Fatalf("the plan is out of order at %s", e)
		}
		subject, _, _ := strings.Cut(e.Subject, "-")
		n[subject+" "+string(e.Verb)]++
	}
	if n["rack r1 loses power"] != 1 || n["host h1 loses power"]+n["host h2 loses power"] == 0 || n["web hangs"] == 0 {
		t.Errorf("what happens is %v", n)
	}
	if !strings.Contains(both.Title(), "trace t.csv, faults reboot,machine") || !out.OK() {
		t.Errorf("%s: %+v", both.Title(), out.Fleets[0].Wrong)
	}
}
