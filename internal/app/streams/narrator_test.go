package streams

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

// breaking is a store with streams that break after two events each.
type breaking struct{ state.Store }

func (b breaking) Watch(ctx context.Context, prefix string, after int64) iter.Seq2[state.Event, error] {
	return func(yield func(state.Event, error) bool) {
		left := 2 + int(after%2)
		for e, err := range b.Store.Watch(ctx, prefix, after) {
			if left--; left < 0 {
				err = fault.New(fault.Transient, "breaking.watch", "", nil)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// dumb is a store that does not say where it stands, the first time that it is asked.
type dumb struct {
	state.Store
	asked *int
}

func (d dumb) List(ctx context.Context, prefix string) ([]state.Entry, int64, error) {
	if *d.asked++; *d.asked == 1 {
		return nil, 0, fault.New(fault.Transient, "dumb.list", "", nil)
	}
	return d.Store.List(ctx, prefix)
}

// write stores a record of fleet web.
func write(t *testing.T, s state.Store, book *journal.Journal, detail string) {
	t.Helper()
	records := []record.Record{{Fleet: "web", Kind: record.Output, Detail: detail}}
	writes, err := book.Writes(records, journal.Keep{})
	if err == nil {
		_, err = s.Commit(t.Context(), state.Txn{Then: writes})
	}
	if err != nil {
		t.Error(err)
	}
	book.Advance(records)
}

// What happened before hale was started is not told again where the store does not say at once where it stands.
func TestWhatWasBeforeIsNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{}).Open(nil)
		book, err := journal.Open(t.Context(), store, "web")
		if err != nil {
			t.Fatal(err)
		}
		write(t, store, book, "before")
		var got []string
		n := NewNarrator(t.Context(), dumb{store, new(int)}, slog.New(slog.DiscardHandler),
			func(r record.Record) { got = append(got, r.Detail) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { // ends with ctx
			time.Sleep(time.Second)
			write(t, store, book, "after")
		}()
		n.Run(ctx)
		if !slices.Equal(got, []string{"after"}) {
			t.Errorf("counted %v", got)
		}
	})
}

// Each record is counted once, in its order, although the stream of records breaks again and again, and although the
// counting of one panics.
func TestARecordIsCountedOnceThoughTheStreamBreaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{}).Open(nil)
		book, err := journal.Open(t.Context(), store, "web")
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		counted := map[string]int{}
		n := NewNarrator(t.Context(), breaking{store}, slog.New(slog.DiscardHandler), func(r record.Record) {
			counted[r.Detail]++
			if r.Detail == "5" {
				panic("it is made for this")
			}
			got = append(got, r.Detail)
		})
		for i := range 12 {
			detail := fmt.Sprint(i)
			write(t, store, book, detail)
			if detail != "5" {
				want = append(want, detail)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		defect.NewRegister(slog.New(slog.DiscardHandler)).Keep(ctx, defect.Place{}, n.Run)
		if !slices.Equal(got, want) || counted["5"] != 1 {
			t.Errorf("counted %v, want %v; the one that panics %d times", got, want, counted["5"])
		}
	})
}
