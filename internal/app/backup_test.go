package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hale/api"
	"hale/internal/app"
	"hale/internal/app/backups"
	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/etcd"
	"hale/internal/state/format"
	"hale/internal/state/starts"
)

func (h *house) backup(file string) (api.Backup, error) {
	return backups.Make(h.t.Context(), backups.Options{
		File: file, DataDir: h.dir, Client: h.client(h.socket), Version: "test", Logger: slog.New(slog.DiscardHandler),
	})
}

func (h *house) restore(file string, how func(*backups.RestoreOptions)) (api.Restored, error) {
	o := backups.RestoreOptions{File: file, DataDir: h.dir, Version: "test", Logger: slog.New(slog.DiscardHandler)}
	how(&o)
	return backups.Restore(h.t.Context(), o)
}

func asItIs(*backups.RestoreOptions)      {}
func forced(o *backups.RestoreOptions)    { o.Force = true }
func checkOnly(o *backups.RestoreOptions) { o.Check = true }

// hold asks the running controller to hold a machine.
func (h *house) hold(machine string) {
	h.t.Helper()
	client := api.Dial(h.socket)
	defer client.Close()
	_, err := client.Order(h.t.Context(), api.OrderRequest{
		Kind:     string(fleet.OrderHold),
		Subjects: []string{machine},
		For:      api.Duration(time.Hour),
		Reason:   "test",
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// inStore looks into the data folder's store while nothing runs.
func (h *house) inStore(look func(state.Store) error) {
	h.t.Helper()
	s, err := etcd.Open(h.t.Context(), etcd.Options{Dir: h.dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := look(s); err != nil {
		h.t.Error(err)
	}
	if err := s.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// held are the machines that are held.
func held(f api.Fleet) (names []string) {
	for _, hold := range f.Holds {
		names = append(names, hold.Machine)
	}
	return names
}

// A running hale is backed up, goes on, is stopped, and is what it was when it was backed up.
func TestABackupOfARunningControllerIsRestored(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	file := filepath.Join(t.TempDir(), "b")
	stop := h.run()
	first := h.await("built", allWell)
	h.hold("web-1")
	h.await("web-1 is held", func(f api.Fleet) bool { return len(held(f)) == 1 })
	b, err := h.backup(file)
	if err != nil {
		t.Fatal(err)
	}
	h.is(b, file)
	h.hold("web-2")
	h.await("web-2 is held, too", func(f api.Fleet) bool { return len(held(f)) == 2 })
	stop()
	r, err := h.restore(file, forced)
	if err != nil || !r.Done || !strings.HasPrefix(r.Aside, h.dir) || r.Installation != b.Installation ||
		!r.Made.Equal(b.Made) {
		t.Fatalf("%+v, %v", r, err)
	}
	h.inStore(func(s state.Store) error {
		last, ever, err := beliefs.LastRestore(t.Context(), s)
		if !ever || !last.Made.Equal(b.Made) {
			t.Errorf("the store says that it was restored: %v %+v", ever, last)
		}
		return err
	})
	stop = h.run()
	again := h.await("found again", allWell)
	if diff := cmp.Diff(instances(first), instances(again)); diff != "" {
		t.Errorf("the machines are other ones: %s", diff)
	}
	if diff := cmp.Diff([]string{"web-1"}, held(again)); diff != "" {
		t.Errorf("held: %s", diff)
	}
	stop()
	h.inStore(func(s state.Store) error {
		known, err := starts.Known(t.Context(), s)
		if len(known) != 2 {
			t.Errorf("the store knows of %d starts", len(known))
		}
		return err
	})
}

// is demands that a backup of the running controller is what it should be, in a file that is its owner's only.
func (h *house) is(b api.Backup, file string) {
	h.t.Helper()
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() != b.Bytes {
		h.t.Errorf("%+v, %v", info, err)
	}
	if diff := cmp.Diff([]api.BackupFleet{{Name: "web", Machines: 2}}, b.Fleets); diff != "" ||
		b.From != api.FromController || b.Format != format.Current() {
		h.t.Errorf("%+v %s", b, diff)
	}
}

// What is in the way is named, and left as it is.
func TestNothingIsReplacedUnasked(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	file := filepath.Join(t.TempDir(), "b")
	stop := h.run()
	h.await("built", allWell)
	b, err := h.backup(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.backup(file); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("over a file that is there: %v", err)
	}
	if _, err := h.restore(file, forced); !fault.Is(err, fault.Conflict) ||
		!strings.Contains(err.Error(), "in use by process") {
		t.Errorf("under a controller that runs: %v", err)
	}
	if r, err := h.restore(file, checkOnly); err != nil || r.Done || r.Installation != b.Installation {
		t.Errorf("only read: %+v, %v", r, err)
	}
	h.hold("web-2")
	h.await("it goes on", func(f api.Fleet) bool { return allWell(f) && len(held(f)) == 1 })
	stop()
	if _, err := h.restore(file, asItIs); !fault.Is(err, fault.Conflict) {
		t.Errorf("over a store: %v", err)
	}
	h.run()
	h.await("what was there is there", func(f api.Fleet) bool { return allWell(f) && len(held(f)) == 1 })
}

func TestAStoppedControllerIsBackedUpFromItsFolder(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	dir := t.TempDir()
	_, err := h.backup(filepath.Join(dir, "nothing"))
	if err == nil || !strings.Contains(err.Error(), "has no state") {
		t.Errorf("of nothing: %v", err)
	}
	stop := h.run()
	h.await("built", allWell)
	stop()
	size := 0
	h.inStore(func(s state.Store) error {
		all, err := beliefs.All(t.Context(), s, "web")
		size = len(all)
		gone, err2 := json.Marshal(belief.Machine{Name: "web-9", Generation: 4}) // removed; its number is kept
		_, err3 := s.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put("fleets/web/machines/web-9", gone)}})
		return errors.Join(err, err2, err3)
	})
	file := filepath.Join(dir, "b")
	b, err := h.backup(file)
	if err != nil || b.From != api.FromDataFolder || len(b.Fleets) != 1 || b.Fleets[0].Machines != size {
		t.Fatalf("%d machines: %+v, %v", size, b, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("something else is left beside the backup: %v, %v", files, err)
	}
	// It is restored into a folder that was never there.
	h.dir = filepath.Join(dir, "new", "data")
	if r, err := h.restore(file, asItIs); err != nil || r.Aside != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	h.run()
	h.await("found again", allWell)
}

// What cannot be restored leaves the folder as it was.
func TestWhatIsNoBackupRestoresNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	file := filepath.Join(t.TempDir(), "b")
	stop := h.run()
	first := h.await("built", allWell)
	if _, err := h.backup(file); err != nil {
		t.Fatal(err)
	}
	stop()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(data)
	changed[len(data)/2] ^= 1
	before, err := os.ReadDir(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"half of it":      data[:len(data)/2],
		"a changed one":   changed,
		"nothing":         {},
		"a configuration": []byte(quick),
	} {
		bad := file + ".bad"
		if err := os.WriteFile(bad, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := h.restore(bad, forced); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, err := os.ReadDir(h.dir); err != nil || len(after) != len(before) {
		t.Errorf("the folder has %v, %v", after, err)
	}
	h.run()
	if diff := cmp.Diff(instances(first), instances(h.await("found again", allWell))); diff != "" {
		t.Errorf("the machines are other ones: %s", diff)
	}
}

// A store of a newer format is refused, with the hale that reads it and the way out; by a start, a backup and a restore
// alike.
func TestAStoreOfANewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	file := filepath.Join(t.TempDir(), "b")
	stop := h.run()
	h.await("built", allWell)
	stop()
	if _, err := h.backup(file); err != nil {
		t.Fatal(err)
	}
	mark, err := json.Marshal(format.Mark{Format: 99, Needs: "7.1", By: "7.3"})
	if err != nil {
		t.Fatal(err)
	}
	var before int64
	h.inStore(func(s state.Store) (err error) {
		before, err = s.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put(format.Key, mark)}})
		return err
	})
	refused := func(what string, err error) {
		t.Helper()
		if !fault.Is(err, fault.Unsupported) ||
			!strings.Contains(err.Error(), "format 99: hale 7.1 and later read it") ||
			!strings.Contains(err.Error(), h.dir) {
			t.Errorf("%s: %v", what, err)
		}
	}
	a, err := app.New(h.options())
	if err != nil {
		t.Fatal(err)
	}
	refused("a start", a.Run(t.Context()))
	_, err = h.backup(file + "2")
	refused("a backup", err)
	h.inStore(func(s state.Store) error {
		_, after, err := s.List(t.Context(), format.Key)
		if after != before {
			t.Errorf("the store was written to: revision %d was %d", after, before)
		}
		return err
	})
	// The way out: what this version backed up before.
	if _, err := h.restore(file, forced); err != nil {
		t.Fatal(err)
	}
	h.run()
	h.await("found again", allWell)
}
