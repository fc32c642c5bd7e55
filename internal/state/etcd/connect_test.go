package etcd

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/testbed/etcdtest"
)

// servers are an etcd server as others run it.
type servers struct {
	*testing.T
	*etcdtest.Server
}

func serve(t *testing.T, change ...func(*embed.Config)) *servers {
	t.Helper()
	return &servers{t, etcdtest.Start(t, change...)}
}

// connect opens the store in them, and closes it when the test ends.
func (s *servers) connect(prefix string) *Elsewhere {
	s.Helper()
	store, err := Connect(s.Context(), Shared{Endpoints: []string{s.URL}, Prefix: prefix,
		Logger: slog.New(slog.NewTextHandler(s.Output(), nil))})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.Error(err)
		}
	})
	return store
}

func put(t *testing.T, s state.Store, key, value string) {
	t.Helper()
	if _, err := s.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put(key, []byte(value))}}); err != nil {
		t.Fatal(err)
	}
}

// Two hales with prefixes of their own in the same servers do not see each other, and neither sees what others keep
// there.
func TestOthersInTheSameServersAreNotSeen(t *testing.T) {
	t.Parallel()
	servers := serve(t)
	one, other, all := servers.connect("/one/"), servers.connect("/other/"), servers.connect("/")
	put(t, one, "fleets/web", "1")
	put(t, other, "fleets/db", "2")
	for store, want := range map[*Elsewhere]string{one: "fleets/web", other: "fleets/db"} {
		entries, _, err := store.List(t.Context(), "")
		if err != nil || len(entries) != 1 || entries[0].Key != want {
			t.Errorf("the store has %v (%v), want %s", entries, err, want)
		}
	}
	if entries, _, err := all.List(t.Context(), ""); err != nil || len(entries) != 2 {
		t.Errorf("beside them there are %v (%v)", entries, err)
	}
}

// A lease of a hale that ended without a word lives for its time: another hale must not take it for over.
func TestALeaseOutlivesItsHale(t *testing.T) {
	t.Parallel()
	servers := serve(t)
	store, err := Connect(t.Context(), Shared{Endpoints: []string{servers.URL}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := store.Grant(t.Context(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Commit(t.Context(), state.Txn{Then: []state.Write{state.PutLeased("owner", nil,
		lease.ID())}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	next := servers.connect("")
	if _, err := next.Get(t.Context(), "owner"); err != nil {
		t.Errorf("as the next hale begins: %v", err)
	}
	eventually(t, "the lease has run out", func() bool {
		_, err := next.Get(t.Context(), "owner")
		return fault.Is(err, fault.NotFound)
	})
}

// Servers that are away are said so soon, and a store in them works again once they are back.
func TestServersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	servers := serve(t)
	store := servers.connect("")
	put(t, store, "a", "1")
	dir, at := servers.Config().Dir, servers.Clients[0].Addr().String()
	seen := make(chan string, 10)
	go func() { // ends with the test
		for last := int64(0); t.Context().Err() == nil; { // a watch may end with its server
			for e, err := range store.Watch(t.Context(), "", last) {
				if err == nil {
					last = e.Revision
					seen <- e.Key
				}
			}
		}
	}()
	servers.End()
	if _, err := store.Get(t.Context(), "a"); !fault.Is(err, fault.Transient) {
		t.Errorf("get = %v, want transient", err)
	}
	_, err := store.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put("b", nil)}})
	if !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("commit = %v, want an unknown outcome", err)
	}
	_, err = Connect(t.Context(), Shared{Endpoints: []string{servers.URL}, Logger: slog.New(slog.DiscardHandler)})
	if !fault.Is(err, fault.Transient) {
		t.Errorf("connect = %v, want transient", err)
	}
	serve(t, func(c *embed.Config) {
		c.Dir = dir
		c.ListenClientUrls = []url.URL{{Scheme: "http", Host: at}}
	})
	eventually(t, "the store answers again", func() bool {
		_, err := store.Get(t.Context(), "a")
		return err == nil
	})
	put(t, store, "c", "1")
	for key := ""; key != "c"; {
		select {
		case key = <-seen:
		case <-time.After(30 * time.Second):
			t.Fatal("the watch sees nothing of what is written now")
		}
	}
}

// S17: a server that lost the others knows nothing any more: it takes nothing, and ends its watches, so that nobody
// waits for news that do not come.
func TestAServerWithoutTheMajority(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Cluster(t)
	store := (&servers{t, cluster[0]}).connect("")
	put(t, store, "a", "1")
	ended := make(chan error, 1)
	go func() { // ends with the watch
		for _, err := range store.Watch(t.Context(), "", 0) {
			if err != nil {
				ended <- err
			}
		}
	}()
	for _, other := range cluster[1:] {
		go other.End() // it may wait for its connections
	}
	select {
	case err := <-ended:
		if !fault.Is(err, fault.Transient) {
			t.Errorf("the watch ended with %v, want transient", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the watch stands still")
	}
	if _, err := store.Get(t.Context(), "a"); !fault.Is(err, fault.Transient) {
		t.Errorf("get = %v, want transient", err)
	}
	_, err := store.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put("a", nil)}})
	if !fault.Is(err, fault.UnknownOutcome) && !fault.Is(err, fault.Transient) {
		t.Errorf("commit = %v, want that it is not known to be done", err)
	}
}

// Servers without room refuse what grows, and say so.
func TestServersThatAreFull(t *testing.T) {
	t.Parallel()
	servers := serve(t, func(c *embed.Config) { c.QuotaBackendBytes = 1 << 20 })
	store := servers.connect("")
	full := func() bool {
		_, err := store.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put("a", make([]byte, 512<<10))}})
		return fault.Is(err, fault.NoSpace)
	}
	eventually(t, "it is full", full)
	if room, err := store.Space(); err != nil || !room.Alarmed || room.Low() == "" || room.Quota != 1<<20 {
		t.Errorf("it has room: %+v (%v)", room, err)
	}
	if _, err := store.Grant(t.Context(), time.Minute); !fault.Is(err, fault.NoSpace) {
		t.Errorf("grant = %v, want no space", err)
	}
}

func TestConnectNeedsToKnowWhere(t *testing.T) {
	t.Parallel()
	if _, err := Connect(t.Context(), Shared{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("connect = %v, want invalid", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Connect(ctx, Shared{Endpoints: []string{"http://127.0.0.1:1"}, Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("connect = %v, want canceled", err)
	}
}
