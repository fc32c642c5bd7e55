package examine_test

import (
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/provider/examine"
	"hale/internal/provider/external"
	"hale/internal/provider/providertest"
	"hale/internal/secret"
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
			Env: []secret.Named{
				{Name: "STATE_DIR", Plain: t.TempDir()},
				{Name: "PYTHONDONTWRITEBYTECODE", Plain: "1"},
			},
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		},
		Hooks: []string{absolute(t, "testdata/hooks"), folder},
		Template: policy.Template{
			Memory:  96 << 20,
			CPUs:    1,
			Network: "here",
			Options: []policy.Setting{{Name: "run", Value: "sh -c 'echo I run; exec sleep 1000000'"}},
		},
		Patience: 40 * time.Second, // on a machine that does other things, too
	}
}

// parts is into how many examinations the questions are dealt: most of them wait for something, and each takes
// processes by the hundred.
const parts = 4

// The example passes what hale's own adapters pass, with machines that are processes; on real ones it does in package
// e2e.
func TestTheExamplePassesTheExam(t *testing.T) {
	t.Parallel()
	var only [parts][]string
	for i, c := range providertest.All() {
		only[i%parts] = append(only[i%parts], regexp.QuoteMeta(c.Name))
	}
	var reports [parts]examine.Report
	t.Run("part", func(t *testing.T) {
		for i := range parts {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				o := sleepers(t)
				o.Only = regexp.MustCompile("^(" + strings.Join(only[i], "|") + ")$")
				reports[i] = examined(t, o)
			})
		}
	})
	passed := 0
	for _, r := range reports {
		passed += r.Count(examine.Passed)
	}
	if passed -= parts - 1; passed < 31 { // that nothing is left is asked at the end of each
		t.Errorf("only %d questions were asked", passed)
	}
}

func examined(t *testing.T, o examine.Options) examine.Report {
	t.Helper()
	r, err := examine.Run(t.Context(), o, func(o examine.Outcome) {
		t.Logf("%-10s %5d ms  %s: %s", o.Verdict, o.Took.Milliseconds(), o.Question, strings.Join(o.Why, "\n"))
		if o.Verdict == examine.Failed {
			t.Error("failed: " + o.Question)
		}
	})
	if err != nil {
		t.Error(err)
	}
	return r
}
