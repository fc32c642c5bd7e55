package scenario

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	atWrite = regexp.MustCompile(`dies at write \d+`)
	seeded  = regexp.MustCompile(`(?m)^seed \d+$`)
)

// TestS71KilledAtEveryWrite plays each scenario in which hale is killed at one write with every other write of the same
// heal, too, and each of them both before and after the store took it. What the file expects must hold every time.
func TestS71KilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../scenarios/S71-*.txt")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kills, writes := 0, 0
			for write := 1; killAt(t, string(data), write, &kills); write++ {
				writes = write
			}
			if writes < 5 || kills < 4*writes {
				t.Errorf("only %d kills at %d writes: the heal has more of them", kills, writes)
			}
		})
	}
}

// killAt plays the file with hale killed at the write, with several seeds, and reports whether the heal had so many
// writes.
func killAt(t *testing.T, file string, write int, kills *int) bool {
	t.Helper()
	reached := false
	for seed := 1; seed <= 6; seed++ {
		text := atWrite.ReplaceAllString(file, fmt.Sprintf("dies at write %d", write))
		text = seeded.ReplaceAllString(text, fmt.Sprintf("seed %d", seed))
		text, _, _ = strings.Cut(text, "-- trace --\n")
		out, err := understood(t, text).Play()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(out.Trace, []byte("hale-1 dies at this write")) {
			*kills++
			reached = true
		}
		for _, p := range out.Problems {
			t.Errorf("killed at write %d, with seed %d: %s\n%s", write, seed, p, out.Trace)
		}
	}
	return reached
}
