package scenario

import (
	"bytes"
	"strings"
	"testing"

	"hale/internal/sim"
	"hale/internal/sim/judge"
)

// crash is a scenario in which web-2 crashes and is started again.
const crash = "A crash is healed by a start.\n" + ten + `-- world --
boot 10s
latency 100ms
run 3m
-- events --
1m  web-2 crashes
`

// understood parses a file that has no mistakes.
func understood(t *testing.T, file string) *Scenario {
	t.Helper()
	s, err := Parse("f.txt", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func play(t *testing.T, file string) Outcome {
	t.Helper()
	out, err := understood(t, file).Play()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFiguresAreCompared: each operator holds on its own side of the bound only, and a miss names the line.
func TestFiguresAreCompared(t *testing.T) {
	t.Parallel()
	for expect, miss := range map[string]string{
		"repairs 1": "", "repairs = 1": "", "repairs > 0": "", "repairs < 2": "", "heal_seconds_p50 < 60": "",
		"machine_hours_lost > 0.001": "", "repairs 0": "repairs is 1, expected = 0",
		"repairs > 1": "repairs is 1, expected > 1", "repairs < 1": "repairs is 1, expected < 1",
		"paged > 0": "paged is 0, expected > 0",
	} {
		t.Run(expect, func(t *testing.T) {
			t.Parallel()
			out := play(t, crash+"-- expect --\nlaws_broken 0\n"+expect+"\n")
			switch {
			case miss == "" && len(out.Problems) > 0:
				t.Errorf("it holds, and %v was found", out.Problems)
			case miss != "" && (len(out.Problems) != 1 || out.Problems[0].String() != "f.txt:19: "+miss):
				t.Errorf("found %v, wanted %q on line 19", out.Problems, miss)
			}
		})
	}
}

// TestATraceIsWrittenAndCompared: the trace goes into the file as its last part, the file is the same otherwise, and
// the next run writes the same again.
func TestATraceIsWrittenAndCompared(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"without a trace":            crash,
		"with an old one":            crash + "-- trace --\nwhat once was\n",
		"with an old one in between": strings.Replace(crash, "-- events --\n", "-- trace --\n-- events --\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := understood(t, file)
			out, err := s.Play()
			if err != nil {
				t.Fatal(err)
			}
			updated := s.Updated(out.Trace)
			if want := crash + "-- trace --\n" + string(out.Trace); string(updated) != want {
				t.Fatalf("the file became\n%s\nand should be\n%s", updated, want)
			}
			again := play(t, string(updated))
			if len(again.Problems) > 0 || !bytes.Equal(again.Trace, out.Trace) {
				t.Errorf("played again: %v", again.Problems)
			}
		})
	}
}

// TestWhereTracesPart: the first line that differs is shown as it is and as it was, with its place in the file.
func TestWhereTracesPart(t *testing.T) {
	t.Parallel()
	trace := string(play(t, crash).Trace)
	lines := strings.SplitAfter(trace, "\n")
	whole := " 0d 00:00:00  hale-1 starts\n"
	if lines[0] != whole {
		t.Fatalf("the trace begins with %q", lines[0])
	}
	last := len(lines) - 2 // behind it is the empty rest
	for name, c := range map[string]struct{ trace, want string }{
		"a line changed": {strings.Replace(trace, "hale-1 starts", "hale-2 starts", 1),
			"f.txt:18: the trace goes another way: it is\n" + whole + "and was\n 0d 00:00:00  hale-2 starts"},
		"a line too many": {trace + "more\n", "(nothing more)\nand was\nmore"},
		"a line missing":  {strings.Join(lines[:last], ""), "it is\n" + lines[last] + "and was\n(nothing more)"},
		"nothing at all":  {"", "it is\n" + whole + "and was\n(nothing more)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := play(t, crash+"-- trace --\n"+c.trace)
			if len(out.Problems) != 1 || !strings.Contains(out.Problems[0].String(), c.want) {
				t.Errorf("found %v, wanted %q", out.Problems, c.want)
			}
		})
	}
}

// TestBrokenLawsAreProblems: a law that breaks is a problem whatever the figures say, unless the file expects it.
func TestBrokenLawsAreProblems(t *testing.T) {
	t.Parallel()
	result := sim.Result{
		Violations: []judge.Violation{{At: 5, Law: "L1", Machine: "web-2", What: "2 instances run at once"}},
	}
	result.Score.LawsBroken = 1
	got := understood(t, crash).compare(result)
	if len(got) != 1 || got[0].String() != "f.txt: after 5ns law L1 is broken: web-2 2 instances run at once" {
		t.Errorf("found %v", got)
	}
	if got := understood(t, crash+"-- expect --\nlaws_broken 1\n").compare(result); len(got) != 0 {
		t.Errorf("found %v, and the file expects it", got)
	}
	if got := understood(t, crash+"-- expect --\nlaws_broken 0\n").compare(result); len(got) != 2 {
		t.Errorf("found %v", got)
	}
}
