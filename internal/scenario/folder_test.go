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
