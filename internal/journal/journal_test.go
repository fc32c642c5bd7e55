package journal_test

import (
	"fmt"
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
	for range (journal.KeepLasting + 3000) / len(batch) {
		add(t, s, b, batch...)
	}
	records, _, err := journal.Read(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(records); n < journal.KeepLasting || n > journal.KeepLasting+1100 {
		t.Errorf("%d records are kept", n)
	}
	if last := records[len(records)-1].Seq; last != journal.KeepLasting+3000 {
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

// flaps lets a machine's health go up and down so many times.
func flaps(t *testing.T, s state.Store, b *journal.Book, name fleet.MachineName, times int) {
	t.Helper()
	for range times {
		add(t, s, b, fleet.Record{Machine: name, Kind: fleet.RecordVerdict},
			fleet.Record{Machine: name, Kind: fleet.RecordVerdict})
	}
}

func count(t *testing.T, s state.Store, of func(fleet.Record) bool) (n int) {
	t.Helper()
	records, _, err := journal.Read(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if of(r) {
			n++
		}
	}
	return n
}

// A guest that flaps for a month leaves the last of it, and neither the others' records nor a repair of a month ago is
// driven out by it. It is so across changes of owners, too.
func TestAFlappingMachineLeavesTheRepairOfAMonthAgo(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	open := func() *journal.Book {
		b, err := journal.Open(t.Context(), s, "web")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open()
	add(t, s, b, fleet.Record{Machine: "web-2", Kind: fleet.RecordVerdict},
		fleet.Record{Machine: "web-2", Kind: fleet.RecordRepairEnded})
	flaps(t, s, b, "web-1", 5_000)
	b = open()
	flaps(t, s, b, "web-1", 5_000)
	for name, want := range map[fleet.MachineName]int{"web-1": journal.KeepOfOne, "web-2": 2} {
		if n := count(t, s, func(r fleet.Record) bool { return r.Machine == name }); n < want-1 || n > want+1 {
			t.Errorf("%d records of %s are left, want %d", n, name, want)
		}
	}
	records, _, err := journal.Read(t.Context(), s, "web")
	if err != nil || records[len(records)-1].Seq != 20_002 {
		t.Errorf("the last record is %+v, %v", records[len(records)-1], err)
	}
}

// When a whole large fleet flaps, the oldest swings go, range by range, and what stands between them stays.
func TestOldSwingsAreTrimmedAroundWhatLasts(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	b, err := journal.Open(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		add(t, s, b, fleet.Record{Machine: "web-1", Kind: fleet.RecordOrder})
		flaps(t, s, b, fleet.MachineName(fmt.Sprint("web-", i)), journal.KeepOfOne/2-1)
	}
	if n := count(t, s, func(r fleet.Record) bool { return r.Kind == fleet.RecordOrder }); n != 300 {
		t.Errorf("%d orders are left of 300", n)
	}
	swings := count(t, s, func(r fleet.Record) bool { return r.Kind == fleet.RecordVerdict })
	if swings < journal.KeepSwings || swings > journal.KeepSwings+1_100 {
		t.Errorf("%d swings are left", swings)
	}
}
