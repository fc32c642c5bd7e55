package lists_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/app/lists"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
)

// seen is a fleet of one machine that is well.
func seen() published.Fleet {
	var f published.Fleet
	f.Spec.Name, f.Spec.Mode, f.Lease = "web", policy.ModeAct, time.Minute
	f.Provider.Standing, f.Now, f.SteadyAt = fleet.ProviderUp, fleet.Now{Mono: 2}, 1
	m := belief.Machine{Name: "web-1", Address: netip.MustParseAddr("10.0.0.1")}
	m.Current = belief.Incarnation{ID: "i-1", Certified: true}
	m.Health.Verdict = belief.VerdictHealthy
	f.Machines = []situation.View{{Machine: m}}
	return f
}

// TestAListIsWrittenOnlyWhenItDiffersAndNeverBlindly: what another hand changed or removed is put right.
func TestAListIsWrittenOnlyWhenItDiffersAndNeverBlindly(t *testing.T) {
	t.Parallel()
	w := config.List{Name: "plain", Form: config.ListJSON, Path: filepath.Join(t.TempDir(), "list"), Mode: 0o640}
	f := seen()
	update := func() string {
		t.Helper()
		if err := lists.Update(w, []published.Fleet{f}, time.Now()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(w.Path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}
	f.SteadyAt = 100
	if said := update(); said != "" {
		t.Errorf("hale just started, and wrote %s", said)
	}
	f.SteadyAt = 1
	whole := update()
	if !strings.Contains(whole, "10.0.0.1") {
		t.Errorf("it wrote %s", whole)
	}
	before, _ := os.Stat(w.Path)
	update()
	if after, err := os.Stat(w.Path); err != nil || !os.SameFile(before, after) || after.Mode() != 0o640 {
		t.Errorf("it was written for nothing: %v, %v", after, err)
	}
	f.Machines, f.Lease = nil, 0
	if said := update(); said != whole {
		t.Errorf("hale lost its lease, and wrote %s", said)
	}
	f = seen()
	if err := os.Remove(w.Path); err != nil {
		t.Fatal(err)
	}
	if said := update(); said != whole {
		t.Errorf("it was removed, and became %s", said)
	}
}

// TestAListHasThePermissionsOfTheFile, also when only these are edited.
func TestAListHasThePermissionsOfTheFile(t *testing.T) {
	t.Parallel()
	w := config.List{Name: "plain", Form: config.ListJSON, Path: filepath.Join(t.TempDir(), "list")}
	for _, w.Mode = range []fs.FileMode{0o644, 0o600, 0o640} {
		if err := lists.Update(w, []published.Fleet{seen()}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if is, err := os.Stat(w.Path); err != nil || is.Mode() != w.Mode {
			t.Errorf("it is to be %v, and is %v, %v", w.Mode, is.Mode(), err)
		}
	}
}

// TestWhatIsNoFileIsLeftAlone: hale refuses to write to a link or a pipe, and does not block on a pipe without a
// writer.
func TestWhatIsNoFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	link, pipe, target := filepath.Join(folder, "link"), filepath.Join(folder, "pipe"), filepath.Join(folder, "target")
	if err := errors.Join(os.Symlink(target, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, pipe, folder} {
		before, _ := os.Lstat(path)
		w := config.List{Name: "plain", Form: config.ListJSON, Path: path, Mode: 0o644}
		err := lists.Update(w, []published.Fleet{seen()}, time.Now())
		if err == nil || !strings.Contains(err.Error(), path+": it is a link, or no ordinary file") {
			t.Errorf("%s: %v", path, err)
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s was %v, and is %v, %v", path, before.Mode(), after.Mode(), err)
		}
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("the link's target was written")
	}
}

// TestAListThatCannotBeWrittenIsATrouble, until it can.
func TestAListThatCannotBeWrittenIsATrouble(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	synctest.Test(t, func(t *testing.T) {
		c := &config.Config{Discovery: []config.List{{Name: "plain", Form: config.ListJSON, Mode: 0o644,
			Path: filepath.Join(folder, "list")}}}
		l := lists.New(c, lists.Options{Fleets: func() []published.Fleet { return []published.Fleet{seen()} },
			Log: slog.New(slog.DiscardHandler)})
		var wg sync.WaitGroup
		wg.Go(func() { l.Run(t.Context()) })
		t.Cleanup(wg.Wait)
		time.Sleep(3 * time.Second)
		said := "list plain cannot be written: write " + filepath.Join(folder, "list") + ": no such file or directory"
		if all := l.Troubles(); len(all) != 1 || all[0].Name != "plain" || all[0].Text != said {
			t.Errorf("the troubles are %+v", all)
		}
		if err := os.WriteFile(folder, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		all := l.Troubles()
		if len(all) != 1 || !strings.Contains(all[0].Text, "not a directory") ||
			time.Since(all[0].Since) < 5*time.Second {
			t.Errorf("another reason: the troubles are %+v", all)
		}
		if err := os.Remove(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if all := l.Troubles(); len(all) != 0 {
			t.Errorf("the troubles still are %+v", all)
		}
	})
}
