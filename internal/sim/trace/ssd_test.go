package trace_test

import (
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hale/internal/sim/trace"
)

// march reads sixty days of real failures; testdata/README.md says whence they come.
func march(t *testing.T) (trace.Trace, trace.Report) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "ssd-2019-03.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	whole, report, err := trace.FromSSD(plain)
	if err != nil {
		t.Fatal(err)
	}
	return whole, report
}

func TestTheRealFailuresAreConverted(t *testing.T) {
	t.Parallel()
	whole, report := march(t)
	want := trace.Report{
		Rows: 1499, Merged: 115, Outages: 1384, Nodes: 1293, Racks: 809, Rooms: 281,
		First: time.Date(2019, 3, 1, 0, 19, 19, 0, time.UTC), Last: time.Date(2019, 4, 29, 22, 43, 15, 0, time.UTC),
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
	var first strings.Builder
	if err := trace.Write(&first, whole[:3]); err != nil {
		t.Fatal(err)
	}
	wantFirst := "start,end,node,rack,room,cause\n" +
		"0,,129888,1621,232,ssd\n" +
		"4210,,164012,13064,194,ssd\n" +
		"11390,,176346,814,121,ssd\n"
	if diff := cmp.Diff(wantFirst, first.String()); diff != "" {
		t.Error(diff)
	}
}

// burst is the largest number of outages within half an hour that share a key.
func burst[K comparable](whole trace.Trace, key func(i int) (K, bool)) int {
	recent, most := map[K][]time.Duration{}, 0
	for i, o := range whole {
		k, counts := key(i)
		if !counts {
			continue
		}
		recent[k] = append(recent[k], o.Start)
		for o.Start-recent[k][0] > 30*time.Minute {
			recent[k] = recent[k][1:]
		}
		most = max(most, len(recent[k]))
	}
	return most
}

func TestTheWorstHalfHourOfARoomAndARackStrikesTheFleetAsWell(t *testing.T) {
	t.Parallel()
	whole, _ := march(t)
	if got := burst(whole, func(i int) (string, bool) { return whole[i].Room, true }); got != 281 {
		t.Errorf("the worst half hour of a room holds %d outages, want 281", got)
	}
	if got := burst(whole, func(i int) ([2]string, bool) {
		return [2]string{whole[i].Room, whole[i].Rack},
			true
	}); got != 42 {
		t.Errorf("the worst half hour of a rack holds %d outages, want 42", got)
	}
	for name, c := range map[string]struct {
		shape            trace.Shape
		room, rack, lost int
	}{
		"rooms as large as the trace's": {trace.Shape{Machines: 10_000, PerRack: 50, RacksPerRoom: 40}, 281, 42, 972},
		"rooms and racks that are less": {trace.Shape{Machines: 1000, PerRack: 20, RacksPerRoom: 10}, 160, 20, 1136},
		"one rack":                      {trace.Shape{Machines: 50, PerRack: 50, RacksPerRoom: 1}, 42, 42, 1342},
		"a calm choice": {trace.Shape{Machines: 1000, PerRack: 20, RacksPerRoom: 10, Seed: 7}, 1, 1,
			1376},
	} {
		m := mapped(t, whole, c.shape)
		machine := map[int]int{}
		for _, p := range m.Outages {
			machine[p.Outage] = p.Machine
		}
		room := burst(whole, func(i int) (int, bool) { k, there := machine[i]; return m.Layout[k].Room, there })
		rack := burst(whole, func(i int) (int, bool) { k, there := machine[i]; return m.Layout[k].Rack, there })
		if room != c.room || rack != c.rack || len(m.Unmapped) != c.lost {
			t.Errorf("%s: the worst half hour is %d in a room and %d in a rack, and %d outages do not fit; want %d, %d, %d",
				name, room, rack, len(m.Unmapped), c.room, c.rack, c.lost)
		}
	}
}

func TestThePublishedColumnsAreUnderstood(t *testing.T) {
	t.Parallel()
	text := "model,failure_time,failure,app,disk_id,node_id,rack_id,machine_room_id,r_5\n" +
		"A1,2019-03-22 11:00:00,1,WSM,9,7,3,2,0\n" +
		"A1,2019-03-22 10:30:00,1,WSM,8,7,3,2,0\n" +
		"A1,2019-03-22 10:30:00,0,WSM,5,6,3,2,0\n"
	whole, report, err := trace.FromSSD(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trace.Trace{{Node: "7", Rack: "3", Room: "2", Cause: "ssd"}}, whole); diff != "" {
		t.Error(diff)
	}
	want := trace.Report{
		Rows: 2, Healthy: 1, Merged: 1, Outages: 1, Nodes: 1, Racks: 1, Rooms: 1,
		First: time.Date(2019, 3, 22, 10, 30, 0, 0, time.UTC), Last: time.Date(2019, 3, 22, 11, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
}

func TestWrongFailureDataAreRefusedWithAllProblems(t *testing.T) {
	t.Parallel()
	_, _, err := trace.FromSSD(
		strings.NewReader("time,node,rack,room\n2019-03-22T10:05:52Z,1,2,3\n2019-03-22 10:05:52,,2,3\n"))
	var problems trace.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("want problems, got %v", err)
	}
	want := "line 2, column time: is no time such as 2019-03-22 10:05:52\nline 3, column node: is empty; every " +
		"outage is one of a node"
	if diff := cmp.Diff(want, problems.Error()); diff != "" {
		t.Error(diff)
	}
}
