package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
)

// pages returns what people are told when this happens to four machines on a provider that does not answer from the
// first minute on.
func pages(t *testing.T, events ...script.Event) (all, brakes int) {
	t.Helper()
	plan := append([]script.Event{{At: time.Minute, Subject: "provider", Verb: verbs.IsSilent}}, events...)
	var trace bytes.Buffer
	o := Options{Spec: exemplar.Fleet(4), Hosts: exemplar.Town(1, 1, 1), Horizon: time.Hour, Plan: plan, Trace: &trace}
	if _, err := Run(o); err != nil {
		t.Fatal(err)
	}
	return strings.Count(trace.String(), "a person must look"), strings.Count(trace.String(),
		"must look at fleet web: 4 of")
}

// A provider that goes dark with its machines is one cause, and one page. Machines that answer wrongly meanwhile are
// another one (L8).
func TestL08AProviderThatGoesDarkIsOnePage(t *testing.T) {
	t.Parallel()
	if all, _ := pages(t, script.Event{At: time.Minute, Subject: "all", Verb: verbs.IsCutOff}); all != 1 {
		t.Errorf("%d pages of one cause", all)
	}
	var fails []script.Event
	for _, m := range []string{"web-1", "web-2", "web-3", "web-4"} {
		fails = append(fails, script.Event{At: 2 * time.Minute, Subject: m, Verb: verbs.Fails503})
	}
	if all, brakes := pages(t, fails...); all != 2 || brakes != 1 {
		t.Errorf("%d pages of two causes, %d of the brake", all, brakes)
	}
}
