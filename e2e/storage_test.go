package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hale/internal/testbed/lab"
)

// TestS58AMachineOnAFullStorageIsLeftToAPerson lets a machine write where there is no room: libvirt pauses it. To
// resume it would be in vain, and to replace it would cost its memory; a person is told at once.
func TestS58AMachineOnAFullStorageIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=4m,mode=0711"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	s := newStage(t, "10.89.0.0/16", settings{
		fleet:     "db",
		size:      1,
		state:     small,
		fleetYAML: withData + "[start, resume, reboot, recreate]}",
	})
	defer func() {
		if t.Failed() {
			s.diagnose()
		}
	}()
	s.raise()
	s.stands()
	old, mark := s.body("db-1"), s.journal.mark()
	filler := fill(t, small)
	s.fault("db-1", lab.FaultWrite)
	s.event("a person is told", mark, of("db-1", because("paged", "io-error")))
	s.idle(quiet)
	s.untouched(mark)
	if m := s.machine("db-1"); m.Cause != "io-error" || !m.NeedsPerson {
		t.Errorf("db-1 is %+v", m)
	}
	if why := s.says("why", "db-1"); !strings.Contains(why, "a write to its disk failed") {
		t.Errorf("hale why says:\n%s", why)
	}

	s.must(os.Remove(filler))
	s.fault("db-1", lab.FaultResume)
	s.event("it is well again", mark, of("db-1", because("incident-closed", "recovered")))
	s.untouched(mark)
	s.became("db-1", old, kept{instance: true, process: true, boot: true})
	s.lawful()
}

// fill leaves no room in the folder, and returns the file that takes it.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4<<10); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return path
}
