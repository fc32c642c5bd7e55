package journal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/state"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

var dawn = time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)

func add(t *testing.T, s state.Store, b *journal.Journal, records ...record.Record) {
	t.Helper()
	addKeeping(t, s, b, journal.Keep{Bytes: journal.Share(1)}, records...)
}

func addKeeping(t *testing.T, s state.Store, b *journal.Journal, keep journal.Keep, records ...record.Record) {
	t.Helper()
	writes, err := b.Writes(records, keep)
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
		add(t, s, b, record.Record{Fleet: "web", Took: time.Duration(2 * term)},
			record.Record{Fleet: "web", Took: time.Duration(2*term + 1)})
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

func read(t *testing.T, s state.Store) []record.Record {
	t.Helper()
	records, _, err := journal.Read(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// A busy fleet keeps its month although that is more than 12,000 records, and a quiet one loses what is older.
func TestWhatLastsIsKeptForItsTimeHoweverMuchOrLittleItIs(t *testing.T) {
	t.Parallel()
	const days, ofADay = 40, 600
	s := memory.New(memory.Options{}).Open(nil)
	b, err := journal.Open(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	keep := journal.Keep{For: 30 * 24 * time.Hour, Bytes: journal.Share(1)}
	for n := range days * 6 {
		keep.Now = dawn.Add(time.Duration(n) * 4 * time.Hour)
		batch := make([]record.Record, ofADay/6)
		for i := range batch {
			batch[i] = record.Record{Machine: "web-1", Kind: record.Order, At: keep.Now}
		}
		addKeeping(t, s, b, keep, batch...)
	}
	records := read(t, s)
	if n := len(records); n < 30*ofADay || n > 31*ofADay {
		t.Errorf("%d records are kept of %d a day", n, ofADay)
	}
	if first := records[0].At; first.Before(keep.Now.Add(-keep.For - 5*time.Hour)) {
		t.Errorf("the first one is of %s, now is %s", first, keep.Now)
	}

	keep.Now = keep.Now.Add(keep.For + time.Hour + time.Second)
	if b, err = journal.Open(t.Context(), s, "web"); err != nil { // the next owner knows it, too
		t.Fatal(err)
	}
	if !b.Overdue(keep) {
		t.Error("nothing has outlived its time a month later")
	}
	addKeeping(t, s, b, keep)
	if records := read(t, s); len(records) != journal.KeepLeast || b.Overdue(keep) {
		t.Errorf("%d records of a month ago are left, want the last %d", len(records), journal.KeepLeast)
	}
	addKeeping(t, s, b, keep, record.Record{At: keep.Now})
	if records := read(t, s); records[len(records)-1].Seq != days*ofADay+1 {
		t.Errorf("the new one has the number %d", records[len(records)-1].Seq)
	}
}

// A clock far ahead makes everything look old. When it is right again, what happened last is still there to be read.
func TestAClockFarAheadLeavesTheLastRecords(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	b, err := journal.Open(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	keep := journal.Keep{Now: dawn, For: 24 * time.Hour, Bytes: journal.Share(1)}
	for n := range 10 {
		addKeeping(t, s, b, keep, record.Record{Machine: "web-1", Kind: record.Verdict, At: dawn},
			record.Record{Machine: "web-1", Kind: record.Order, At: dawn.Add(time.Duration(n))})
	}
	keep.Now = dawn.Add(10 * 365 * 24 * time.Hour)
	addKeeping(t, s, b, keep, record.Record{Machine: "web-1", Kind: record.Order, At: keep.Now})
	if n := len(slices.DeleteFunc(read(t, s), func(r record.Record) bool {
		return r.Kind != record.Order
	})); n != 11 {
		t.Errorf("%d orders are left, want 11", n)
	}
}

// A clock that was put back makes young records look old, and none of them drives out what is older by its number.
func TestAClockThatIsPutBackLosesNothingThatIsYoung(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	b, err := journal.Open(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	keep := journal.Keep{Now: dawn, For: 24 * time.Hour, Bytes: journal.Share(1)}
	for _, at := range []time.Duration{0, -48 * time.Hour, time.Hour} {
		addKeeping(t, s, b, keep, record.Record{At: dawn.Add(at)})
	}
	if records := read(t, s); len(records) != 3 {
		t.Errorf("%d records are left of 3", len(records))
	}
}

// Whatever floods the journal takes no more than the fleet's part, swings a quarter of it; the newest stay, and the
// rest goes in transactions that the store takes.
func TestAFloodTakesNoMoreThanTheFleetsPart(t *testing.T) {
	t.Parallel()
	const share = 400_000
	s := memory.New(memory.Options{}).Open(nil)
	b, err := journal.Open(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	keep, long := journal.Keep{Now: dawn, For: journal.KeepFor, Bytes: share}, strings.Repeat("x", 400)
	for n := range 3_000 {
		flapping := fleet.MachineName(fmt.Sprint("web-", n%9))
		addKeeping(t, s, b, keep, record.Record{Machine: "web-1", Kind: record.Order, At: dawn, Detail: long},
			record.Record{Machine: flapping, Kind: record.Verdict, At: dawn, Detail: long})
	}
	entries, _, err := s.List(t.Context(), journal.Prefix("web"))
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	for _, e := range entries {
		stored += len(e.Key) + len(e.Value)
	}
	if stored > share || stored < share/4 {
		t.Errorf("%d bytes are stored of %d", stored, share)
	}
	records := read(t, s)
	if last := records[len(records)-1].Seq; last != 6_000 {
		t.Errorf("the last one is %d", last)
	}
	for _, kind := range []record.Kind{record.Order, record.Verdict} {
		if n := count(t, s, func(r record.Record) bool { return r.Kind == kind }); n < 80 {
			t.Errorf("%d records of kind %s are left", n, kind)
		}
	}
}

// All fleets together take no more than half of what the store does, however many they are.
func TestAllFleetsTogetherFitIntoTheStore(t *testing.T) {
	t.Parallel()
	for _, fleets := range []int{0, 1, 10, 33, 1_000, 10_000} {
		share := journal.Share(fleets)
		if fleets*share > journal.AllBytes || share > journal.KeepBytes || share <= 0 {
			t.Errorf("each of %d fleets takes %d bytes", fleets, share)
		}
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
		add(t, s, b, record.Record{Fleet: "web", Detail: "before"})
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
		add(t, s, b, record.Record{Fleet: "web", Detail: "after"})
		if got := <-seen; got != "after" {
			t.Errorf("saw %q", got)
		}
	})
}

// flaps lets a machine's health go up and down so many times.
func flaps(t *testing.T, s state.Store, b *journal.Journal, name fleet.MachineName, times int) {
	t.Helper()
	for range times {
		add(t, s, b, record.Record{Machine: name, Kind: record.Verdict},
			record.Record{Machine: name, Kind: record.Verdict})
	}
}

func count(t *testing.T, s state.Store, of func(record.Record) bool) (n int) {
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
	open := func() *journal.Journal {
		b, err := journal.Open(t.Context(), s, "web")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open()
	add(t, s, b, record.Record{Machine: "web-2", Kind: record.Verdict},
		record.Record{Machine: "web-2", Kind: record.RepairEnded})
	flaps(t, s, b, "web-1", 5_000)
	b = open()
	flaps(t, s, b, "web-1", 5_000)
	for name, want := range map[fleet.MachineName]int{"web-1": journal.KeepOfOne, "web-2": 2} {
		if n := count(t, s, func(r record.Record) bool { return r.Machine == name }); n < want-1 || n > want+1 {
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
		add(t, s, b, record.Record{Machine: "web-1", Kind: record.Order})
		flaps(t, s, b, fleet.MachineName(fmt.Sprint("web-", i)), journal.KeepOfOne/2-1)
	}
	if n := count(t, s, func(r record.Record) bool { return r.Kind == record.Order }); n != 300 {
		t.Errorf("%d orders are left of 300", n)
	}
	swings := count(t, s, func(r record.Record) bool { return r.Kind == record.Verdict })
	if swings < journal.KeepSwings || swings > journal.KeepSwings+1_100 {
		t.Errorf("%d swings are left", swings)
	}
}

// What an owner reserves in a transaction for the records of machines that flap is what they take there.
func TestRecordsTakeTheWritesThatTheyAreSaidTo(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	b, err := journal.Open(t.Context(), s, "web")
	if err != nil {
		t.Fatal(err)
	}
	flaps(t, s, b, "web-1", journal.KeepOfOne)
	for _, tt := range []struct {
		machine fleet.MachineName
		kind    record.Kind
		want    int
	}{
		{"web-1", record.Verdict, 3}, // two older ones go
		{"web-1", record.RepairEnded, 1},
		{"web-2", record.Verdict, 1},
	} {
		one := []record.Record{{Machine: tt.machine, Kind: tt.kind}}
		says := b.Takes(one)
		if writes, err := b.Writes(one, journal.Keep{}); err != nil || len(writes) != says || says != tt.want {
			t.Errorf("a %s of %s is said to take %d writes, takes %d, and should take %d: %v", tt.kind, tt.machine,
				says, len(writes), tt.want, err)
		}
	}
}
