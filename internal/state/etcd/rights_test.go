package etcd

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"hale/internal/core/fault"
)

// A folder that others may write to, or that is another user's, is not used: what stands in it decides what is
// destroyed.
func TestAFolderOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	type spoiled struct {
		spoil func(dir string) error
		said  string
	}
	spoils := map[string]spoiled{
		"anybody may write to it": {func(dir string) error { return os.Chmod(dir, 0o777) }, "mode 0777"},
	}
	const stranger = 65534
	if os.Geteuid() == 0 { // who alone can give a folder away
		spoils["it is another user's"] = spoiled{func(dir string) error { return os.Chown(dir, stranger, stranger) },
			"sudo -u "}
		spoils["another group may write to it"] = spoiled{func(dir string) error {
			return errors.Join(os.Chown(dir, -1, stranger), os.Chmod(dir, 0o770))
		}, "chmod 0700"}
	}
	for name, c := range spoils {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				err = s.Close()
				t.Fatalf("it was opened (%v)", err)
			}
			if !fault.Is(err, fault.Unauthorised) || !strings.Contains(err.Error(), c.said) {
				t.Errorf("refused by %v", err)
			}
		})
	}
}
