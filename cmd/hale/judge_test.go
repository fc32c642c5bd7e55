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

// planted is a mistake in hale's source. A storm must tell it from hale.
type planted struct {
	name  string
	edits []edit
	storm storming
}

// storming is a short storm in which much is under way: a test, and what it is told.
type storming struct {
	test    string
	program string   // the variable that names the hale
	told    []string // the other variables
}

// ofFaults is a storm of such faults.
func ofFaults(only string) storming {
	return storming{"TestS16S17S54Faults", "HALE_FAULTS_PROGRAM", []string{"HALE_FAULTS=90s", "HALE_FAULTS_MACHINES=40",
		"HALE_FAULTS_FLEETS=8", "HALE_FAULTS_EVERY=2s", "HALE_FAULTS_LONGEST=5s", "HALE_FAULTS_ONLY=" + only}}
}

// ofEyes is a storm among satellites.
func ofEyes() storming {
	return storming{"TestEyesInAStorm", "HALE_EYES_PROGRAM", []string{"HALE_EYES=60s"}}
}

// edit puts other text in place of what stands in a file once.
type edit struct{ file, old, new string }

// mistakes are what the judge is tried on. One more is one more row.
var mistakes = []planted{
	{"lease not compared", []edit{
		{"internal/state/active/office.go", "txn.Guarded(state.Held(ownerKey, 0, o.lease.ID()))", "txn"},
		{"internal/state/active/office.go", "err == nil && e.Lease != o.lease.ID()", "err == nil && e.Lease == 0"},
		{"internal/state/active/active.go", "[]state.Compare{state.Absent(ownerKey), state.At(lastKey, at)}", "nil"},
	}, ofFaults("server is killed")},
	{"late create not observed", []edit{
		{"internal/core/repair/recreate.go",
			"case !known:\n\t\treturn w.observe(r, in.Instance, in.Host)\n" +
				"\tcase seen.Power == fleet.PowerRunning:\n\t\treturn c.done",
			"case !known:\n\t\tr.Intent, r.AskAt = nil, 0\n\t\treturn exchange{w, r}.lostCall()\n" +
				"\tcase seen.Power == fleet.PowerRunning:\n\t\treturn c.done"},
	}, ofFaults("answers are lost")},
	{"agreement counted from stale eyes", []edit{
		{"internal/probe/quorum/judge.go", "return v.Until.IsZero() || now.Before(v.Until)",
			"return true || now.IsZero()"},
	}, ofEyes()},
}

// found are the words by which the judge says that something is against the laws.
var found = regexp.MustCompile(`L1: |L4: |L7: |L12: |there is no order of the calls`)

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
				said := m.storm.on(t.Context(), program)
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

// on has a hale go through the storm, and returns what was said of it.
func (s storming) on(ctx context.Context, program string) string {
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+s.test+"$", "-test.v")
	c.Env = append(append(os.Environ(), "HALE_JUDGE=", s.program+"="+program), s.told...)
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
