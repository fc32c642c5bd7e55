package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
)

// A check that only tells is down on every machine, and comes and goes on one of them: none of them is judged, held or
// repaired for it, the brake stays off, and people are told twice: that it is so on all, and later that it comes and
// goes.
func TestACheckThatOnlyTellsMovesNothing(t *testing.T) {
	t.Parallel()
	spec := exemplar.Fleet(6)
	spec.Tells = []policy.Check{{Name: "disk", Kind: policy.CheckExec, Every: 10 * time.Second, Timeout: time.Second,
		DownAfter: 2, UpAfter: 1, Tells: true}}
	fails := func(m string, at, d time.Duration) script.Event {
		return script.Event{At: at, Subject: m, Verb: verbs.FailsCheck, Arg: "disk", For: d}
	}
	plan := []script.Event{{At: 20 * time.Minute, Subject: "web-3", Verb: verbs.Crashes}}
	for _, m := range []string{"web-1", "web-2", "web-3", "web-4", "web-5", "web-6"} {
		plan = append(plan, fails(m, 10*time.Minute, 30*time.Minute))
	}
	for at := 45 * time.Minute; at < 2*time.Hour; at += 3 * time.Minute {
		plan = append(plan, fails("web-1", at, time.Minute))
	}
	var trace bytes.Buffer
	o := Options{Spec: spec, Hosts: exemplar.Town(3, 1, 1), Horizon: 3 * time.Hour, Plan: plan, Trace: &trace}
	out, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	score := out.Score
	if score.LawsBroken+score.HealthyDestroyed+score.Brakes+score.Held+score.Paged > 0 || score.Repairs != 1 {
		t.Errorf("%+v", score)
	}
	if strings.Contains(trace.String(), "suspect") {
		t.Error("a machine is suspect for what a check that only tells says")
	}
	told := strings.Count(trace.String(), "check disk is down:") - strings.Count(trace.String(), "told with others")
	if told != 2 {
		t.Errorf("people are told %d times:\n%s", told, &trace)
	}
}
