// Package statetest is the conformance suite of the state port: what every state.Store must
// do, so that the engine may be tested on one and run on another.
//
// It promises to use only the port. It does not test durability, disk space or speed: each adapter tests its own.
package statetest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// patience bounds every wait for something that must happen.
const patience = 30 * time.Second

// Setup says how to examine a store.
type Setup struct {
	// Open returns an empty store. It is called within Around.
	Open func(t *testing.T) state.Store
	// Compact makes the store forget all history up to now.
	Compact func(t *testing.T, store state.Store)
	// Longest is what a lease has left at most; 0: all of its time.
	Longest time.Duration
	// Around, if set, runs each case, for example in a testing/synctest bubble.
	Around func(t *testing.T, run func(t *testing.T))
}

// Run examines the store.
func Run(t *testing.T, setup Setup) {
	t.Helper()
	around := setup.Around
	if around == nil {
		around = func(t *testing.T, run func(t *testing.T)) { run(t) }
	}
	for name, examine := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			around(t, func(t *testing.T) {
				examine(&room{T: t, Store: setup.Open(t), home: "home/", compact: setup.Compact,
					longest: cmp.Or(setup.Longest, time.Hour)})
			})
		})
	}
}

func cases() map[string]func(*room) {
	return map[string]func(*room){
		"a key that was never put is not found":                     neverPut,
		"what was put is read back as it was":                       putGet,
		"a value belongs to its reader":                             ownValues,
		"a key is created only once":                                createOnly,
		"a compare that fails writes nothing":                       compareFails,
		"a transaction writes all its keys at one revision":         atomic,
		"a transaction without writes compares":                     compareOnly,
		"a list is sorted and ends where its prefix ends":           listEdges,
		"a long list is complete":                                   longList,
		"a scan has what a list has, as of its beginning":           scan,
		"many writes are done in as many transactions":              manyWrites,
		"a range is deleted up to its end":                          deleteRange,
		"deleting what is not there changes nothing":                deleteNothing,
		"a request beyond the limits is invalid and not done":       limits,
		"a dead context sends nothing":                              deadContext,
		"a watch from an old revision sees everything in order":     watchOld,
		"a watch after a list sees what comes later":                watchLater,
		"a watch ends with its context":                             watchEnds,
		"many watches that end at once end":                         watchesEndTogether,
		"a watch from before a compaction says so":                  watchCompacted,
		"an expired lease takes its keys along":                     leaseExpires,
		"a lease is renewed for as long as its context lives":       leaseLives,
		"a revoked lease is lost at once":                           leaseRevoked,
		"a key put anew without its lease outlives it":              leaseDropped,
		"what remains of a lease is never overstated":               leaseRemaining,
		"a stale owner is refused after the key changed hands":      fencing,
		"of concurrent commits to one key one wins per revision":    contention,
		"of concurrent commits to two keys no half is ever visible": isolation,
	}
}

// room is where one case happens.
type room struct {
	*testing.T
	state.Store
	home    string // prefix of the keys that the case looks at
	compact func(*testing.T, state.Store)
	longest time.Duration
}

func (r *room) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	r.Cleanup(cancel)
	return ctx
}

func (r *room) key(name string) string { return r.home + name }

// must commits what has to succeed.
func (r *room) must(txn state.Txn) int64 {
	r.Helper()
	revision, err := r.Commit(r.ctx(), txn)
	if err != nil {
		r.Fatalf("commit: %v", err)
	}
	return revision
}

// put sets a key and returns its revision.
func (r *room) put(name, value string) int64 {
	r.Helper()
	return r.must(state.Txn{Then: []state.Write{state.Put(r.key(name), []byte(value))}})
}

// refused commits what has to fail with the kind.
func (r *room) refused(want fault.Kind, txn state.Txn) {
	r.Helper()
	if _, err := r.Commit(r.ctx(), txn); !fault.Is(err, want) {
		r.Fatalf("commit = %v, want %s", err, want)
	}
}

// contents lists everything of this case as "name=value" in one line.
func (r *room) contents() string {
	r.Helper()
	return r.contentsOf("")
}

func (r *room) contentsOf(prefix string) string {
	r.Helper()
	entries, _, err := r.List(r.ctx(), r.key(prefix))
	if err != nil {
		r.Fatalf("list: %v", err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, strings.TrimPrefix(e.Key, r.home)+"="+string(e.Value))
	}
	return strings.Join(all, " ")
}

func (r *room) wantContents(want string) {
	r.Helper()
	if got := r.contents(); got != want {
		r.Fatalf("the store has %q, want %q", got, want)
	}
}

// watch takes n events and renders them as "name=value" or "name gone".
func (r *room) watch(after int64, n int) []string {
	r.Helper()
	var got []string
	last := after
	for e, err := range r.Watch(r.ctx(), r.home, after) {
		if err != nil {
			r.Fatalf("watch: %v after %q", err, got)
		}
		if e.Revision < last || e.Revision <= after {
			r.Errorf("event at revision %d came after %d", e.Revision, last)
		}
		last = e.Revision
		got = append(got, render(r.home, e))
		if len(got) == n {
			return got
		}
	}
	r.Fatalf("the watch ended after %q, want %d events", got, n)
	return nil
}

func render(home string, e state.Event) string {
	name := strings.TrimPrefix(e.Key, home)
	if e.Deleted {
		return name + " gone"
	}
	return fmt.Sprintf("%s=%s", name, e.Value)
}

// grant returns a lease that is renewed until stop is called.
func (r *room) grant(ttl time.Duration) (lease state.Lease, stop func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	r.Cleanup(cancel)
	lease, err := r.Grant(ctx, ttl)
	if err != nil {
		r.Fatalf("grant: %v", err)
	}
	return lease, cancel
}

// wantLost waits until the lease is lost.
func (r *room) wantLost(lease state.Lease) {
	r.Helper()
	select {
	case <-lease.Lost():
	case <-r.ctx().Done():
		r.Fatal("the lease was never lost")
	}
	if left := lease.Remaining(); left != 0 {
		r.Errorf("a lost lease has %v left", left)
	}
}

func lost(lease state.Lease) bool {
	select {
	case <-lease.Lost():
		return true
	default:
		return false
	}
}
