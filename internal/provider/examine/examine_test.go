package examine_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/internal/fleet"
	"hale/internal/provider/examine"
	"hale/internal/provider/external"
)

const example = "../../../examples/exec-provider"

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sleepers is the example with processes that do nothing for machines, behind a wire that can be cut and frozen.
func sleepers(t *testing.T) examine.Options {
	t.Helper()
	folder := absolute(t, example)
	return examine.Options{
		External: external.Options{
			Command: []string{absolute(t, "testdata/provider"), folder},
			Env:     []external.Variable{{Name: "STATE_DIR", Plain: t.TempDir()}, {Name: "PYTHONDONTWRITEBYTECODE", Plain: "1"}},
			Logger:  slog.New(slog.NewTextHandler(t.Output(), nil)),
		},
		Hooks: []string{absolute(t, "testdata/hooks"), folder},
		Template: fleet.Template{
			Memory: 96 << 20, CPUs: 1, Network: "here", Options: []fleet.Setting{{Name: "run", Value: "sh -c 'echo I run; exec sleep 1000000'"}},
		},
		Patience: 20 * time.Second,
	}
}

// The example passes what hale's own adapters pass, with machines that are processes; on real ones it does in package e2e.
func TestTheExamplePassesTheExam(t *testing.T) {
	t.Parallel()
	r, err := examine.Run(t.Context(), sleepers(t), func(o examine.Outcome) {
		t.Logf("%-10s %5d ms  %s: %s", o.Verdict, o.Took.Milliseconds(), o.Question, strings.Join(o.Why, "\n"))
		if o.Verdict == examine.Failed {
			t.Error("failed: " + o.Question)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if passed := r.Count(examine.Passed); passed < 29 {
		t.Errorf("only %d questions were asked", passed)
	}
}
