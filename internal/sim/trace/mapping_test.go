package trace_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hale/internal/sim/trace"
)

// at is an outage at a place; n is its minute.
func at(n int, node, rack, room string) trace.Outage {
	return trace.Outage{Start: time.Duration(n) * time.Minute, Node: node, Rack: rack, Room: room}
}

// mapped maps, and renders which node each machine plays.
func mapped(t *testing.T, whole trace.Trace, shape trace.Shape) trace.Mapping {
	t.Helper()
	m, err := trace.Map(whole, shape)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRoomsRacksAndNodesArePaddedToTheSizesOfTheFleet(t *testing.T) {
	t.Parallel()
	whole := trace.Trace{at(0, "a", "r1", "quiet"), at(1, "b", "r1", "busy"), at(2, "c", "r1", "busy"),
		at(3, "d", "r2", "busy")}
	m := mapped(t, whole, trace.Shape{Machines: 11, PerRack: 3, RacksPerRoom: 2})
	wantNodes := []string{"b", "c", "", "d", "", "", "a", "", "", "", ""} // rack r1 of the quiet room is another rack
	if diff := cmp.Diff(wantNodes, m.Nodes); diff != "" {
		t.Error(diff)
	}
	wantLayout := []trace.Place{
		{Rack: 0, Room: 0}, {Rack: 0, Room: 0}, {Rack: 0, Room: 0}, {Rack: 1, Room: 0}, {Rack: 1, Room: 0},
		{Rack: 1, Room: 0},
		{Rack: 2, Room: 1}, {Rack: 2, Room: 1}, {Rack: 2, Room: 1}, {Rack: 3, Room: 1}, {Rack: 3, Room: 1},
	}
	if diff := cmp.Diff(wantLayout, m.Layout); diff != "" {
		t.Error(diff)
	}
	wantOutages := []trace.Placed{{Outage: 0, Machine: 6}, {Outage: 1, Machine: 0}, {Outage: 2, Machine: 1},
		{Outage: 3, Machine: 3}}
	if diff := cmp.Diff(wantOutages, m.Outages); diff != "" {
		t.Error(diff)
	}
	if len(m.Unmapped) != 0 {
		t.Errorf("all of it fits, yet %+v", m.Unmapped)
	}
}

func TestWhatDoesNotFitIsReportedWithItsReason(t *testing.T) {
	t.Parallel()
	whole := trace.Trace{
		at(0, "a", "r1", "busy"), at(1, "b", "r1", "busy"), at(2, "c", "r1", "busy"), // three nodes of a rack of two
		at(3, "d", "r2", "busy"),                                                     // a second rack of a room of one
		at(4, "e", "r1", "calm"), at(5, "e", "r1", "calm"), at(6, "a", "r1", "busy"), // a second room of a fleet of one
	}
	m := mapped(t, whole, trace.Shape{Machines: 2, PerRack: 2, RacksPerRoom: 1})
	want := []trace.Unplaced{
		{Outage: 2, Reason: trace.NoMachine}, {Outage: 3, Reason: trace.NoRack}, {Outage: 4, Reason: trace.NoRoom},
		{Outage: 5, Reason: trace.NoRoom},
	}
	if diff := cmp.Diff(want, m.Unmapped); diff != "" {
		t.Error(diff)
	}
	wantLost := []trace.Lost{
		{Reason: trace.NoRoom, Outages: 2, Nodes: 1}, {Reason: trace.NoRack, Outages: 1, Nodes: 1},
		{Reason: trace.NoMachine, Outages: 1, Nodes: 1},
	}
	if diff := cmp.Diff(wantLost, m.Lost(whole)); diff != "" {
		t.Error(diff)
	}
}

func TestAPlaceThatTheTraceDoesNotNameIsNotMadeUp(t *testing.T) {
	t.Parallel()
	shape := trace.Shape{Machines: 8, PerRack: 2, RacksPerRoom: 2}
	for name, c := range map[string]struct {
		reason string
		whole  trace.Trace
		want   []string
	}{
		"nodes alone": {
			reason: "they are spread over the racks",
			whole: trace.Trace{at(0, "a", "", ""), at(1, "b", "", ""), at(2, "c", "", ""), at(3, "d", "", ""),
				at(4, "e", "", "")},
			want: []string{"a", "e", "b", "", "c", "", "d", ""},
		},
		"nodes of a room": {
			reason: "they are spread over the racks of that room, beside a rack that is known",
			whole:  trace.Trace{at(0, "a", "", "hall"), at(1, "b", "", "hall"), at(2, "c", "r", "hall")},
			want:   []string{"c", "b", "a", "", "", "", "", ""},
		},
		"racks without rooms": {
			reason: "each is a rack of its own, wherever one is empty",
			whole: trace.Trace{at(0, "a", "r1", ""), at(1, "b", "r1", ""), at(2, "c", "r2", ""), at(3, "d", "r3", ""),
				at(4, "e", "r1", "hall")},
			want: []string{"e", "", "a", "b", "c", "", "d", ""},
		},
	} {
		if diff := cmp.Diff(c.want, mapped(t, c.whole, shape).Nodes); diff != "" {
			t.Errorf("%s: %s\n%s", name, c.reason, diff)
		}
	}
}

func TestANodeThatMovedPlaysWhereItFailedMost(t *testing.T) {
	t.Parallel()
	whole := trace.Trace{at(0, "a", "r1", "x"), at(1, "a", "r2", "x"), at(2, "a", "r2", "x"), at(3, "b", "r2", "x")}
	m := mapped(t, whole, trace.Shape{Machines: 4, PerRack: 2, RacksPerRoom: 2})
	if want := []string{"a", "b", "", ""}; !slices.Equal(m.Nodes, want) || m.Moved != 1 || len(m.Outages) != 4 {
		t.Errorf("nodes %q, moved %d, outages %+v", m.Nodes, m.Moved, m.Outages)
	}
}

func TestASeedChoosesOtherRoomsThanTheWorst(t *testing.T) {
	t.Parallel()
	whole := trace.Trace{at(0, "worst", "r", "a"), at(1, "worst", "r", "a")}
	for i, room := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		whole = append(whole, at(2+i, "in "+room, "r", room))
	}
	shape := trace.Shape{Machines: 1, PerRack: 1, RacksPerRoom: 1}
	if m := mapped(t, whole, shape); m.Nodes[0] != "worst" {
		t.Errorf("without a seed the worst room comes first, not %q", m.Nodes[0])
	}
	chosen := map[string]bool{}
	for shape.Seed = 1; shape.Seed <= 100; shape.Seed++ {
		chosen[mapped(t, whole, shape).Nodes[0]] = true
	}
	if len(chosen) != 8 {
		t.Errorf("of 8 rooms, 100 seeds chose only %v", chosen)
	}
}

func TestAnImpossibleFleetOrTraceIsRefused(t *testing.T) {
	t.Parallel()
	for _, shape := range []trace.Shape{{PerRack: 1, RacksPerRoom: 1}, {Machines: 1, RacksPerRoom: 1},
		{Machines: 1, PerRack: 1}} {
		if _, err := trace.Map(nil, shape); err == nil {
			t.Errorf("%+v was taken", shape)
		}
	}
	if _, err := trace.Map(trace.Trace{at(1, "a", "", ""), at(0, "a", "", "")},
		trace.Shape{Machines: 1, PerRack: 1, RacksPerRoom: 1}); err == nil {
		t.Error("a trace out of order was taken")
	}
}

// TestAMappingKeepsWhoSharesWhat asks of every mapping: each outage is placed or refused, once; a node is one machine;
// and two nodes share a rack, or a room, of the fleet exactly when they share one in the trace.
func TestAMappingKeepsWhoSharesWhat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := placed(traces().Draw(t, "trace"))
		shape := trace.Shape{
			Machines: rapid.IntRange(1, 60).Draw(t, "machines"), PerRack: rapid.IntRange(1, 9).Draw(t, "per rack"),
			RacksPerRoom: rapid.IntRange(1, 5).Draw(t, "per room"), Seed: rapid.Uint64Range(0, 3).Draw(t, "seed"),
		}
		m, err := trace.Map(whole, shape)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := trace.Map(whole, shape)
		if diff := cmp.Diff(m, again); diff != "" {
			t.Errorf("a second mapping differs:\n%s", diff)
		}
		seen := make([]int, len(whole))
		for _, u := range m.Unmapped {
			seen[u.Outage]++
		}
		for _, p := range m.Outages {
			seen[p.Outage]++
			if m.Nodes[p.Machine] != whole[p.Outage].Node {
				t.Errorf("outage %d of %s is on the machine of %s", p.Outage, whole[p.Outage].Node, m.Nodes[p.Machine])
			}
		}
		if slices.ContainsFunc(seen, func(n int) bool { return n != 1 }) {
			t.Errorf("how often each outage is spoken of: %v", seen)
		}
		for _, p := range m.Outages {
			for _, q := range m.Outages {
				a, b := whole[p.Outage], whole[q.Outage]
				here, there := m.Layout[p.Machine], m.Layout[q.Machine]
				if (a.Room == b.Room) != (here.Room == there.Room) || (a.Room == b.Room &&
					a.Rack == b.Rack) != (here.Rack == there.Rack) {
					t.Fatalf("%+v is at %+v, but %+v at %+v", a, here, b, there)
				}
			}
		}
	})
}

// placed gives every node of a trace one rack and one room, told by its name.
func placed(whole trace.Trace) trace.Trace {
	for i, o := range whole {
		last := int(o.Node[len(o.Node)-1] - '0')
		whole[i].Room = []string{"a", "b", "c"}[last%3]
		whole[i].Rack = []string{"r1", "r2"}[last%2]
	}
	return trace.Sorted(whole)
}
