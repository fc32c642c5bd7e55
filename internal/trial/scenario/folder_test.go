package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hale/internal/sim/script"
)

var numbered = regexp.MustCompile(`^([SL][0-9]{2})(-[a-z0-9]+)+\.txt$`)

// TestScenarios plays the project's own scenarios. What is not as written is told with its place; after a wanted change
// of behaviour, hale test --update scenarios writes the traces anew, to be read before they are committed.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := Files("../../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			number := numbered.FindStringSubmatch(name)
			s, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(number) == 0 || !strings.HasPrefix(s.Purpose, number[1]+": ") {
				t.Errorf("the name is a number and what it is about, and the purpose begins with the number: %s",
					s.Purpose)
			}
			if s.Trace == nil || len(s.Expect) == 0 {
				t.Error("it expects nothing, or has no trace: it cannot fail")
			}
			out, err := s.Play()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range out.Problems {
				t.Error(p)
			}
		})
	}
}

// TestEveryLawHasAScenario: at least one file for each, but for what cannot happen in a simulated world.
func TestEveryLawHasAScenario(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"L14": "there are no secrets in the simulated world: internal/config/secret_test.go shows that none gets " +
			"into a configuration",
	}
	for _, law := range strings.Fields("L01 L02 L03 L04 L05 L06 L07 L08 L09 L10 L11 L12 L13 L14 L15") {
		files, err := filepath.Glob("../../../scenarios/" + law + "-*.txt")
		if err != nil {
			t.Fatal(err)
		}
		if reason, ok := elsewhere[law]; ok == (len(files) > 0) {
			t.Errorf("%s has %d scenarios (%s)", law, len(files), reason)
		}
	}
}

// TestEveryVerbIsPlayed: whatever can happen happens in at least one scenario, so that its file shows what hale makes
// of it.
func TestEveryVerbIsPlayed(t *testing.T) {
	t.Parallel()
	files, err := Files("../../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	played := map[script.Verb]bool{}
	for _, file := range files {
		s, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Options.Plan {
			played[e.Verb] = true
		}
	}
	for _, line := range script.Verbs() {
		e, err := script.Parse("1h " + line + " for 1m")
		if err != nil {
			t.Fatal(err)
		}
		if !played[e.Verb] {
			t.Errorf("no scenario plays %q", line)
		}
	}
}

var ranges = regexp.MustCompile(`\bS([0-9]{2})(?: to S([0-9]{2}))?\b`)

// TestEveryAcceptanceScenarioHasItsPlace: each number has a file, or the folder's README says where it is shown or what
// brings it.
func TestEveryAcceptanceScenarioHasItsPlace(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../../scenarios/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lists, _ := strings.Cut(string(readme), "## What is shown elsewhere")
	told := map[int]bool{}
	for line := range strings.Lines(lists) {
		if !strings.HasPrefix(line, "| S") {
			continue
		}
		m := ranges.FindStringSubmatch(line)
		first, last := numberIn(t, m[1]), numberIn(t, m[1])
		if m[2] != "" {
			last = numberIn(t, m[2])
		}
		for n := first; n <= last; n++ {
			told[n] = true
		}
	}
	for n := 1; n <= 75; n++ {
		files, err := filepath.Glob(fmt.Sprintf("../../../scenarios/S%02d-*.txt", n))
		if err != nil {
			t.Fatal(err)
		}
		if told[n] == (len(files) > 0) {
			t.Errorf("S%02d has %d files, and the README lists it: %v", n, len(files), told[n])
		}
	}
}

func numberIn(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
