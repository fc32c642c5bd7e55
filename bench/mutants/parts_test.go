package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCommandsAreTakenApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		want    string
		refused bool
	}{
		"the build's flags and the binary's": {
			command: "go test -race -count=1 --failfast -tags=a ./x/... ./y -sim.days=3",
			want:    "[-race -tags=a] [-test.count=1 -test.failfast -sim.days=3] [./x/... ./y]",
		},
		"arguments":            {command: "go test ./x -args -v deep", want: "[] [-v deep] [./x]"},
		"another program":      {command: "make test", refused: true},
		"no package":           {command: "go test -count=1", refused: true},
		"a flag that is taken": {command: "go test -overlay=x ./x", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseCommand(c.command)
			if c.refused {
				if err == nil {
					t.Errorf("accepted: %v", got)
				}
				return
			}
			if s := fmt.Sprint(got.build, got.run, got.packages); err != nil || s != c.want {
				t.Errorf("got %s (%v), want %s", s, err, c.want)
			}
		})
	}
}

func TestSamplesAreSpread(t *testing.T) {
	t.Parallel()
	var all []mutant
	for i := range 100 {
		pkg, op := "guard", opNumber
		if i >= 60 {
			pkg = "repair"
		}
		if i >= 90 {
			op = opLogic
		}
		all = append(all, mutant{ID: fmt.Sprint(i), Package: pkg, Operator: op})
	}
	got := sample(all, 11, 7)
	counts := map[stratum]int{}
	for _, m := range got {
		counts[stratum{m.Package, m.Operator}]++
	}
	if len(got) != 11 || counts[stratum{"guard", opNumber}] != 7 || counts[stratum{"repair", opNumber}] != 3 ||
		counts[stratum{"repair", opLogic}] != 1 {
		t.Errorf("60, 30 and 10 of a hundred give %v of eleven", counts)
	}
	same := func(a, b []mutant) bool {
		return slices.EqualFunc(a, b, func(a, b mutant) bool { return a.ID == b.ID })
	}
	if !same(got, sample(all, 11, 7)) {
		t.Error("the same seed gives another sample")
	}
	if same(got, sample(all, 11, 8)) {
		t.Error("another seed gives the same sample")
	}
	if len(sample(all, 0, 1)) != 100 || len(sample(all, 101, 1)) != 100 {
		t.Error("no limit does not give all")
	}
}

func TestExplanationsAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		want    int
		refused bool
	}{
		"comments and nothing": {text: "# a\n\n# b\n", want: 0},
		"two": {
			text: "a.go f boundary\nx → y\nwhy\n\n# c\na.go g boundary\n x → y\n why\n so\n",
			want: 2,
		},
		"no reason":               {text: "a.go f boundary\nx → y\n", refused: true},
		"a head that is too long": {text: "a.go f of boundary\nx → y\nwhy\n", refused: true},
		"the same again":          {text: "a.go f boundary\nx\nwhy\n\na.go f boundary\nx\nso\n", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "explained.txt")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := loadExplained(file)
			if (err != nil) != c.refused || len(got) != c.want {
				t.Errorf("got %v, %v", got, err)
			}
			if want := "why so"; c.want == 2 && got["a.go g boundary\nx → y"] != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestExplanationsGrowOld(t *testing.T) {
	t.Parallel()
	a, b := mutant{
		File:     "a.go",
		Function: "f",
		Operator: opCase,
		Change:   "x",
	}, mutant{File: "a.go", Function: "f", Operator: opCase, Change: "y"}
	x := explanations{a.key(): "why", b.key(): "why", "gone": "why"}
	got := x.outdated([]result{{mutant: a, Outcome: caught}, {mutant: b, Outcome: survived}})
	if want := []string{"caught: a.go f case: x", "no mutant: gone"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCoverageTellsWhatIsReached(t *testing.T) {
	t.Parallel()
	c := coverage{}
	profile := "mode: set\nm/a.go:3.10,5.2 2 1\nm/a.go:7.10,9.2 2 0\nm/a.go:7.10,9.2 2 0\nm/b.go:7.10,9.2 1 0\n"
	if err := c.read(profile, "m/"); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]struct {
		line, col int
		want      bool
	}{
		"run":                {4, 1, true},
		"never run":          {8, 1, false},
		"just inside":        {7, 10, false},
		"just before":        {7, 9, true},
		"in no block":        {20, 1, true},
		"where a block ends": {9, 2, true},
	} {
		if got := c.reaches(mutant{File: "a.go", runs: position{p.line, p.col}}); got != p.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := c.read("m/a.go:7.10,9.2 2 1\n", "m/"); err != nil ||
		!c.reaches(mutant{File: "a.go", runs: position{8, 1}}) {
		t.Errorf("what another package's tests reach is reached: %v", err)
	}
	if err := c.read("nonsense\n", "m/"); err == nil {
		t.Error("a profile of nonsense is accepted")
	}
}

func TestTheFirstFailureIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chunks         []string
		culprit, crash string
		killed         int
	}{
		"passes":         {[]string{"ok\n", "PASS\n"}, "", "", 0},
		"in pieces":      {[]string{"x\n--- FA", "IL: TestA (0.0", "0s)\n"}, "TestA", "", 1},
		"two, one kill":  {[]string{"--- FAIL: TestA (1s)\n--- FAIL: TestB (1s)\n"}, "TestA", "", 1},
		"a subtest":      {[]string{"    --- FAIL: TestA/b (1s)\n"}, "TestA/b", "", 1},
		"a panic":        {[]string{"panic: so bad\n\ngoroutine 1"}, "", "panic: so bad", 0},
		"a word of both": {[]string{"said: panic: or --- FAIL: TestA\n"}, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killed := 0
			w := &watch{failed: func() { killed++ }}
			for _, chunk := range c.chunks {
				if n, err := w.Write([]byte(chunk)); n != len(chunk) || err != nil {
					t.Fatal(n, err)
				}
			}
			if w.culprit != c.culprit || w.crash != c.crash || killed != c.killed ||
				string(w.tail) != strings.Join(c.chunks, "") {
				t.Errorf("culprit %q, crash %q, killed %d times, tail %q", w.culprit, w.crash, killed, w.tail)
			}
		})
	}
}

func TestSharesCountWhatWasRun(t *testing.T) {
	t.Parallel()
	of := func(pkg, op string, outcomes ...outcome) []result {
		var rs []result
		for _, o := range outcomes {
			rs = append(rs, result{mutant: mutant{Package: pkg, Operator: op}, Outcome: o})
		}
		return rs
	}
	rows := tally(slices.Concat(
		of("guard", opNumber, caught, survived, notCompiling, notRun),
		of("guard", opCase, timedOut, notReached),
		of("repair", opCase, notRun),
		of("repair", opHand, caught),
	))
	var got []string
	for _, c := range rows {
		share, some := c.share()
		got = append(got, fmt.Sprintf("%s/%s %d: %.2f %v", c.Package, c.Operator, c.Made, share, some))
	}
	want := []string{
		"guard/case 2: 0.50 true", "guard/number 4: 0.50 true", "guard/all 6: 0.50 true",
		"repair/case 1: 0.00 false", "repair/all 1: 0.00 false",
		"by hand/hand 1: 1.00 true", "by hand/all 1: 1.00 true", "all/all 8: 0.60 true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestLimitsFollowTheBaseline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ baseline, set, want cost }{
		"a short one": {cost{time.Second, time.Second}, cost{}, cost{time.Minute, 20 * time.Second}},
		"a long one": {
			cost{time.Minute, time.Minute},
			cost{},
			cost{12 * time.Minute, 4 * time.Minute},
		},
		"one that mostly waited": {cost{time.Hour, time.Second}, cost{}, cost{4 * time.Hour, 20 * time.Second}},
		"what is set is kept": {
			cost{time.Minute, time.Minute},
			cost{cpu: time.Second, wall: time.Minute},
			cost{time.Minute, time.Second},
		},
		"the clock follows the limit": {
			cost{time.Second, time.Second},
			cost{cpu: time.Minute},
			cost{3 * time.Minute, time.Minute},
		},
	} {
		if got := limitFor(c.baseline, c.set); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	var complaints strings.Builder
	for _, args := range [][]string{{"-only", "("}, {"-workers", "0"}, {"-sample", "-1"}, {"-nonsense"}} {
		if _, err := parse(args, &complaints); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	o, err := parse(nil, &complaints)
	if err != nil || !slices.Contains(o.packages, "./internal/core/guard") || o.atLeast != 0.9 ||
		!o.only.MatchString("anything") {
		t.Errorf("%+v: %v", o, err)
	}
}
