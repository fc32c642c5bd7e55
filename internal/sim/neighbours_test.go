package sim_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
)

// S74: the switch of a rack dies for half an hour, whenever in the order of the checks that is. The only machine of a
// fleet lies behind it, and thirty of other fleets do, too. It is not touched, though silence alone is enough for its
// policy, and one page tells of the rack. Where it hangs alone, it is healed.
func TestS74TheOnlyMachineOfAFleetBehindADeadSwitch(t *testing.T) {
	t.Parallel()
	for third := range 10 {
		second := 3 * third
		for event, healed := range map[string]bool{"rack r1 is cut off for 30m": false, "web-1 hangs": true} {
			t.Run(fmt.Sprintf("%s after %d s", event, 60+second), func(t *testing.T) {
				t.Parallel()
				o := sim.Options{Spec: exemplar.Fleet(1), Horizon: time.Hour}
				o.Spec.Repair.Silence = policy.SilenceActs
				o.Spec.Checks = o.Spec.Checks[:1] // seldom, so that the first to fail is far ahead of the others
				o.Spec.Checks[0].Every = 30 * time.Second
				o.Spec.UnhealthyWhen = policy.Condition{Op: policy.OpTerm, Term: "alive"}
				for h := range 6 {
					o.Hosts = append(o.Hosts, world.Host{
						Name: fmt.Sprintf("h%d", h+1), Rack: fmt.Sprintf("r%d", 1+h/3), Beside: 10,
					})
				}
				e, err := script.Parse(fmt.Sprintf("%ds %s", 60+second, event))
				if err != nil {
					t.Fatal(err)
				}
				o.Plan = []script.Event{e}
				r, err := sim.Run(o)
				if err != nil {
					t.Fatal(err)
				}
				s := r.Score
				if acted := s.Actions > 0; acted != healed || (s.Paged == 1) == healed || s.LawsBroken > 0 {
					t.Errorf("%d calls, %d pages, broken: %v", s.Actions, s.Paged, r.Violations)
				}
			})
		}
	}
}

// S74: a host of a fleet's falls silent. When its first machine has failed, the others there are asked, and within one
// time-out of theirs it is one incident, though most of their checks have not failed as often as they must.
func TestS74ADeadHostIsKnownWithItsFirstMachine(t *testing.T) {
	t.Parallel()
	o := sim.Options{Spec: exemplar.Fleet(24), Horizon: 20 * time.Minute}
	o.Spec.Checks[0].Every, o.Spec.Checks[1].Every = time.Minute, time.Minute
	for h := range 3 {
		o.Hosts = append(o.Hosts, world.Host{Name: fmt.Sprintf("h%d", h+1)})
	}
	e, err := script.Parse("2m host h1 is cut off for 10m")
	if err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	o.Plan, o.Trace = []script.Event{e}, &trace
	r, err := sim.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	failed, known := when(t, trace.String(), " is unhealthy"), when(t, trace.String(), "incident web/p1 is open")
	if took := known - failed; took < 0 || took > 3*time.Second {
		t.Errorf("the first machine failed after %v, and the host was known %v later", failed, took)
	}
	if s := r.Score; s.Actions > 0 || s.LawsBroken > 0 {
		t.Errorf("%d calls, broken: %v", s.Actions, r.Violations)
	}
}

// when returns when the trace first says so.
func when(t *testing.T, trace, what string) time.Duration {
	t.Helper()
	for line := range strings.Lines(trace) {
		if strings.Contains(line, what) {
			at, err := time.Parse("15:04:05", strings.Fields(line)[1])
			if err != nil {
				t.Fatal(err)
			}
			return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute +
				time.Duration(at.Second())*time.Second
		}
	}
	t.Fatalf("the trace never says %q", what)
	return 0
}
