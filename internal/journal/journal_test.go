package journal_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/fleet"
	"hale/internal/journal"
	"hale/internal/state"
	"hale/internal/state/memory"
)

func add(t *testing.T, s state.Store, b *journal.Book, records ...fleet.Record) {
	t.Helper()
	writes, err := b.Writes(records)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), state.Txn{Then: writes}); err != nil {
		t.Fatal(err)
	}
	b.Advance(records)
}

func TestRecordsKeepTheirOrderOverARestart(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	for term := range 3 {
		b, err := journal.Open(t.Context(), s, "web")
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, b, fleet.Record{Fleet: "web", Took: time.Duration(2 * term)}, fleet.Record{Fleet: "web", Took: time.Duration(2*term + 1)})
	}
	records, _, err := journal.Read(t.Context(), s, "web")
	if err != nil || len(records) != 6 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, r := range records {
		if r.Took != time.Duration(i) || r.Seq == 0 || (i > 0 && r.Seq <= records[i-1].Seq) {
			t.Errorf("record %d is %+v", i, r)
		}
	}
	if other, _, err := journal.Read(t.Context(), s, "we"); err != nil || len(other) != 0 {
		t.Errorf("another fleet has %d records, %v", len(other), err)
	}
}

func TestOldRecordsAreTrimmed(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	b, err := journal.Open(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]fleet.Record, 100)
	for range (journal.Keep + 3000) / len(batch) {
		add(t, s, b, batch...)
	}
	records, _, err := journal.Read(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(records); n < journal.Keep || n > journal.Keep+1100 {
		t.Errorf("%d records are kept", n)
	}
	if last := records[len(records)-1].Seq; last != journal.Keep+3000 {
		t.Errorf("the last one is %d", last)
	}
}

func TestAReaderThatFollowsSeesWhatComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{}).Open(nil)
		b, err := journal.Open(t.Context(), s, "web")
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, b, fleet.Record{Fleet: "web", Detail: "before"})
		_, from, err := journal.Read(t.Context(), s, "web")
		if err != nil {
			t.Fatal(err)
		}
		seen := make(chan string, 1)
		go func() { // ends with the first record
			for r, err := range journal.Follow(t.Context(), s, "", from) {
				if err != nil {
					t.Error(err)
				}
				seen <- r.Detail
				return
			}
		}()
		add(t, s, b, fleet.Record{Fleet: "web", Detail: "after"})
		if got := <-seen; got != "after" {
			t.Errorf("saw %q", got)
		}
	})
}
