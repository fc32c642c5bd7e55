package etcd

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"hale/internal/testbed/etcdtest"
)

// Compact makes the store forget its history, as its housekeeper does when it fills up.
func (s *Store) Compact(ctx context.Context) error { return s.compact(ctx) }

// OpenForTest opens a store that is closed when the test ends.
func OpenForTest(t testing.TB, opts Options) *Store {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-limit:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// Compact makes the servers forget their history, as their own housekeeping does.
func (s *Elsewhere) Compact(ctx context.Context) error {
	now, err := s.client.Get(ctx, "any")
	if err == nil {
		_, err = s.client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	}
	return err
}

// ConnectForTest opens a store in a server of its own; or in the one that HALE_TEST_ETCD says, perhaps of another
// version, below a prefix of its own: then the tests take turns (-parallel 1), since some forget the history.
func ConnectForTest(t *testing.T) *Elsewhere {
	t.Helper()
	if at := os.Getenv("HALE_TEST_ETCD"); at != "" {
		return (&servers{t, &etcdtest.Server{URL: at}}).connect("/" + rand.Text() + "/")
	}
	return serve(t).connect("")
}

// FollowerForTest opens the store of a server of a cluster of two, which the other one leads.
func FollowerForTest(t *testing.T) *Own { return gather(t, "a", "b").follower() }
