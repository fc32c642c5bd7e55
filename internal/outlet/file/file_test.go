package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/outlet"
	"hale/internal/outlet/file"
)

func lines(all ...string) []outlet.Event {
	var out []outlet.Event
	for _, l := range all {
		out = append(out, outlet.Event{Body: []byte(l)})
	}
	return out
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, when, path, text string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s: it holds %q, %v", when, got, err)
	}
}

func TestEachRecordIsALine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	o := file.New(path)
	for _, batch := range [][]outlet.Event{lines("1", "2"), lines("3")} {
		if err := o.Take(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "in the end", path, "1\n2\n3\n")
	if is, err := os.Stat(path); err != nil || is.Mode().Perm()&0o007 != 0 {
		t.Errorf("everybody may do with it %v, %v", is.Mode(), err)
	}
}

// The file may be moved away, cut to nothing or removed between any two records.
func TestTheFileMayBeMovedAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	o := file.New(path)
	take := func(line string) {
		t.Helper()
		if err := o.Take(t.Context(), lines(line)); err != nil {
			t.Fatal(err)
		}
	}
	take("1")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	take("2")
	want(t, "what was moved away", path+".1", "1\n")
	want(t, "what was begun", path, "2\n")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	take("3")
	want(t, "cut to nothing", path, "3\n")
}

// What a crash left of a line is cut off: it comes again, whole.
func TestHalfALineIsCutOff(t *testing.T) {
	t.Parallel()
	long := make([]byte, 200_000)
	for i := range long {
		long[i] = 'x'
	}
	for name, c := range map[string]struct{ is, then string }{
		"whole":              {"1\n", "1\n2\n"},
		"half a line":        {"1\n{\"se", "1\n2\n"},
		"half of the first":  {"{\"se", "2\n"},
		"half of a long one": {"1\n" + string(long), "1\n2\n"},
		"empty":              {"", "2\n"},
	} {
		path := filepath.Join(t.TempDir(), "journal.jsonl")
		put(t, path, c.is)
		if err := file.New(path).Take(t.Context(), lines("2")); err != nil {
			t.Fatal(err)
		}
		want(t, name, path, c.then)
	}
}

// Without its folder, or where a folder is, nothing is taken; it may be mended.
func TestWithoutAPlaceNothingIsTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none", "journal.jsonl"), dir} {
		if err := file.New(path).Take(t.Context(), lines("1")); err == nil || fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
