package trace_test

import (
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hale/internal/sim/trace"
)

// traces makes traces of few nodes in few places, so that names, racks and times collide.
func traces() *rapid.Generator[trace.Trace] {
	return rapid.Custom(func(t *rapid.T) trace.Trace {
		var made []trace.Outage
		for range rapid.IntRange(0, 40).Draw(t, "outages") {
			number := rapid.IntRange(0, 30).Draw(t, "node")
			o := trace.Outage{
				Start: time.Duration(rapid.Int64Range(0, int64(200*time.Hour)).Draw(t, "start")),
				Node:  "n" + strconv.Itoa(number),
				Rack:  rapid.SampledFrom([]string{"", "r1", "r2", "r3"}).Draw(t, "rack"),
				Room:  rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "room"),
				Cause: rapid.SampledFrom([]string{"", "disk", "pow\"er, host"}).Draw(t, "cause"),
			}
			if rapid.Bool().Draw(t, "ended") {
				o.End = o.Start + time.Duration(rapid.Int64Range(1, int64(100*time.Hour)).Draw(t, "length"))
			}
			made = append(made, o)
		}
		return trace.Sorted(made)
	})
}

func TestAWindowIsHalfOpenAndCountsFromItsBeginning(t *testing.T) {
	t.Parallel()
	whole := trace.Trace{
		{Start: 1 * time.Hour, End: 9 * time.Hour, Node: "before"},
		{Start: 2 * time.Hour, End: 9 * time.Hour, Node: "at"},
		{Start: 3*time.Hour - 1, Node: "last"},
		{Start: 3 * time.Hour, Node: "after"},
	}
	want := trace.Trace{
		{Start: 0, End: 7 * time.Hour, Node: "at"},
		{Start: time.Hour - 1, Node: "last"},
	}
	if diff := cmp.Diff(want, whole.Window(2*time.Hour, time.Hour)); diff != "" {
		t.Error(diff)
	}
	if cut := whole.Window(2*time.Hour, math.MaxInt64); len(cut) != 3 {
		t.Errorf("a window without end holds the rest: %+v", cut)
	}
	if cut := whole.Window(5*time.Hour, -time.Hour); len(cut) != 0 {
		t.Errorf("a window turned over holds nothing: %+v", cut)
	}
}

func TestTheBusiestWindowIsTheOneThatAPatientSearchFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := traces().Draw(t, "trace")
		length := time.Duration(rapid.Int64Range(1, int64(300*time.Hour)).Draw(t, "length"))
		most := 0
		for _, o := range whole {
			most = max(most, len(whole.Window(o.Start, length)))
		}
		if got := len(whole.Window(whole.Busiest(length), length)); got != most {
			t.Errorf("%d outages, want %d", got, most)
		}
	})
}

func TestCompressionKeepsLengthsAndOrder(t *testing.T) {
	t.Parallel()
	whole := trace.Trace{
		{Start: 10 * time.Hour, End: 12 * time.Hour, Node: "a"},
		{Start: 40 * time.Hour, Node: "b"},
	}
	want := trace.Trace{
		{Start: time.Hour, End: 3 * time.Hour, Node: "a"},
		{Start: 4 * time.Hour, Node: "b"},
	}
	dense, err := whole.Compress(10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, dense); diff != "" {
		t.Error(diff)
	}
	for _, factor := range []float64{0, 0.5, -1, math.NaN(), math.Inf(1)} {
		if _, err := whole.Compress(factor); err == nil {
			t.Errorf("a factor of %v was taken", factor)
		}
	}
}

func TestRepeatsOnANodeAreOneOutage(t *testing.T) {
	t.Parallel()
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for name, c := range map[string]struct {
		reason      string
		given, want trace.Trace
	}{
		"a chain": {
			reason: "each repeat is within the hour of the one before, the last one is not within the hour of the first",
			given: trace.Trace{{Start: 0, Node: "a"}, {Start: minutes(50), Node: "a"},
				{Start: minutes(110), Node: "a"}},
			want: trace.Trace{{Start: 0, Node: "a"}},
		},
		"one nanosecond late": {
			reason: "within an hour is at most an hour",
			given:  trace.Trace{{Start: 0, Node: "a"}, {Start: minutes(60) + 1, Node: "a"}},
			want:   trace.Trace{{Start: 0, Node: "a"}, {Start: minutes(60) + 1, Node: "a"}},
		},
		"two nodes": {
			reason: "another node's failure is no repeat",
			given:  trace.Trace{{Start: 0, Node: "a"}, {Start: 0, Node: "b"}},
			want:   trace.Trace{{Start: 0, Node: "a"}, {Start: 0, Node: "b"}},
		},
		"during the outage": {
			reason: "what is out cannot fail, however long ago its outage began; the later end stands",
			given: trace.Trace{{Start: 0, End: minutes(500), Node: "a"},
				{Start: minutes(300), End: minutes(600), Node: "a"}},
			want: trace.Trace{{Start: 0, End: minutes(600), Node: "a"}},
		},
		"an end is missing": {
			reason: "an unknown end is later than a known one",
			given:  trace.Trace{{Start: 0, End: minutes(5), Node: "a"}, {Start: minutes(1), Node: "a"}},
			want:   trace.Trace{{Start: 0, Node: "a"}},
		},
	} {
		merged, repeats := c.given.Merge(time.Hour)
		if diff := cmp.Diff(c.want, merged); diff != "" || repeats != len(c.given)-len(c.want) {
			t.Errorf("%s: %s\n%d repeats\n%s", name, c.reason, repeats, diff)
		}
	}
}

func TestEndsAreFilledWhereThereIsNone(t *testing.T) {
	t.Parallel()
	given := trace.Trace{
		{Start: 0, Node: "a"},
		{Start: 1, End: 2, Node: "b"},
		{Start: time.Hour, Node: "c"},
		{Start: trace.MaxSpan, Node: "d"},
	}
	lengths := []time.Duration{0, time.Hour, time.Hour}
	filled := given.FillEnds(func() time.Duration {
		next := lengths[0]
		lengths = lengths[1:]
		return next
	})
	want := slices.Clone(given)
	want[0].End = time.Millisecond // no outage is without length
	want[2].End = 2 * time.Hour
	if diff := cmp.Diff(want, filled); diff != "" {
		t.Error(diff)
	}
	if given[0].End != 0 {
		t.Error("the given trace was changed")
	}
}

func TestEveryWayToChangeATraceLeavesAWholeOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := traces().Draw(t, "trace")
		before := slices.Clone(whole)
		length := time.Duration(rapid.Int64Range(0, int64(300*time.Hour)).Draw(t, "length"))
		dense, err := whole.Compress(rapid.Float64Range(1, 1000).Draw(t, "factor"))
		if err != nil {
			t.Fatal(err)
		}
		merged, repeats := whole.Merge(length)
		if len(merged)+repeats != len(whole) {
			t.Errorf("%d outages and %d repeats out of %d", len(merged), repeats, len(whole))
		}
		again, more := merged.Merge(0)
		if more > 0 && length > 0 {
			t.Errorf("repeats were left: %+v of %+v", again, merged)
		}
		for name, changed := range map[string]trace.Trace{
			"compressed": dense,
			"merged":     merged,
			"cut":        whole.Window(length, 50*time.Hour),
			"filled":     whole.FillEnds(func() time.Duration { return length }),
		} {
			if err := changed.Check(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(before, whole); diff != "" {
			t.Errorf("the given trace was changed:\n%s", diff)
		}
	})
}
