package trace

import (
	"strings"
	"testing"
)

func TestWhatIsReadIsBounded(t *testing.T) {
	t.Parallel()
	const text = "start,node\n0,a\n1,b\n2,c\n"
	for name, c := range map[string]struct {
		limits limits
		want   string
	}{
		"just enough":  {limits{bytes: len(text), rows: 3}, ""},
		"a byte more":  {limits{bytes: len(text) - 1, rows: 3}, "line 4: the file is longer than 22 bytes"},
		"one row more": {limits{bytes: len(text), rows: 2}, "line 4: there are more than 2 lines"},
	} {
		said := ""
		if _, err := read(strings.NewReader(text), c.limits); err != nil {
			said = err.Error()
		}
		if said != c.want {
			t.Errorf("%s: got %q, want %q", name, said, c.want)
		}
	}
}

func TestALineWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a line":  "start,node\n0," + strings.Repeat("a", 100_000),
		"a quote": "start,node\n0,\"" + strings.Repeat("a\n", 50_000),
	} {
		_, err := read(strings.NewReader(text), limits{bytes: 50_000, rows: 10})
		if err == nil || err.Error() != "line 2: the file is longer than 50000 bytes" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
