package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"hale/internal/state/active"
)

// change is one change of a key, as etcd's history has it.
type change struct {
	key, value string
	gone       bool
	gap        bool // no key: what came before is not known
}

// history is all changes of who is the active server, and of who owns which fleet, in the order of etcd's revisions.
type history struct {
	client *clientv3.Client
	mu     sync.Mutex
	all    []change
	ended  bool // the mark of the end was seen
}

const (
	officeKey  = "/hale/active/server"
	fleetsKeys = "/hale/fleets/"
	ownerKey   = "/owner"
	endKey     = "end-of-the-history"
)

// remember begins to follow the history, until the test ends.
func remember(t *testing.T, endpoints []string) *history {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: patience, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{client: client}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var following sync.WaitGroup
	following.Go(func() { h.follow(ctx) })
	t.Cleanup(func() {
		cancel()
		following.Wait()
		_ = client.Close()
	})
	return h
}

// follow takes in all changes until ctx ends. A watch that ends goes on where it was.
func (h *history) follow(ctx context.Context) {
	for next := int64(1); ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		watching, stop := context.WithCancel(ctx)
		for r := range h.client.Watch(watching, "", clientv3.WithPrefix(), clientv3.WithRev(next)) {
			if r.CompactRevision >= next {
				next = r.CompactRevision
				h.add(change{gap: true})
			}
			for _, e := range r.Events {
				next = e.Kv.ModRevision + 1
				h.add(change{key: string(e.Kv.Key), value: string(e.Kv.Value),
					gone: e.Type == clientv3.EventTypeDelete})
			}
		}
		stop()
	}
}

func (h *history) add(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case c.gap, c.key == officeKey, strings.HasPrefix(c.key, fleetsKeys) && strings.HasSuffix(c.key, ownerKey):
		h.all = append(h.all, c)
	case c.key == endKey:
		h.ended = true
	}
}

// end returns all changes until now.
func (h *history) end(t *testing.T) []change {
	t.Helper()
	limit := time.Now().Add(patience)
	for put := false; ; pause(t.Context(), 50*time.Millisecond) {
		if !put {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			_, err := h.client.Put(ctx, endKey, "")
			cancel()
			put = err == nil
		}
		h.mu.Lock()
		all, ended := h.all, h.ended
		h.mu.Unlock()
		if ended {
			return all
		}
		if time.Now().After(limit) {
			t.Fatal("etcd does not tell its history in time")
		}
	}
}

// againstOwnership returns the changes that break L7: a server becomes the active one while another one is, or takes a
// fleet while it is not the active one.
func againstOwnership(all []change) []string {
	var found []string
	var is active.Server
	known := true
	for _, c := range all {
		switch {
		case c.gap:
			known = false
		case c.key == officeKey && c.gone:
			is, known = active.Server{}, true
		case c.key == officeKey:
			var next active.Server
			if err := json.Unmarshal([]byte(c.value), &next); err != nil {
				found = append(found, fmt.Sprintf("L7: the office says %q: %v", c.value, err))
			}
			if known && is.Process != "" && is.Process != next.Process {
				found = append(found, fmt.Sprintf("L7: %s became the active server while %s was", next.Name, is.Name))
			}
			is, known = next, true
		case known && !c.gone && c.value != is.Name:
			found = append(found, fmt.Sprintf("L7: %s took %s while the active server was %q", c.value, c.key, is.Name))
		}
	}
	return found
}

// The judge of the history itself.
func TestTheHistoryIsJudged(t *testing.T) {
	t.Parallel()
	office := func(name, process string) change {
		return change{key: officeKey, value: fmt.Sprintf(`{"Name":%q,"Process":%q}`, name, process)}
	}
	gone, gap := change{key: officeKey, gone: true}, change{gap: true}
	owner := func(name string) change { return change{key: fleetsKeys + "f0" + ownerKey, value: name} }
	for name, is := range map[string]struct {
		all  []change
		want string
	}{
		"one after the other": {[]change{office("a", "1"), owner("a"), gone, office("b", "2"), owner("b")}, ""},
		"it says more":        {[]change{office("a", "1"), office("a", "1")}, ""},
		"two at once": {[]change{office("a", "1"), office("b", "2")},
			"b became the active server while a was"},
		"its own last start": {[]change{office("a", "1"), office("a", "2")},
			"a became the active server while a was"},
		"a fleet of another's": {[]change{office("a", "1"), owner("b")}, "b took /hale/fleets/f0/owner"},
		"a fleet too late":     {[]change{office("a", "1"), gone, owner("a")}, "a took /hale/fleets/f0/owner"},
		"what is not known":    {[]change{office("a", "1"), gap, office("b", "2"), owner("b")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := strings.Join(againstOwnership(is.all), "\n")
			if (is.want == "") != (found == "") || !strings.Contains(found, is.want) {
				t.Errorf("found %q, want %q", found, is.want)
			}
		})
	}
}
