package feed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hale/api"
	"hale/internal/api/feed"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/memory"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bench is a store with journals, and a feed of them.
type bench struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // a test's
	backing *memory.Backing
	store   state.Store
	books   map[fleet.Name]*journal.Journal
	feed    *feed.Feed
	n       int
}

// inBubble runs the test with a feed that follows, in virtual time.
func inBubble(t *testing.T, story func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		b := &bench{t: t, ctx: ctx, backing: memory.New(memory.Options{}), books: map[fleet.Name]*journal.Journal{}}
		b.store = b.backing.Open(nil)
		b.write("old", 1)
		b.feed = feed.New(b.store, slog.New(slog.DiscardHandler))
		go b.feed.Run(ctx) // ends with ctx
		synctest.Wait()
		story(b)
	})
}

// write stores so many records of the fleet in one transaction.
func (b *bench) write(name fleet.Name, n int) {
	b.t.Helper()
	book := b.books[name]
	if book == nil {
		var err error
		if book, err = journal.Open(b.t.Context(), b.store, name); err != nil {
			b.t.Fatal(err)
		}
		b.books[name] = book
	}
	var batch []record.Record
	for range n {
		b.n++
		batch = append(batch, record.Record{Fleet: name, Kind: record.Order, At: time.Now(), Detail: fmt.Sprint(b.n)})
	}
	writes, err := book.Writes(batch, journal.Keep{})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.store.Commit(b.t.Context(), state.Txn{Then: writes}); err != nil {
		b.t.Fatal(err)
	}
	book.Advance(batch)
	synctest.Wait()
}

// read returns the details of what lies behind the cursor until nothing comes for a beat, where to go on, and whether
// something was let go.
func (b *bench) read(at feed.Cursor, most int) (got []string, next feed.Cursor, gap bool) {
	b.t.Helper()
	next = at
	for batch, err := range b.feed.After(b.ctx, "", at, time.Second) {
		if err != nil {
			b.t.Fatal(err)
		}
		gap = gap || batch.Gap
		for i := range batch.Items {
			if len(got) == most {
				return got, next, gap
			}
			got, next = append(got, batch.Items[i].Detail), batch.Items[i].Cursor()
		}
		if len(batch.Items) == 0 {
			break
		}
		next = batch.Next
	}
	return got, next, gap
}

func (b *bench) now() feed.Cursor {
	b.t.Helper()
	at, err := b.feed.Now(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}

func TestAReaderGoesOnBehindWhatItRead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		at := b.now()
		b.write("web", 3) // one transaction: one revision
		b.write("db", 1)
		got, next, _ := b.read(at, 2)
		rest, _, gap := b.read(next, -1)
		if diff := cmp.Diff([]string{"2", "3", "4", "5"}, append(got, rest...)); diff != "" || gap {
			t.Errorf("gap %v: %s", gap, diff)
		}
	})
}

// However a reader is cut off, it gets each record once and in order: from memory, or, far behind, from the journal.
func TestAReaderThatIsCutOffLosesNothingAndGetsNothingTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		writes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 12).Draw(r, "records in each transaction")
		cuts := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 12).Draw(r, "read before each cut")
		restarts := rapid.SampledFrom([]string{"never", "the feed", "the history is gone"}).Draw(r,
			"what happens between")
		inBubble(t, func(b *bench) {
			at := b.now()
			var want, got []string
			for i, n := range writes {
				for range n {
					want = append(want, fmt.Sprint(2+len(want)))
				}
				b.write([]fleet.Name{"web", "db"}[i%2], n)
			}
			switch restarts {
			case "the feed":
				b.feed = feed.New(b.store, slog.New(slog.DiscardHandler))
				go b.feed.Run(b.ctx)
				synctest.Wait()
			case "the history is gone":
				b.backing.Compact()
			}
			for _, n := range cuts {
				some, next, gap := b.read(at, n)
				if got, at = append(got, some...), next; gap {
					t.Error("a gap is told where nothing is gone")
				}
			}
			some, _, _ := b.read(at, -1)
			if diff := cmp.Diff(want, append(got, some...)); diff != "" {
				t.Errorf("%s: %v, %v: %s", restarts, writes, cuts, diff)
			}
		})
	})
}

func TestAReaderLearnsThatTheJournalLetGoOfSome(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		at := b.now()
		b.write("web", 2)
		b.write("web", 2)
		entries, _, err := b.store.List(b.ctx, journal.Prefix("web"))
		if err != nil {
			t.Fatal(err)
		}
		gone := state.Txn{Then: []state.Write{state.Delete(entries[0].Key)}}
		if _, err := b.store.Commit(b.ctx, gone); err != nil {
			t.Fatal(err)
		}
		b.feed = feed.New(b.store, slog.New(slog.DiscardHandler)) // which has nothing of it in memory
		go b.feed.Run(b.ctx)                                      // ends with the test
		synctest.Wait()
		b.write("web", 1)
		got, _, gap := b.read(at, -1)
		if diff := cmp.Diff([]string{"3", "4", "5", "6"}, got); diff != "" || !gap {
			t.Errorf("gap %v: %s", gap, diff)
		}
	})
}

func TestAQuietStreamSaysThatItLives(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		began := time.Now()
		for batch, err := range b.feed.After(b.ctx, "", b.now(), 15*time.Second) {
			if err != nil || len(batch.Items) > 0 || batch.Next != b.now() {
				t.Errorf("%+v, %v", batch, err)
			}
			break
		}
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("it said so after %s", took)
		}
	})
}

// What is sent is an event of package api that names its place.
func TestAnItemNamesItsPlace(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		at := b.now()
		b.write("web", 1)
		for batch := range b.feed.After(b.ctx, "", at, time.Second) {
			var e api.Event
			if err := json.Unmarshal(batch.Items[0].JSON, &e); err != nil ||
				e.Cursor != batch.Items[0].Cursor().String() {
				t.Errorf("%s, %v", batch.Items[0].JSON, err)
			}
			break
		}
	})
}

func TestACursorIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := feed.Cursor{
			Revision: rapid.Int64Range(0, 1<<62).Draw(r, "revision"), Seq: rapid.Uint64Range(0, 1<<40).Draw(r, "seq"),
		}
		if got, err := feed.ParseCursor(c.String()); err != nil || got != c {
			t.Errorf("%v is read as %v, %v", c, got, err)
		}
	})
	for _, text := range []string{"", "-", "x", "1-", "1-0", "-1", "01", "1-01", "1 ", "9223372036854775808", "1-2-3"} {
		if c, err := feed.ParseCursor(text); err == nil {
			t.Errorf("%q is read as %v", text, c)
		}
	}
	if ordered := []feed.Cursor{
		{Revision: 1, Seq: 1}, {Revision: 1, Seq: 2}, {Revision: 1}, {Revision: 2, Seq: 1}, {Revision: 2},
	}; !slices.IsSortedFunc(ordered, feed.Cursor.Compare) {
		t.Error("behind a whole revision lies nothing of it")
	}
}
