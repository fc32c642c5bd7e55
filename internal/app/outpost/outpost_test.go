package outpost_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/internal/app/outpost"
)

// A satellite that was told where its token would be read on the way, or that has none, does not begin.
func TestWhatASatelliteDoesNotBeginWith(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		join, token, ca string
		want            string
	}{
		"in the clear":   {"http://hale.example.org:7118", token, "", "would go to hale.example.org:7118 in the clear"},
		"no address":     {"hale.example.org:7118", token, "", "is not the address of a server"},
		"with a user":    {"https://me:pw@hale.example.org", token, "", "has a user in it"},
		"without token":  {"https://hale.example.org:7118", token + "-not", "", "no such file"},
		"no authorities": {"https://hale.example.org:7118", token, token, "has no certificate in PEM form"},
	} {
		err := outpost.Run(t.Context(), outpost.Options{Join: []string{c.join}, TokenFile: c.token, CA: c.ca,
			Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// It ends when it is told to, whether a server answers or not.
func TestASatelliteEnds(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer end()
	if err := outpost.Run(ctx, outpost.Options{Join: []string{"http://127.0.0.1:1"}, TokenFile: token,
		Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Error(err)
	}
}
