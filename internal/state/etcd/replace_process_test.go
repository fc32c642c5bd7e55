package etcd

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// TestKill9InAReplacement lets a process replace its store again and again, each by one with the next number, kills it
// at a random moment, and looks at what is left: the last store that was reported, the next one, or a folder that is
// refused until it is replaced once more. Never an empty one.
func TestKill9InAReplacement(t *testing.T) {
	t.Parallel()
	if os.Getenv(childVar) == t.Name() {
		replaceForEver(t, os.Getenv(folderVar))
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	last := 0
	for range 8 {
		last = replaceAndKill(t, dir, last, time.Duration(random.IntN(400))*time.Millisecond)
	}
}

func numbered(n int) func(context.Context, state.Store) error {
	return func(ctx context.Context, s state.Store) error {
		_, err := s.Commit(ctx, state.Txn{Then: []state.Write{state.Put("n", []byte(strconv.Itoa(n)))}})
		return err
	}
}

func replaceForEver(t *testing.T, dir string) {
	first, err := strconv.Atoi(os.Getenv("HALE_TEST_FIRST"))
	if err != nil {
		t.Fatal(err)
	}
	for n := first; ; n++ {
		aside, err := Replace(t.Context(), Replacement{
			Dir:    dir,
			Logger: slog.New(slog.DiscardHandler),
			Aside:  true,
			Fill:   numbered(n),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(os.Stdout, "replaced", n); err != nil {
			t.Fatal(err)
		}
		if aside != "" {
			_ = os.RemoveAll(aside) // room for the next
		}
	}
}

// replaceAndKill lets the process replace the store that has the last number, kills it a while after it reported the
// first replacement, and returns the number of what is there then.
func replaceAndKill(t *testing.T, dir string, last int, after time.Duration) int {
	t.Helper()
	cmd := child(t, dir)
	cmd.Env = append(cmd.Env, "HALE_TEST_FIRST="+strconv.Itoa(last+1))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reported := 0
	var doom *time.Timer
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		text, isNumber := strings.CutPrefix(lines.Text(), "replaced ")
		n, err := strconv.Atoi(text)
		if !isNumber || err != nil {
			continue
		}
		if reported = n; doom == nil {
			doom = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait() // it was killed
	if reported == 0 {
		t.Fatalf("it replaced nothing:\n%s", strings.Join(said, "\n"))
	}
	s, err := Open(t.Context(), Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if fault.Is(err, fault.Permanent) && strings.Contains(err.Error(), "give hale restore again") {
		if _, err := Replace(t.Context(), Replacement{
			Dir:    dir,
			Logger: slog.New(slog.DiscardHandler),
			Fill:   numbered(reported),
		}); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed between the two renames, after number %d", reported)
		return reported
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Get(t.Context(), "n")
	if closed := s.Close(); err != nil || closed != nil {
		t.Fatalf("after number %d the store is empty: %v, %v", reported, err, closed)
	}
	n, err := strconv.Atoi(string(e.Value))
	if err != nil || n < reported || n > reported+1 {
		t.Errorf("it has number %s, and %d was reported", e.Value, reported)
	}
	left, err := filepath.Glob(filepath.Join(dir, "etcd.before-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range left {
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
	}
	return n
}
