package script_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/sim/script"

	"github.com/google/go-cmp/cmp"
)

// TestEveryVerbSurvivesBeingWrittenDown: what a scenario file says comes back as it was said, with and without an end.
func TestEveryVerbSurvivesBeingWrittenDown(t *testing.T) {
	t.Parallel()
	verbs := script.Verbs()
	if len(verbs) < 40 {
		t.Fatalf("only %d verbs", len(verbs))
	}
	for _, what := range verbs {
		for _, length := range []time.Duration{0, 5 * time.Minute, 90 * time.Minute, time.Hour,
			61500 * time.Millisecond} {
			line := "1h2m " + what
			if length != 0 {
				line += " for " + length.String()
			}
			e, err := script.Parse(line)
			if length == 0 && (strings.Contains(what, "freezes") || strings.Contains(what, "holds")) {
				if err == nil || !strings.Contains(err.Error(), "say for how long") {
					t.Errorf("%q: %v, and a process that stands still must go on one day, and so must hale", line, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%q: %v", line, err)
				continue
			}
			if e.At != time.Hour+2*time.Minute || e.For != length || !strings.HasPrefix(e.String(), what) {
				t.Errorf("%q was read as %+v, which says %q", line, e, e.String())
			}
			again, err := script.Parse("1h2m " + e.String())
			if err != nil || !cmp.Equal(e, again) {
				t.Errorf("%q was written as %q and read as %+v, %v", line, e.String(), again, err)
			}
		}
	}
}

func TestAnEventMayAskForMachines(t *testing.T) {
	t.Parallel()
	const line = "host h2 is out of sight of hale-1 for 5m if at least 3"
	if e, err := script.Parse("1m " + line); err != nil || e.Least != 3 || e.For != 5*time.Minute ||
		e.Arg != "hale-1" || e.String() != line {
		t.Errorf("%q was read as %+v (%s), %v", line, e, e, err)
	}
	for _, wrong := range []string{"1m host h2 loses power if at least many", "1m host h2 loses power if at least 0"} {
		if e, err := script.Parse(wrong); err == nil || !strings.Contains(err.Error(), "a number of machines") {
			t.Errorf("%q was read as %+v, %v", wrong, e, err)
		}
	}
}

func TestWhatNoEventIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, says string }{
		"no time":                 {"web-2 crashes", "begin with the time since the start, as 10m"},
		"a time before the start": {"-1m web-2 crashes", "begin with the time"},
		"nothing but a time":      {"1m", "says nothing that can happen"},
		"no verb of a server":     {"1m hale-1 explodes", "a server: dies, dies at write 3, "},
		"no verb of a domain":     {"1m host h2 explodes", "a domain: builds nothing, cannot be cut, "},
		"a verb that is none": {"1m web-2 explodes",
			"a machine: 's agent answers in any state, 's agent falls silent, answers 503, "},
		"no subject":            {"1m crashes", "says nothing that can happen"},
		"a server as a machine": {"1m hale-1 crashes", "the subject is a server, and this happens to a machine"},
		"a machine as a domain": {"1m web-2 loses power",
			"the subject is a machine, and this happens to a domain"},
		"an unknown kind of domain":  {"1m cellar c1 loses power", "this happens to a domain"},
		"a word too many":            {"1m web-2 crashes badly", `"badly" is one word too many`},
		"no share":                   {"1m web-2 loses probes", "the share is missing"},
		"a share that is none":       {"1m web-2 loses probes many", "is no share: write it as 5%"},
		"a share above all":          {"1m web-2 loses probes 101%", "is no share"},
		"no number of writes":        {"1m hale-1 dies at write soon", "invalid syntax"},
		"a write before the first":   {"1m hale-1 dies at write 0", "is below 1"},
		"a step that is no duration": {"1m hale-1 has its clock stepped by much", "invalid duration"},
		"an end that is none":        {"1m web-2 hangs for ever", "what follows for is a duration"},
		"an end before the start":    {"1m web-2 hangs for -1m", "what follows for is a duration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if e, err := script.Parse(c.line); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q was read as %+v, %v; it should say %q", c.line, e, err, c.says)
			}
		})
	}
}
