package etcd_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/etcd"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// holding fills a store with one key.
func holding(value string) func(context.Context, state.Store) error {
	return func(ctx context.Context, s state.Store) error {
		_, err := s.Commit(ctx, state.Txn{Then: []state.Write{state.Put("a", []byte(value))}})
		return err
	}
}

// holds opens the store in the folder, and fails unless that is its key.
func holds(t *testing.T, dir, value string) {
	t.Helper()
	s, err := etcd.Open(t.Context(), etcd.Options{Dir: dir, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Get(t.Context(), "a")
	if err := errors.Join(err, s.Close()); err != nil || string(e.Value) != value {
		t.Errorf("it holds %q, %v, want %q", e.Value, err, value)
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}

func TestAFolderGetsAnotherStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	r := etcd.Replacement{Dir: dir, Logger: quiet(), Fill: holding("first")}
	if aside, err := etcd.Replace(t.Context(), r); err != nil || aside != "" {
		t.Fatalf("into a folder that is not there: %q, %v", aside, err)
	}
	holds(t, dir, "first")
	r.Fill = holding("second")
	if _, err := etcd.Replace(t.Context(), r); !fault.Is(err, fault.Conflict) ||
		!strings.Contains(err.Error(), "there is a store already") {
		t.Errorf("over a store: %v", err)
	}
	holds(t, dir, "first")
	r.Aside = true
	aside, err := etcd.Replace(t.Context(), r)
	if err != nil || filepath.Dir(aside) != dir {
		t.Fatalf("%q, %v", aside, err)
	}
	holds(t, dir, "second")
	if got := names(t, dir); len(got) != 3 || !slices.Contains(got, filepath.Base(aside)) {
		t.Errorf("the folder has %v", got)
	}
	// The old one is whole, and can be taken back by its name.
	back := t.TempDir()
	if err := os.Rename(aside, filepath.Join(back, "etcd")); err != nil {
		t.Fatal(err)
	}
	holds(t, back, "first")
}

func TestAFolderInUseIsNotTouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := etcd.OpenForTest(t, etcd.Options{Dir: dir})
	_, err := etcd.Replace(t.Context(), etcd.Replacement{Dir: dir, Logger: quiet(), Aside: true, Fill: holding("x")})
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("replace = %v", err)
	}
	if err := holding("still")(t.Context(), s); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeFilledReplacesNothing(t *testing.T) {
	t.Parallel()
	dir, broken := t.TempDir(), errors.New("the backup is damaged")
	failing := etcd.Replacement{
		Dir:    dir,
		Logger: quiet(),
		Aside:  true,
		Fill: func(ctx context.Context, s state.Store) error {
			return errors.Join(holding("half")(ctx, s), broken)
		},
	}
	// A folder that was empty is not one that hale may begin anew in.
	if _, err := etcd.Replace(t.Context(), failing); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	_, err := etcd.Open(t.Context(), etcd.Options{Dir: dir, Logger: quiet()})
	if !fault.Is(err, fault.Permanent) || !strings.Contains(err.Error(), "give hale restore again") {
		t.Errorf("open = %v", err)
	}
	if _, err := etcd.Replace(t.Context(), etcd.Replacement{
		Dir:    dir,
		Logger: quiet(),
		Fill:   holding("whole"),
	}); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, "whole")
	// A store that was there stays.
	if _, err := etcd.Replace(t.Context(), failing); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	holds(t, dir, "whole")
	if got := names(t, dir); !slices.Equal(got, []string{"etcd", "hale.lock"}) {
		t.Errorf("the folder has %v", got)
	}
}

// A crash between the two renames leaves what the old store was, the new one, and nothing in the place of both.
func TestAChangeThatWasCutOffIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := etcd.Replace(t.Context(), etcd.Replacement{
		Dir:    dir,
		Logger: quiet(),
		Fill:   holding("old"),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Replace(t.Context(), etcd.Replacement{
		Dir:    filepath.Join(dir, "etcd.restoring"),
		Logger: quiet(),
		Fill:   holding("new"),
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "etcd"), filepath.Join(dir, "etcd.before-x")); err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Open(t.Context(), etcd.Options{Dir: dir, Logger: quiet()}); !fault.Is(err, fault.Permanent) {
		t.Errorf("open = %v", err)
	}
	if _, err := etcd.Replace(t.Context(), etcd.Replacement{
		Dir:    dir,
		Logger: quiet(),
		Fill:   holding("again"),
	}); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, "again")
}
