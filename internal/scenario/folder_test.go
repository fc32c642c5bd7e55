package scenario

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var numbered = regexp.MustCompile(`^([SL][0-9]{2})(-[a-z0-9]+)+\.txt$`)

// TestScenarios plays the project's own scenarios. What is not as written is told with its place; after a wanted change of
// behaviour, hale test --update scenarios writes the traces anew, to be read before they are committed.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := Files("../../scenarios")
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
				t.Errorf("the name is a number and what it is about, and the purpose begins with the number: %s", s.Purpose)
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
		"L14": "there are no secrets in the simulated world: internal/config/secret_test.go shows that none gets into a configuration",
	}
	for _, law := range strings.Fields("L01 L02 L03 L04 L05 L06 L07 L08 L09 L10 L11 L12 L13 L14 L15") {
		files, err := filepath.Glob("../../scenarios/" + law + "-*.txt")
		if err != nil {
			t.Fatal(err)
		}
		if reason, ok := elsewhere[law]; ok == (len(files) > 0) {
			t.Errorf("%s has %d scenarios (%s)", law, len(files), reason)
		}
	}
}
