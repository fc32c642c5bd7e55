package once_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/memory"
	"hale/internal/state/once"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// place is two servers on one store.
type place struct {
	*testing.T
	store state.Store
	a, b  *once.Book
}

func open(t *testing.T) place {
	t.Helper()
	s := memory.New(memory.Options{}).Open(nil)
	return place{t, s, once.New(s, "a"), once.New(s, "b")}
}

func hold(by string) once.Call {
	return once.Call{Who: by, Key: "key-00000001", Of: "order", Asked: []byte(`{"kind":"hold"}`)}
}

func (p place) opened(b *once.Book, c once.Call, now time.Time) *once.Entry {
	p.Helper()
	e, err := b.Open(p.Context(), c, now)
	if err != nil {
		p.Fatal(err)
	}
	return e
}

// does has the call write the key, as its stage says it.
func (p place) does(e *once.Entry, key string) error {
	_, err := once.Commit(once.With(p.Context(), e), p.store, state.Txn{
		If: []state.Compare{state.Absent(key)}, Then: []state.Write{state.Put(key, nil)},
	}, key)
	return err
}

func (p place) stage(e *once.Entry) string {
	p.Helper()
	var said string
	if _, err := once.Stage(once.With(p.Context(), e), &said); err != nil {
		p.Fatal(err)
	}
	return said
}

func TestTheAnswerIsThereForADay(t *testing.T) {
	t.Parallel()
	p := open(t)
	e := p.opened(p.a, hold("ana"), noon)
	if err := errors.Join(p.does(e, "effect"), e.Done(t.Context(), []byte(`"done"`))); err != nil {
		t.Fatal(err)
	}
	e.Close()
	for _, b := range []*once.Book{p.a, p.b} {
		again := p.opened(b, hold("ana"), noon.Add(once.KeptFor-1))
		if string(again.Answer()) != `"done"` {
			t.Errorf("it answered %q", again.Answer())
		}
		again.Close()
	}
	late := p.opened(p.b, hold("ana"), noon.Add(once.KeptFor))
	defer late.Close()
	if _, begun := late.Begun(); begun || late.Answer() != nil {
		t.Error("it is known for longer than it is kept")
	}
	if err := p.does(late, "effect-2"); err != nil {
		t.Error("the key cannot be used anew:", err)
	}
}

func TestAKeyIsOneCallersAndOneCalls(t *testing.T) {
	t.Parallel()
	p := open(t)
	e := p.opened(p.a, hold("ana"), noon)
	if err := e.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Close()
	other := hold("ana")
	other.Asked = []byte(`{}`)
	moved := hold("ana")
	moved.Of = "reload"
	for _, c := range []once.Call{other, moved} {
		if _, err := p.a.Open(t.Context(), c, noon); !errors.Is(err, once.ErrOther) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	bo := p.opened(p.a, hold("bo"), noon)
	defer bo.Close()
	if _, begun := bo.Begun(); begun {
		t.Error("one's key says what another's did")
	}
}

// TestItIsUnderWayOnce: at this server it is known to be, at another one it is taken to be for a while.
func TestItIsUnderWayOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	e := p.opened(p.a, hold("ana"), noon)
	if _, err := p.a.Open(t.Context(), hold("ana"), noon); !errors.Is(err, once.ErrUnderWay) {
		t.Error(err)
	}
	if err := e.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.b.Open(t.Context(), hold("ana"), noon.Add(time.Second)); !errors.Is(err, once.ErrUnderWay) {
		t.Error(err)
	}
	there := p.opened(p.b, hold("ana"), noon.Add(time.Hour))
	defer there.Close()
	if at, begun := there.Begun(); !begun || !at.Equal(noon) {
		t.Error(at, begun)
	}
}

// TestKilledInBetween: the next process of the server knows at once that its predecessor's calls are over, and what
// they did.
func TestKilledInBetween(t *testing.T) {
	t.Parallel()
	p := open(t)
	e := p.opened(p.a, hold("ana"), noon)
	if err := p.does(e, "effect"); err != nil {
		t.Fatal(err)
	}
	next := p.opened(once.New(p.store, "a"), hold("ana"), noon.Add(time.Second))
	defer next.Close()
	if _, begun := next.Begun(); !begun || p.stage(next) != "effect" {
		t.Errorf("it says %q", p.stage(next))
	}
}

func TestOfManyAtOnceOneTakesEffect(t *testing.T) {
	t.Parallel()
	p := open(t)
	var all sync.WaitGroup
	won := make(chan string, 40)
	for i := range 40 {
		all.Go(func() {
			e, err := once.New(p.store, fmt.Sprint(i)).Open(t.Context(), hold("ana"), noon)
			if errors.Is(err, once.ErrUnderWay) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close()
			switch err := p.does(e, fmt.Sprint("effect/", i)); {
			case err == nil:
				won <- p.stage(e)
			case !errors.Is(err, once.ErrUnderWay):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if did, _, err := p.store.List(t.Context(), "effect/"); err != nil || len(did) != 1 || len(won) != 1 {
		t.Errorf("%d effects, %d said so, %v", len(did), len(won), err)
	}
}

func TestWhatDidNothingLeavesNothing(t *testing.T) {
	t.Parallel()
	p := open(t)
	e := p.opened(p.a, hold("ana"), noon)
	if err := errors.Join(e.Begin(t.Context()), e.Forget(t.Context())); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := p.does(e, "effect"); !errors.Is(err, once.ErrUnderWay) {
		t.Error("a call that was given up took effect:", err)
	}
	staged := p.opened(p.a, hold("ana"), noon)
	if err := errors.Join(p.does(staged, "effect"), staged.Forget(t.Context())); err != nil {
		t.Fatal(err)
	}
	staged.Close()
	again := p.opened(p.a, hold("ana"), noon)
	defer again.Close()
	if p.stage(again) != "effect" {
		t.Error("what took effect was forgotten")
	}
}

func TestTheIDsOfOrdersFollowFromTheKey(t *testing.T) {
	t.Parallel()
	p := open(t)
	ids := func(by string) (first, second fleet.OrderID) {
		e := p.opened(p.a, hold(by), noon)
		defer e.Close()
		ctx := once.With(t.Context(), e)
		first, err := once.OrderID(ctx, "web")
		second, more := once.OrderID(ctx, "db")
		if err := errors.Join(err, more); err != nil {
			t.Fatal(err)
		}
		return first, second
	}
	a1, a2 := ids("ana")
	again1, again2 := ids("ana")
	b1, _ := ids("bo")
	if a1 != again1 || a2 != again2 || a1 == a2 || a1 == b1 {
		t.Error(a1, a2, again1, again2, b1)
	}
	if free, err := once.OrderID(t.Context(), "web"); err != nil || free == "" || free == a1 {
		t.Error(free, err)
	}
}

func TestItIsSwept(t *testing.T) {
	t.Parallel()
	p := open(t)
	note := func(by string, n int, at time.Time) {
		c := hold(by)
		c.Key = fmt.Sprintf("key-%08d", n)
		e := p.opened(p.a, c, at)
		defer e.Close()
		if err := e.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for n := range once.MostOf + 10 {
		note("busy", n, noon.Add(time.Duration(n)*time.Second))
	}
	note("old", 1, noon.Add(-once.KeptFor))
	note("new", 1, noon)
	if err := once.Sweep(t.Context(), p.store, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	left, _, err := p.store.List(t.Context(), "once/")
	if err != nil || len(left) != once.MostOf+1 {
		t.Errorf("%d are left, %v", len(left), err)
	}
	if _, begun := p.opened(p.a, hold("busy"), noon.Add(time.Hour)).Begun(); begun {
		t.Error("the oldest one is kept")
	}
}

func TestWithoutAKeyItIsAPlainTransaction(t *testing.T) {
	t.Parallel()
	p := open(t)
	if _, err := once.Commit(context.WithoutCancel(t.Context()), p.store, state.Txn{
		Then: []state.Write{state.Put("effect", nil)},
	}, "said"); err != nil {
		t.Fatal(err)
	}
	if kept, _, err := p.store.List(t.Context(), ""); err != nil || len(kept) != 1 {
		t.Errorf("%+v, %v", kept, err)
	}
}
