package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// planted is a mistake in hale's source. The storm of TestS16S17S54Faults must tell it from hale.
type planted struct {
	name  string
	edits []edit
	only  string // the faults that bring it out
}

// edit puts other text in place of what stands in a file once.
type edit struct{ file, old, new string }

// mistakes are what the judge is tried on. One more is one more row.
var mistakes = []planted{
	{"lease not compared", []edit{
		{"internal/state/active/office.go", "txn.Guarded(state.Held(ownerKey, 0, o.lease.ID()))", "txn"},
		{"internal/state/active/office.go", "err == nil && e.Lease != o.lease.ID()", "err == nil && e.Lease == 0"},
		{"internal/state/active/active.go", "[]state.Compare{state.Absent(ownerKey), state.At(lastKey, at)}", "nil"},
	}, "server is killed"},
	{"late create not observed", []edit{
		{"internal/core/repair/recreate.go",
			"case !known:\n\t\treturn w.observe(r, in.Instance, in.Host)\n" +
				"\tcase seen.Power == fleet.PowerRunning:\n\t\treturn c.done",
			"case !known:\n\t\treturn exchange{w, r}.lostCall()\n" +
				"\tcase seen.Power == fleet.PowerRunning:\n\t\treturn c.done"},
	}, "server is killed"},
}

// found are the words by which the judge says that something is against the laws.
var found = regexp.MustCompile(`L1: |L7: |L12: |there is no order of the calls`)

// TestTheJudgeCanFail builds hale with each of the mistakes, and wants a storm to find it within ten minutes (make
// test-judge). Without HALE_JUDGE it only sees that each mistake can still be made.
func TestTheJudgeCanFail(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) { // one after the other: each needs the machine
			overlay := m.make(t)
			if os.Getenv("HALE_JUDGE") == "" {
				return
			}
			program := filepath.Join(t.TempDir(), "hale")
			build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, ".")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			began := time.Now()
			for storms := 1; time.Since(began) < 10*time.Minute; storms++ {
				said := stormOn(t.Context(), m.only, program)
				if line := found.FindStringIndex(said); line != nil {
					first, _, _ := strings.Cut(said[line[0]:], "\n")
					t.Logf("found in storm %d, after %v: %s", storms, time.Since(began).Round(time.Second), first)
					return
				}
			}
			t.Error("nothing was found in ten minutes")
		})
	}
}

// stormOn has a hale go through a short storm in which much is under way, and returns what was said of it.
func stormOn(ctx context.Context, only, program string) string {
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestS16S17S54Faults$", "-test.v")
	c.Env = append(os.Environ(), "HALE_JUDGE=", "HALE_FAULTS=90s", "HALE_FAULTS_MACHINES=40", "HALE_FAULTS_FLEETS=8", "HALE_FAULTS_EVERY=4s",
		"HALE_FAULTS_LONGEST=5s",
		"HALE_FAULTS_ONLY="+only, "HALE_FAULTS_PROGRAM="+program)
	out, _ := c.CombinedOutput() // that it failed is what is wanted
	return string(out)
}

// make writes the changed files, and returns what has the go command read them in place of the tree's own.
func (m planted) make(t *testing.T) (overlay string) {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for _, e := range m.edits {
		file, err := filepath.Abs(filepath.Join("..", "..", e.file))
		if err != nil {
			t.Fatal(err)
		}
		from := file
		if replace[file] != "" {
			from = replace[file]
		}
		is, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(is), e.old); n != 1 {
			t.Fatalf("%s has the text %d times, not once: %s", e.file, n, e.old)
		}
		replace[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[file], []byte(strings.Replace(string(is), e.old, e.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}
