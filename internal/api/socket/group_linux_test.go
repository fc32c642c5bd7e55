package socket_test

import (
	"path/filepath"
	"strings"
	"testing"

	"hale/internal/api/socket"
	"hale/internal/core/fault"
)

func TestAGroupOfReadersThatDoesNotExistIsRefused(t *testing.T) {
	t.Parallel()
	_, err := socket.Listen(t.Context(), filepath.Join(t.TempDir(), "s"), "no-such-group")
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "there is no group no-such-group") {
		t.Errorf("it ended with %v", err)
	}
}
