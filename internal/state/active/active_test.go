package active_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/tenure"
	"hale/internal/state"
	"hale/internal/state/active"
	"hale/internal/state/memory"
	"hale/internal/state/statetest"
)

// server is one of those on a store.
type server struct {
	*testing.T
	name   string
	store  *memory.Store
	cut    func()             // from the store
	dies   context.CancelFunc // without a word
	office chan *active.Office
}

// starts a server that becomes the active one when it may.
func starts(t *testing.T, on *memory.Backing, name string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var mu sync.Mutex
	isCut := false
	s := &server{T: t, name: name, dies: cancel, office: make(chan *active.Office, 1)}
	s.cut = func() {
		mu.Lock()
		defer mu.Unlock()
		isCut = true
	}
	s.store = on.Open(func(context.Context, memory.Call) memory.Effect {
		mu.Lock()
		defer mu.Unlock()
		if isCut {
			return memory.FailBefore
		}
		return memory.Normal
	})
	go func() { // ends with the server, or when it is the active one
		for ctx.Err() == nil {
			if active.Await(ctx, s.store, func(active.Server) {}) == nil {
				if o, err := active.Become(ctx, s.store, active.Server{Name: name, Process: name}); err == nil {
					s.office <- o
					return
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return s
}

// acts returns its office, once it is the active one.
func (s *server) acts() *active.Office {
	s.Helper()
	select {
	case o := <-s.office:
		return o
	case <-time.After(time.Minute):
		s.Fatalf("%s never became the active server", s.name)
		return nil
	}
}

// standsBy fails if it is the active one.
func (s *server) standsBy() {
	s.Helper()
	synctest.Wait()
	if len(s.office) > 0 {
		s.Errorf("%s is active, too", s.name)
	}
}

func write(s state.Store, key string) error {
	_, err := s.Commit(context.Background(), state.Txn{Then: []state.Write{state.Put(key, nil)}})
	return err
}

// covers returns when the office covers a disruptive call for the first time.
func covers(t *testing.T, o *active.Office) time.Time {
	t.Helper()
	lease, err := o.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if lease.Remaining() > tenure.DisruptiveLimit+tenure.Margin {
			return time.Now()
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("it never covers a call")
	return time.Time{}
}

// S16, S54: of three servers one is active. When it dies without a word another one is within ten seconds, and calls no
// sooner than the calls of the last one have ended, and no later than L7 allows; when it says goodbye, at once.
func TestOneServerIsActive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := memory.New(memory.Options{})
		first := starts(t, on, "hale-1")
		first.acts()
		time.Sleep(time.Second)
		second := starts(t, on, "hale-2")
		time.Sleep(time.Hour)
		second.standsBy()

		first.dies()
		died := time.Now()
		office := second.acts()
		if took := time.Since(died); took > active.TTL+time.Second {
			t.Errorf("it took %v", took)
		}
		calls := covers(t, office).Sub(died)
		if calls > 27*time.Second || calls < tenure.DisruptiveLimit+active.Grace {
			t.Errorf("it calls %v after the last one died", calls)
		}
		third := starts(t, on, "hale-3")
		time.Sleep(time.Hour)
		third.standsBy()

		if err := office.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		left := time.Now()
		covers(t, third.acts())
		if took := time.Since(left); took > time.Second {
			t.Errorf("after a goodbye it took %v", took)
		}
	})
}

// L7: a server that leaves, while the calls of one that died before may be under way, hands that wait on.
func TestAServerThatLeavesEarlyIsWaitedForInItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := memory.New(memory.Options{})
		first := starts(t, on, "hale-1")
		first.acts()
		first.dies()
		died := time.Now()
		if err := starts(t, on, "hale-2").acts().Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if calls := covers(t, starts(t, on, "hale-3").acts()).Sub(died); calls < tenure.DisruptiveLimit+active.Grace {
			t.Errorf("it calls %v after the first one died", calls)
		}
	})
}

// S17, L7: a server that is cut off from the store sends no call any more once another one may be active, and what it
// writes later is refused. At any moment before, a call of its was covered.
func TestAServerThatWasCutOffIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := memory.New(memory.Options{})
		first := starts(t, on, "hale-1")
		office := first.acts()
		lease, err := office.Grant(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			time.Sleep(90 * time.Millisecond)
			if left := lease.Remaining(); left <= tenure.DisruptiveLimit+tenure.Margin {
				t.Fatalf("a call is not covered: %v are left", left)
			}
		}
		second := starts(t, on, "hale-2")
		first.cut()
		covered := time.Now()
		for len(second.office) == 0 {
			if lease.Remaining() > tenure.DisruptiveLimit+tenure.Margin {
				covered = time.Now()
			}
			time.Sleep(10 * time.Millisecond)
		}
		next := second.acts()
		if left := lease.Remaining(); left != 0 {
			t.Errorf("hale-1 takes itself for the owner for %v", left)
		}
		if apart := covers(t, next).Sub(covered); apart < tenure.DisruptiveLimit+tenure.Margin {
			t.Errorf("hale-2 calls %v after hale-1 began its last call", apart)
		}
		select {
		case <-office.Lost():
		default:
			t.Error("hale-1 takes itself for the active one")
		}
		// its connection is back, and what it had ready to write goes out
		stale := &active.Office{}
		*stale = *office
		stale.Store = on.Open(nil)
		if err := write(stale, "fleets/web/x"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a stale server's write: %v, want a conflict", err)
		}
		if err := write(next, "fleets/web/x"); err != nil {
			t.Errorf("the active server's write: %v", err)
		}
	})
}

// A person deletes all keys under the active server, or puts an older store in place. It notices, although its lease
// lives.
func TestAServerWhoseKeyIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := memory.New(memory.Options{})
		office := starts(t, on, "hale-1").acts()
		ended := make(chan struct{})
		go func() { // ends when the office does
			office.Keep(t.Context())
			close(ended)
		}()
		time.Sleep(time.Hour)
		all := state.Txn{Then: []state.Write{state.DeletePrefix("a")}}
		if _, err := on.Open(nil).Commit(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-ended
		<-office.Lost()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// meddled is a store in which something happens right before the first commit.
type meddled struct {
	active.Store
	first func()
}

func (m *meddled) Commit(ctx context.Context, txn state.Txn) (int64, error) {
	if m.first != nil {
		m.first()
		m.first = nil
	}
	return m.Store.Commit(ctx, txn)
}

// L7: a server that became active, and died, between the look at the last one and the claim is waited for, too.
func TestTheLastServerIsTheOneBeforeTheClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := memory.New(memory.Options{})
		if err := starts(t, on, "hale-1").acts().Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		dies := func() {
			second := starts(t, on, "hale-2")
			second.acts()
			second.dies()
			time.Sleep(active.TTL + time.Second)
		}
		_, err := active.Become(t.Context(), &meddled{on.Open(nil), dies}, active.Server{Name: "hale-3"})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("become = %v, want a conflict", err)
		}
	})
}

// What the last server left under a lease of its own is out of the way at once.
func TestKeysOfTheLastServerAreEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := memory.New(memory.Options{})
		first := starts(t, on, "hale-1")
		office := first.acts()
		lease, err := office.Grant(t.Context(), 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := office.Commit(t.Context(), state.Txn{Then: []state.Write{state.PutLeased("fleets/web/owner", nil,
			lease.ID())}}); err != nil {
			t.Fatal(err)
		}
		second := starts(t, on, "hale-2")
		first.dies()
		next := second.acts()
		if err := next.Evict(t.Context(), "fleets/web/owner", "fleets/db/owner"); err != nil {
			t.Fatal(err)
		}
		if _, err := next.Get(t.Context(), "fleets/web/owner"); !fault.Is(err, fault.NotFound) {
			t.Errorf("the key: %v", err)
		}
	})
}

// Who stands by learns who is active, and when that one has another configuration.
func TestWhoIsActiveIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := memory.New(memory.Options{})
		office := starts(t, on, "hale-1").acts()
		var told []active.Server
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = active.Await(ctx, on.Open(nil), func(s active.Server) { told = append(told, s) }) }()
		synctest.Wait()
		if err := office.Note(t.Context(), "another"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		cancel()
		synctest.Wait()
		if told = slices.Compact(told); len(told) != 2 || told[0].Name != "hale-1" ||
			told[1].Configuration != "another" {
			t.Errorf("told %+v", told)
		}
		last, ever, err := active.Last(t.Context(), on.Open(nil))
		if err != nil || !ever || last.Configuration != "another" || last.Left {
			t.Errorf("the last one was %+v (%v)", last, err)
		}
	})
}

// An office is a store as any other.
func TestConformance(t *testing.T) {
	t.Parallel()
	backings := sync.Map{}
	statetest.Run(t, statetest.Setup{
		Around: synctest.Test, Longest: active.TTL,
		Open: func(t *testing.T) state.Store {
			on := memory.New(memory.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(func() { cancel(); synctest.Wait() })
			o, err := active.Become(ctx, on.Open(nil), active.Server{Name: "hale-1"})
			if err != nil {
				t.Fatal(err)
			}
			backings.Store(o, on)
			return o
		},
		Compact: func(_ *testing.T, s state.Store) {
			on, _ := backings.Load(s)
			on.(*memory.Backing).Compact()
		},
	})
}

// Once a store was filled anew, any server may follow, at once.
func TestAVacatedOfficeIsAsIfNobodyHadEverBeenThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := memory.New(memory.Options{})
		if err := starts(t, on, "restore").acts().Vacate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last, ever, err := active.Last(t.Context(), on.Open(nil)); ever || err != nil {
			t.Errorf("the last one was %+v (%v)", last, err)
		}
		began := time.Now()
		starts(t, on, "hale-1").acts()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
