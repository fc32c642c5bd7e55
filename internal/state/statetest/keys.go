package statetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

func neverPut(r *room) {
	if _, err := r.Get(r.ctx(), r.key("ghost")); !fault.Is(err, fault.NotFound) {
		r.Fatalf("get = %v, want %s", err, fault.NotFound)
	}
	r.wantContents("")
}

func putGet(r *room) {
	first := r.put("m", "one")
	second := r.put("m", "two")
	if second <= first {
		r.Fatalf("revision %d follows %d", second, first)
	}
	e, err := r.Get(r.ctx(), r.key("m"))
	if err != nil {
		r.Fatal(err)
	}
	if e.Key != r.key("m") || string(e.Value) != "two" || e.Revision != second || e.Lease != 0 {
		r.Fatalf("entry is %+v, want two at revision %d", e, second)
	}
	r.put("empty", "")
	if e, err := r.Get(r.ctx(), r.key("empty")); err != nil || len(e.Value) != 0 {
		r.Fatalf("empty value = %q, %v", e.Value, err)
	}
}

func ownValues(r *room) {
	value := []byte("mine")
	r.must(state.Txn{Then: []state.Write{state.Put(r.key("m"), value)}})
	copy(value, "XXXX")
	e, err := r.Get(r.ctx(), r.key("m"))
	if err != nil {
		r.Fatal(err)
	}
	copy(e.Value, "YYYY")
	r.wantContents("m=mine")
}

func createOnly(r *room) {
	create := func(value string) state.Txn {
		return state.Txn{
			If:   []state.Compare{state.Absent(r.key("j/1"))},
			Then: []state.Write{state.Put(r.key("j/1"), []byte(value))},
		}
	}
	r.must(create("first"))
	r.refused(fault.Conflict, create("second"))
	r.wantContents("j/1=first")
	r.must(state.Txn{Then: []state.Write{state.Delete(r.key("j/1"))}})
	r.must(create("third"))
	r.wantContents("j/1=third")
}

func compareFails(r *room) {
	old := r.put("a", "1")
	now := r.put("a", "2")
	lease, _ := r.grant(leaseTime)
	for reason, compare := range map[string]state.Compare{
		"an old revision":        state.At(r.key("a"), old),
		"a revision to come":     state.At(r.key("a"), now+1),
		"exists":                 state.Absent(r.key("a")),
		"does not exist":         state.At(r.key("b"), now),
		"is under no lease":      state.Held(r.key("a"), now, lease.ID()),
		"absent, so not held":    state.Held(r.key("b"), 0, lease.ID()),
		"under no lease, either": {Key: r.key("a"), Lease: lease.ID()},
	} {
		r.Logf("compare: %s", reason)
		r.refused(fault.Conflict, state.Txn{
			If: []state.Compare{state.At(r.key("a"), now), compare},
			Then: []state.Write{
				state.Put(r.key("c"), []byte("new")),
				state.Put(r.key("a"), []byte("3")),
			},
		})
		r.wantContents("a=2")
	}
	if e, err := r.Get(r.ctx(), r.key("a")); err != nil || e.Revision != now {
		r.Fatalf("revision is %d, %v, want %d", e.Revision, err, now)
	}
}

func atomic(r *room) {
	before := r.put("old", "x")
	revision := r.must(state.Txn{
		If: []state.Compare{state.At(r.key("old"), before), state.Absent(r.key("a"))},
		Then: []state.Write{
			state.Put(r.key("b"), []byte("2")),
			state.Delete(r.key("old")),
			state.Put(r.key("a"), []byte("1")),
		},
	})
	r.wantContents("a=1 b=2")
	for _, name := range []string{"a", "b"} {
		if e, err := r.Get(r.ctx(), r.key(name)); err != nil || e.Revision != revision {
			r.Errorf("%s is at revision %d, %v, want %d", name, e.Revision, err, revision)
		}
	}
	got := strings.Join(r.watch(before, 3), ", ")
	if want := "b=2, old gone, a=1"; got != want {
		r.Errorf("the watch saw %q, want %q", got, want)
	}
}

func compareOnly(r *room) {
	revision := r.put("a", "1")
	r.must(state.Txn{If: []state.Compare{state.At(r.key("a"), revision)}})
	r.refused(fault.Conflict, state.Txn{If: []state.Compare{state.Absent(r.key("a"))}})
	r.must(state.Txn{})
}

func listEdges(r *room) {
	for _, name := range []string{"m/2", "m/10", "m", "m/", "m/ü", "m/\U0010ffff", "m0", "l/z", "n"} {
		r.put(name, "")
	}
	for prefix, want := range map[string]string{
		"m/":           "m/= m/10= m/2= m/ü= m/\U0010ffff=",
		"m":            "m= m/= m/10= m/2= m/ü= m/\U0010ffff= m0=",
		"m/1":          "m/10=",
		"m/\U0010ffff": "m/\U0010ffff=",
		"o":            "",
		"":             "l/z= m= m/= m/10= m/2= m/ü= m/\U0010ffff= m0= n=",
	} {
		if got := r.contentsOf(prefix); got != want {
			r.Errorf("list of %q is %q, want %q", prefix, got, want)
		}
	}
	everything, revision, err := r.List(r.ctx(), "")
	if err != nil || len(everything) < 9 || revision < everything[0].Revision {
		r.Errorf("list of everything: %d entries at %d, %v", len(everything), revision, err)
	}
}

func longList(r *room) {
	const rounds = 20
	var last int64
	for i := range rounds {
		var txn state.Txn
		for j := range state.MaxOps {
			txn.Then = append(txn.Then, state.Put(r.key(fmt.Sprintf("%02d/%03d", i, j)), []byte("v")))
		}
		last = r.must(txn)
	}
	entries, revision, err := r.List(r.ctx(), r.home)
	if err != nil {
		r.Fatal(err)
	}
	if len(entries) != rounds*state.MaxOps || revision < last {
		r.Fatalf("%d entries at revision %d, want %d at %d", len(entries), revision, rounds*state.MaxOps, last)
	}
	for i, e := range entries {
		if want := r.key(fmt.Sprintf("%02d/%03d", i/state.MaxOps, i%state.MaxOps)); e.Key != want {
			r.Fatalf("entry %d is %q, want %q", i, e.Key, want)
		}
	}
}

func scan(r *room) {
	const rounds = 20
	for i := range rounds {
		var txn state.Txn
		for j := range state.MaxOps {
			txn.Then = append(txn.Then, state.Put(r.key(fmt.Sprintf("%02d/%03d", i, j)), []byte("old")))
		}
		r.must(txn)
	}
	n := 0
	for e, err := range state.Scan(r.ctx(), r.Store, r.home) {
		if err != nil {
			r.Fatal(err)
		}
		if want := r.key(fmt.Sprintf("%02d/%03d", n/state.MaxOps, n%state.MaxOps)); e.Key != want ||
			string(e.Value) != "old" {
			r.Fatalf("entry %d is %q: %s, want %q", n, e.Key, e.Value, want)
		}
		if n++; n == 1 { // what happens from now on is not in it
			r.must(state.Txn{Then: []state.Write{
				state.Put(r.key("19/127"), []byte("new")), state.Put(r.key("19/999"), []byte("new")),
				state.Delete(r.key("10/000")),
			}})
		}
	}
	if n != rounds*state.MaxOps {
		r.Errorf("%d entries, want %d", n, rounds*state.MaxOps)
	}
	for _, err := range state.Scan(r.ctx(), r.Store, r.home) {
		if err != nil {
			r.Error(err)
		}
		break // a reader may have enough
	}
	dead, cancel := context.WithCancel(r.ctx())
	cancel()
	for _, err := range state.Scan(dead, r.Store, r.home) {
		if !fault.Is(err, fault.Transient) {
			r.Errorf("a scan in a dead context says %v", err)
		}
	}
}

func manyWrites(r *room) {
	large := make([]byte, state.MaxBytes/3)
	writes := func(yield func(state.Write, error) bool) {
		for i := range 2*state.MaxOps + 1 {
			value := []byte("v")
			if i%50 == 0 {
				value = large
			}
			if !yield(state.Put(r.key(fmt.Sprintf("%03d", i)), value), nil) {
				return
			}
		}
	}
	if err := state.CommitAll(r.ctx(), r.Store, writes); err != nil {
		r.Fatal(err)
	}
	if entries, _, err := r.List(r.ctx(), r.home); err != nil || len(entries) != 2*state.MaxOps+1 {
		r.Errorf("%d entries, %v", len(entries), err)
	}
	broken := errors.New("the source is gone")
	failing := func(yield func(state.Write, error) bool) { yield(state.Write{}, broken) }
	if err := state.CommitAll(r.ctx(), r.Store, failing); !errors.Is(err, broken) {
		r.Errorf("commit = %v", err)
	}
}

func deleteRange(r *room) {
	for _, name := range []string{"a", "b", "b/1", "b/2", "c", "d"} {
		r.put(name, "")
	}
	before := r.put("e", "")
	r.must(state.Txn{Then: []state.Write{
		state.DeletePrefix(r.key("b/")),
		state.DeleteRange(r.key("c"), r.key("d")),
	}})
	r.wantContents("a= b= d= e=")
	got := strings.Join(r.watch(before, 3), ", ")
	if want := "b/1 gone, b/2 gone, c gone"; got != want {
		r.Errorf("the watch saw %q, want %q", got, want)
	}
	r.must(state.Txn{Then: []state.Write{state.DeletePrefix(r.home)}})
	r.wantContents("")
}

func deleteNothing(r *room) {
	before := r.put("a", "1")
	r.must(state.Txn{Then: []state.Write{state.Delete(r.key("b")), state.DeletePrefix(r.key("c/"))}})
	r.put("z", "last")
	r.wantContents("a=1 z=last")
	if got := r.watch(before, 1); got[0] != "z=last" {
		r.Errorf("the watch saw %q, want only z", got)
	}
}

func limits(r *room) {
	puts := func(n int) (writes []state.Write) {
		for i := range n {
			writes = append(writes, state.Put(r.key(fmt.Sprint("k", i)), nil))
		}
		return writes
	}
	room := state.Txn{Then: []state.Write{state.Put(r.key("big"), nil)}}.Size()
	big := func(extra int) []state.Write {
		return []state.Write{state.Put(r.key("big"), make([]byte, state.MaxBytes-room+extra))}
	}
	for reason, txn := range map[string]state.Txn{
		"too many writes":     {Then: puts(state.MaxOps + 1)},
		"too many compares":   {If: make([]state.Compare, state.MaxOps+1), Then: puts(1)},
		"too large":           {Then: big(1)},
		"empty key":           {Then: []state.Write{state.Put("", nil)}},
		"empty compare":       {If: []state.Compare{state.Absent("")}},
		"not UTF-8":           {Then: []state.Write{state.Put(r.key("\xff"), nil)}},
		"no action":           {Then: []state.Write{{Key: r.key("a")}}},
		"empty range":         {Then: []state.Write{state.DeleteRange(r.key("b"), r.key("b"))}},
		"one key twice":       {Then: []state.Write{state.Put(r.key("a"), nil), state.Delete(r.key("a"))}},
		"a key and its range": {Then: []state.Write{state.Put(r.key("p/x"), nil), state.DeletePrefix(r.key("p/"))}},
	} {
		r.Logf("invalid: %s", reason)
		r.refused(fault.Invalid, txn)
	}
	r.wantContents("")
	r.must(state.Txn{Then: puts(state.MaxOps)})
	r.must(state.Txn{Then: big(0)})
	if _, err := r.Get(r.ctx(), ""); !fault.Is(err, fault.Invalid) {
		r.Errorf("get of no key = %v, want %s", err, fault.Invalid)
	}
}

func deadContext(r *room) {
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	txn := state.Txn{Then: []state.Write{state.Put(r.key("a"), nil)}}
	if _, err := r.Commit(ctx, txn); !fault.Is(err, fault.Transient) {
		r.Errorf("commit = %v, want %s: it was not sent", err, fault.Transient)
	}
	if _, err := r.Get(ctx, r.key("a")); !fault.Is(err, fault.Transient) {
		r.Errorf("get = %v, want %s", err, fault.Transient)
	}
	if _, _, err := r.List(ctx, r.home); !fault.Is(err, fault.Transient) {
		r.Errorf("list = %v, want %s", err, fault.Transient)
	}
	if _, err := r.Grant(ctx, leaseTime); !fault.Is(err, fault.Transient) {
		r.Errorf("grant = %v, want %s", err, fault.Transient)
	}
	r.wantContents("")
}

func watchOld(r *room) {
	before := r.put("a", "0")
	var want []string
	for i := range 20 {
		r.put("a", fmt.Sprint(i))
		want = append(want, fmt.Sprint("a=", i))
	}
	r.must(state.Txn{Then: []state.Write{state.Delete(r.key("a"))}})
	want = append(want, "a gone")
	if got := r.watch(before, len(want)); fmt.Sprint(got) != fmt.Sprint(want) {
		r.Fatalf("the watch saw %q, want %q", got, want)
	}
}

func watchLater(r *room) {
	r.put("a", "1")
	_, listed, err := r.List(r.ctx(), r.home)
	if err != nil {
		r.Fatal(err)
	}
	watching := make(chan []string, 1)
	go func() {
		var got []string
		for e, err := range r.Watch(r.ctx(), r.home, listed) {
			if err != nil {
				r.Errorf("watch: %v", err)
				break
			}
			if got = append(got, render(r.home, e)); len(got) == 3 {
				break
			}
		}
		watching <- got
	}()
	r.put("a", "2")
	r.put("b", "1")
	r.must(state.Txn{Then: []state.Write{state.Put("elsewhere/"+r.home, nil)}})
	r.must(state.Txn{Then: []state.Write{state.Delete(r.key("a"))}})
	if got, want := strings.Join(<-watching, ", "), "a=2, b=1, a gone"; got != want {
		r.Fatalf("the watch saw %q, want %q", got, want)
	}
}

func watchEnds(r *room) {
	now := r.put("a", "1")
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range r.Watch(ctx, r.home, now-1) {
			last = err
			time.AfterFunc(10*time.Millisecond, cancel) // while the watch waits for more
		}
		ended <- last
	}()
	if err := <-ended; err != nil {
		r.Fatalf("the watch ended with %v, want no error", err)
	}
}

// watchesEndTogether is how a controller with many fleets ends.
func watchesEndTogether(r *room) {
	const many = 200
	now := r.put("a", "1")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	began, ended := make(chan struct{}, many), make(chan error, many)
	for range many {
		go func() {
			var last error
			for _, err := range r.Watch(ctx, r.home, now-1) {
				last = err
				began <- struct{}{}
			}
			ended <- last
		}()
	}
	for range many {
		<-began
	}
	cancel()
	late := time.After(patience)
	for i := range many {
		select {
		case err := <-ended:
			if err != nil {
				r.Errorf("a watch ended with %v, want no error", err)
			}
		case <-late:
			r.Fatalf("%d of %d watches have not ended", many-i, many)
		}
	}
	r.put("a", "later")
	if got := r.watch(now, 1); got[0] != "a=later" {
		r.Fatalf("a watch after them saw %q", got)
	}
}

func watchCompacted(r *room) {
	old := r.put("a", "1")
	for i := range 5 {
		r.put("a", fmt.Sprint(i))
	}
	now := r.put("a", "now")
	r.compact(r.T, r.Store)
	r.wantContents("a=now")
	for _, after := range []int64{old, 0} {
		var got []error
		for e, err := range r.Watch(r.ctx(), r.home, after) {
			if err == nil {
				r.Fatalf("the watch saw %s after a hole", render(r.home, e))
			}
			got = append(got, err)
		}
		if len(got) != 1 || !errors.Is(got[0], state.ErrCompacted) || !fault.Is(got[0], fault.NotFound) {
			r.Fatalf("the watch after %d ended with %v, want one error for %v", after, got, state.ErrCompacted)
		}
	}
	r.put("a", "later")
	if got := r.watch(now, 1); got[0] != "a=later" {
		r.Fatalf("the watch from the present saw %q", got)
	}
}

func contention(r *room) {
	const rivals, wins = 8, 5
	r.put("n", "")
	var mu sync.Mutex
	winners := make(map[int64]int) // by the revision that they replaced
	var all sync.WaitGroup
	for range rivals {
		all.Go(func() {
			for won := 0; won < wins && r.Context().Err() == nil; {
				e, err := r.Get(r.ctx(), r.key("n"))
				if err != nil {
					r.Errorf("get: %v", err)
					return
				}
				_, err = r.Commit(r.ctx(), state.Txn{
					If:   []state.Compare{state.At(r.key("n"), e.Revision)},
					Then: []state.Write{state.Put(r.key("n"), append(e.Value, '.'))},
				})
				switch {
				case err == nil:
					won++
					mu.Lock()
					winners[e.Revision]++
					mu.Unlock()
				case !fault.Is(err, fault.Conflict):
					r.Errorf("commit: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	for revision, n := range winners {
		if n != 1 {
			r.Errorf("%d commits replaced revision %d", n, revision)
		}
	}
	r.wantContents("n=" + strings.Repeat(".", rivals*wins))
}

func isolation(r *room) {
	both := func(value string) state.Txn {
		return state.Txn{Then: []state.Write{
			state.Put(r.key("left"), []byte(value)),
			state.Put(r.key("right"), []byte(value)),
		}}
	}
	r.must(both("start"))
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := range 20 {
				if _, err := r.Commit(r.ctx(), both(fmt.Sprintf("%d.%d", w, i))); err != nil {
					r.Errorf("commit: %v", err)
				}
			}
		})
	}
	for range 60 {
		entries, _, err := r.List(r.ctx(), r.home)
		if err != nil || len(entries) != 2 {
			r.Fatalf("list: %d entries, %v", len(entries), err)
		}
		if !bytes.Equal(entries[0].Value, entries[1].Value) || entries[0].Revision != entries[1].Revision {
			r.Errorf("saw half of a transaction: %q and %q", entries[0].Value, entries[1].Value)
		}
	}
	writers.Wait()
}
