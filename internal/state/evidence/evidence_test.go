package evidence_test

import (
	"bytes"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/evidence"
	"hale/internal/state/memory"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func exhibit(machine fleet.MachineName, at time.Time, bytes int) evidence.Exhibit {
	return evidence.Exhibit{
		At: at, Fleet: machine.Fleet(), Machine: machine, Incident: string(machine) + "/1", Instance: "i",
		Parts: fleet.Evidence{Screenshot: fleet.EvidencePart{Bytes: bytes}},
	}
}

// keep stores, and returns how many the machine has then.
func keep(t *testing.T, s state.Store, e evidence.Exhibit, b evidence.Bytes) []evidence.Exhibit {
	t.Helper()
	if err := evidence.Keep(t.Context(), s, nil, e, b); err != nil {
		t.Fatal(err)
	}
	return of(t, s, e.Machine)
}

func of(t *testing.T, s state.Store, m fleet.MachineName) []evidence.Exhibit {
	t.Helper()
	all, err := evidence.Of(t.Context(), s, m)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWhatIsKeptIsReadBackWhole(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	b := evidence.Bytes{
		Console:    []byte("login: \x1b[2J"),
		Screenshot: bytes.Repeat([]byte{0, 1, 2}, fleet.ScreenshotLimit/3),
	}
	all := keep(t, s, exhibit("web-2", noon, len(b.Screenshot)), b)
	if len(all) != 1 || all[0].Machine != "web-2" || !all[0].At.Equal(noon) {
		t.Fatalf("%+v", all)
	}
	got, err := evidence.Open(t.Context(), s, all[0])
	if err != nil || !bytes.Equal(got.Console, b.Console) || !bytes.Equal(got.Screenshot, b.Screenshot) {
		t.Errorf("%d and %d bytes, %v", len(got.Console), len(got.Screenshot), err)
	}
	if others := of(t, s, "web-21"); len(others) != 0 {
		t.Errorf("another machine has it, too: %+v", others)
	}
	entries, _, err := s.List(t.Context(), "evidence/")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if len(e.Value) > 64<<10 {
			t.Errorf("%s has %d bytes", e.Key, len(e.Value))
		}
	}
}

// The oldest goes, with all its bytes: of the fleet beyond its count, of any fleet when it is too old, or when the sum
// is too large.
func TestTheOldestMakesRoom(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	some := evidence.Bytes{Console: []byte("x")}
	keep(t, s, exhibit("db-1", noon.Add(-time.Hour), 0), some)
	for n := range evidence.KeepPerFleet + 5 {
		keep(t, s, exhibit("web-1", noon.Add(time.Duration(n)*time.Minute), 1), some)
	}
	if all := of(t, s, "web-1"); len(all) != evidence.KeepPerFleet || !all[0].At.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("%d are kept", len(all))
	}
	if len(of(t, s, "db-1")) != 1 {
		t.Error("another fleet's went")
	}
	later := noon.Add(-time.Hour + evidence.KeepFor)
	keep(t, s, exhibit("app-1", later, 1), some)
	if len(of(t, s, "db-1")) != 1 {
		t.Error("it went although it is not older than it may be")
	}
	keep(t, s, exhibit("app-1", later.Add(1), 1), some)
	if len(of(t, s, "db-1")) != 0 || len(of(t, s, "web-1")) == 0 {
		t.Error("what is too old stays, or what is not goes")
	}
	huge := exhibit("app-1", later.Add(2), evidence.KeepBytes)
	if all := keep(t, s, huge, some); len(all) != 1 || len(of(t, s, "web-1")) != 0 {
		t.Errorf("%d stay beside one that takes all the room", len(all))
	}
	entries, _, err := s.List(t.Context(), "evidence/")
	if err != nil || len(entries) != 2 {
		t.Errorf("%d keys are left, want one exhibit with its console (%v)", len(entries), err)
	}
}

func TestWhoDoesNotOwnTheFleetKeepsNothing(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	err := evidence.Keep(t.Context(), s, []state.Compare{state.At("fleets/web/owner", 7)}, exhibit("web-1", noon, 0),
		evidence.Bytes{})
	if !fault.Is(err, fault.Conflict) || len(of(t, s, "web-1")) != 0 {
		t.Errorf("%v", err)
	}
}

// One that cannot be read hides no other, and is the first to go.
func TestOneThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	_, err := s.Commit(t.Context(), state.Txn{Then: []state.Write{
		state.Put("evidence/index/web/1-web-1", []byte("{")),
		state.Put("evidence/data/web/1-web-1/console/0000", []byte("x")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	keep(t, s, exhibit("web-1", noon, 0), evidence.Bytes{})
	if entries, _, err := s.List(t.Context(), "evidence/"); err != nil || len(entries) != 1 {
		t.Errorf("%d keys, %v", len(entries), err)
	}
}
