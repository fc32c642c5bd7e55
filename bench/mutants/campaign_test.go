package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// small are the options of a campaign over the fixture.
func small(only string) options {
	return options{
		packages:  []string{"./internal/gate"},
		command:   "go test -count=1 -failfast ./...",
		workers:   2,
		only:      regexp.MustCompile(only),
		hand:      "hand.yaml",
		explained: "explained.txt",
		atLeast:   0.9,
		json:      "-",
		memory:    2048,
	}
}

// campaignOver runs a campaign and returns its results by id.
func campaignOver(t *testing.T, root string, o options) (map[string]judged, document, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), root, o, &out, io.Discard)
	var d document
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatalf("%v in %s", err, out.Bytes())
		}
	}
	results := map[string]judged{}
	for _, r := range d.Mutants {
		results[r.ID] = r
	}
	return results, d, err
}

func TestEachMutantMeetsItsFate(t *testing.T) {
	t.Parallel()
	root := fixture(t, map[string]string{"explained.txt": `
# One that may live.
internal/gate/gate.go - hand
note is lost
A note is
no fault here.
`})
	was := contents(t, root)
	o := small(`^hand:|:25:10 |:41:3 |:39:4 `)
	o.cover, o.limit = true, cost{cpu: time.Second, wall: 15 * time.Second}
	results, d, err := campaignOver(t, root, o)
	if !errors.Is(err, errTooFew) {
		t.Errorf("four of six were caught, and the campaign says %v", err)
	}
	for id, want := range map[string]struct {
		outcome outcome
		by      string
	}{
		"hand: full gate opens":                                {caught, "TestAFullGateRefuses"},
		"hand: gate never answers":                             {timedOut, "no end in sight"},
		"hand: gate goes round and round":                      {timedOut, "of processor time"},
		"hand: note is lost":                                   {survived, ""},
		`internal/gate/gate.go:25:10 Full → ""`:                {caught, "TestAFullGateRefuses"},
		"internal/gate/gate.go:41:3 without total += n":        {notCompiling, "declared and not used"},
		`internal/gate/gate.go:39:4 case "odd", "all" emptied`: {notReached, ""},
	} {
		got, ok := results[id]
		if !ok || got.Outcome != want.outcome || !strings.Contains(got.By, want.by) {
			t.Errorf("%s: %s by %q, want %s by %q", id, got.Outcome, got.By, want.outcome, want.by)
		}
	}
	if got := results["hand: note is lost"].Explained; got != "A note is no fault here." {
		t.Errorf("the explanation is %q", got)
	}
	if total := d.Table[len(d.Table)-1]; len(results) != 7 || total.Made != 7 || d.Share != 4.0/6 {
		t.Errorf("%d results, %d in the table, a share of %v", len(results), total.Made, d.Share)
	}
	if !maps.Equal(was, contents(t, root)) {
		t.Error("the tree was touched")
	}
}

func TestEnoughCaughtIsNoError(t *testing.T) {
	t.Parallel()
	o := small("^hand: full gate opens$")
	if _, d, err := campaignOver(t, fixture(t, nil), o); err != nil || d.Share != 1 {
		t.Errorf("a share of %v: %v", d.Share, err)
	}
}

func TestWithoutAPassingBaselineNothingIsJudged(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"tests that fail":           strings.ReplaceAll(gateTest, "!= Full", "== Full"),
		"tests that do not compile": strings.ReplaceAll(gateTest, "Gate{", "Door{"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, _, err := campaignOver(t, fixture(t, map[string]string{"internal/gate/gate_test.go": text}),
				small("^hand:"))
			if !errors.Is(err, errBaseline) || len(results) > 0 {
				t.Errorf("%d results, and %v", len(results), err)
			}
		})
	}
}

func TestRunsAreKeptFromEatingTheMemory(t *testing.T) {
	t.Parallel()
	o := small("^hand:")
	o.memory = 1
	if _, _, err := campaignOver(t, fixture(t, nil), o); !errors.Is(err, errBaseline) {
		t.Errorf("a test binary that may have 1 MiB runs: %v", err)
	}
}

func TestWhatWasJudgedBeforeAnInterruptIsReported(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &suite{}
	results, err := s.judgeAll(ctx, []mutant{{ID: "a"}, {ID: "b"}}, t.TempDir(), 1, cost{}, func(result) {})
	if err != nil || len(results) != 2 || results[0].Outcome != notRun {
		t.Errorf("%v: %v", results, err)
	}
}

func TestTheReportNamesSurvivors(t *testing.T) {
	t.Parallel()
	root := fixture(t, nil)
	tr, s := loadGate(t, root)
	mutants, err := enumerate(s)
	if err != nil {
		t.Fatal(err)
	}
	late := find(t, mutants, "internal/gate/gate.go:26:12 == → !=")
	full := find(t, mutants, "internal/gate/gate.go:24:3 without g.note(\"full\")")
	results := []result{{mutant: late, Outcome: survived}, {mutant: full, Outcome: notReached}}
	why := explanations{full.key(): "a note is for people", "gate.go Gone boundary\nx": "it was there"}
	var out bytes.Buffer
	if err := tr.printSurvivors(&out, results, why); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Survivors without an explanation: 1\n", "internal/gate/gate.go:26:12 == → != (survived)\n",
		"explained by: internal/gate/gate.go Gate.Refuses equality | wait == 0 → wait != 0\n",
		"-\tcase wait == 0, wait > Patience:\n+\tcase wait != 0, wait > Patience:\n",
		"Survivors with an explanation: 1\n",
		"reason: a note is for people\n",
		"of no use any more: no mutant: gate.go Gone boundary: x\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// TestTheListsOfTheTreeHold keeps the mutants made by hand in step with the source: each applies, and compiles where
// that can be told without a build.
func TestTheListsOfTheTreeHold(t *testing.T) {
	t.Parallel()
	tr, err := loadTree(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := tr.loadHand(tr.abs("bench/mutants/hand.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{}
	for _, m := range mutants {
		packages["./"+m.Package] = m.ID
	}
	sources, err := tr.load(t.Context(), sortedKeys(packages))
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) != len(packages) {
		t.Errorf("%d packages of %d were loaded", len(sources), len(packages))
	}
	_, broken := screen(sources, mutants)
	for _, r := range broken {
		t.Errorf("%s: %s", r.ID, r.By)
	}
	if _, err := loadExplained(tr.abs("bench/mutants/explained.txt")); err != nil {
		t.Error(err)
	}
}

func TestHandMadeMutantsThatDoNotApplyAreErrors(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"the old text is gone": "- {name: a, edits: [{file: internal/gate/gate.go, old: nowhere, new: x}]}",
		"the old text is there twice": "- {name: a, edits: [{file: internal/gate/gate.go, old: return Full, new: " +
			"return}]}",
		"no file":                     "- {name: a, edits: [{file: gone.go, old: a, new: b}]}",
		"no name":                     "- {edits: [{file: internal/gate/gate.go, old: max, new: min}]}",
		"a field that does not exist": "- {name: a, edits: [{file: internal/gate/gate.go, old: max, with: min}]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fixture(t, map[string]string{"hand.yaml": list})
			if got, err := (tree{root: root}).loadHand(filepath.Join(root, "hand.yaml")); err == nil {
				t.Errorf("accepted: %v", got)
			}
		})
	}
}

func TestAMirrorLooksLikeTheTree(t *testing.T) {
	t.Parallel()
	root := fixture(t, map[string]string{"internal/gate/testdata/old/a.txt": "old", "internal/other/b.txt": "other"})
	place, err := mirror(root, filepath.Join(root, "internal", "gate"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"testdata/old/a.txt":  "old",
		"../other/b.txt":      "other",
		"../../explained.txt": "",
	} {
		// Not filepath.Join: it would take the dots out before the links are followed.
		if got, err := os.ReadFile(place + "/" + file); err != nil || string(got) != want {
			t.Errorf("%s holds %q: %v", file, got, err)
		}
	}
	if err := os.WriteFile(filepath.Join(place, "testdata", "old", "new.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "internal", "gate", "testdata", "old", "new.txt")); err == nil {
		t.Error("what is written in the mirror is in the tree")
	}
}
