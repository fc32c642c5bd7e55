package etcd

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"hale/internal/fault"
)

// A folder that others may write to, or that is another user's, is not used: what stands in it decides what is destroyed.
func TestAFolderOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string) error
		said  string
	}{
		"anybody may write to it": {func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o777) }, "mode 0777"},
		"it is another user's": {func(t *testing.T, dir string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			return os.Chown(dir, 65534, 65534)
		}, "sudo -u "},
		"another group may write to it": {func(t *testing.T, dir string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder to another group")
			}
			if err := os.Chown(dir, -1, 65534); err != nil {
				return err
			}
			return os.Chmod(dir, 0o770)
		}, "chmod 0700"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := c.spoil(t, dir); err != nil {
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
