package etcd

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
)

// A store that loses its folder takes nothing more, and says which folder, and what to do.
func TestAFolderThatIsTakenAwayEndsTheStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(dir string) error
		want string
	}{
		"moved away": {want: "was moved away or removed",
			do: func(dir string) error { return os.Rename(dir, dir+".old") }},
		"its content moved away": {want: "etcd was moved away or removed", do: func(dir string) error {
			return os.Rename(filepath.Join(dir, dataName), filepath.Join(dir, "aside"))
		}},
		"another in its place": {want: "is another one", do: func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			s, err := Open(t.Context(), Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			lease, err := s.Grant(t.Context(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.do(dir); err != nil {
				t.Fatal(err)
			}
			select {
			case <-s.Failed():
			case <-time.After(20 * time.Second):
				t.Error("the store goes on without its folder")
			}
			if err := s.Err(); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "data folder "+dir) ||
				!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "put the folder back") {
				t.Errorf("it ended for %v", err)
			}
			if err := s.put(t.Context(), "a", 1); err == nil || fault.Is(err, fault.Conflict) {
				t.Errorf("a write of the lost store: %v", err)
			}
			select {
			case <-lease.Lost():
			case <-time.After(20 * time.Second):
				t.Error("a lease in the lost store still holds")
			}
			if err := s.Close(); err != nil {
				t.Logf("close: %v", err) // it may not manage to: its folder is not there
			}
		})
	}
}
