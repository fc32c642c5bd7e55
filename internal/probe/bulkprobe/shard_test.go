package bulkprobe

import (
	"testing"
	"time"

	"hale/internal/core/policy"
)

// fake is a wire; the test controls its clock and its answers.
type fake struct {
	*shard
	box     *mailbox
	clock   int64
	room    int // for probes in flight
	answers reason
	silent  bool
	seen    []int32 // started in this turn
}

const tick = int64(5 * time.Millisecond)

func newFake(n int, c *policy.Check) *fake {
	f := &fake{box: newMailbox(1), room: 1 << 30, answers: ok}
	boxes := []*mailbox{f.box}
	f.shard = newShard(0, time.Duration(tick), func() []*mailbox { return boxes })
	f.wire = f
	p := newPlan(c)
	for i := range n {
		first := int64(c.Every) * int64(i) / int64(n)
		f.tell(instruction{handle: f.handle(), plan: p, first: first, target: target{record: int32(i),
			token: uint64(first)}})
	}
	return f
}

func (f *fake) now() int64 { return f.clock }

func (f *fake) launch(i int32, _ *target, _ *plan) bool {
	if f.flying > f.room {
		return false
	}
	f.seen = append(f.seen, i)
	return true
}

func (f *fake) flush() {}

func (f *fake) harvest() {
	if f.silent {
		return
	}
	for _, i := range f.seen {
		f.answer(i, f.answers, textNone)
	}
	f.seen = f.seen[:0]
}

func (f *fake) expire(int32, *target, *plan) expiry { return inSilence }
func (f *fake) forget(int32, *target)               {}
func (f *fake) pause(int64, int)                    {}
func (f *fake) ring()                               {}
func (f *fake) close()                              {}

// pass takes turns as the shard asks for them until the time has passed, and returns the edges as "up ok" with their
// number.
func (f *fake) pass(d time.Duration) map[string]int {
	for end := f.clock + int64(d); f.clock < end; {
		f.turn()
		f.clock = min(max(f.rest(), f.clock+1), end)
		f.expect = f.clock
	}
	return f.told()
}

func (f *fake) told() map[string]int {
	edges := map[string]int{}
	all, _ := f.box.empty()
	for _, n := range all {
		edges[string(n.standing.word())+" "+string(n.reason.word())]++
	}
	return edges
}

func everySecond() *policy.Check {
	return &policy.Check{
		Kind: policy.CheckPing, Every: time.Second, Timeout: 900 * time.Millisecond, DownAfter: 3, UpAfter: 1,
	}
}

func wantEdges(t *testing.T, got map[string]int, want map[string]int) {
	t.Helper()
	same := len(got) == len(want)
	for k, n := range want {
		same = same && got[k] == n
	}
	if !same {
		t.Errorf("edges %v, want %v", got, want)
	}
}

// TestSilenceIsFoundInTime: interval x threshold + timeout, and no later than a slot after that.
func TestSilenceIsFoundInTime(t *testing.T) {
	t.Parallel()
	const n = 1000
	f := newFake(n, everySecond())
	wantEdges(t, f.pass(3*time.Second), map[string]int{"up ok": n})
	f.silent = true
	wantEdges(t, f.pass(1900*time.Millisecond+time.Duration(tick)), map[string]int{"failing timeout": n})
	wantEdges(t, f.pass(900*time.Millisecond), nil)
	wantEdges(t, f.pass(1100*time.Millisecond), map[string]int{"down timeout": n})
}

// TestAStallIsNobodysFailure stops the shard with everything in flight: what timed out meanwhile says nothing, nothing
// is made up for, and all is as before a second later.
func TestAStallIsNobodysFailure(t *testing.T) {
	t.Parallel()
	const n = 1000
	f := newFake(n, everySecond())
	f.pass(3 * time.Second)
	f.silent = true
	f.pass(500 * time.Millisecond)
	f.clock += int64(5 * time.Second)
	started := f.stats.Started
	f.turn()
	if burst := f.stats.Started - started; burst > n/3 {
		t.Errorf("%d of %d probes started at once after the stall", burst, n)
	}
	if f.stats.Stalls != 1 {
		t.Errorf("%d stalls noticed", f.stats.Stalls)
	}
	f.expect, f.silent = f.clock, false
	edges := f.pass(2 * time.Second)
	for k := range edges {
		if k != "unknown late" && k != "up ok" {
			t.Errorf("%d targets are %s after a stall", edges[k], k)
		}
	}
	if edges["unknown late"] != edges["up ok"] {
		t.Errorf("edges %v: want all up again", edges)
	}
	if per := (f.stats.Started - started); per > 3*n {
		t.Errorf("%d probes in the two seconds after the stall", per)
	}
}

// TestWhatFindsNoRoomIsUnknown: a shard with room for a tenth says of the others that it knows nothing.
func TestWhatFindsNoRoomIsUnknown(t *testing.T) {
	t.Parallel()
	const n = 1000
	f := newFake(n, everySecond())
	f.pass(3 * time.Second)
	f.silent, f.room = true, n/10
	edges := f.pass(20 * time.Second)
	if down := edges["down timeout"]; down > n/5 {
		t.Errorf("%d targets are down, and there was room for %d probes: %v", down, n/10, edges)
	}
	if edges["unknown late"] < n/2 || f.stats.Skipped == 0 {
		t.Errorf("edges %v, %d probes skipped", edges, f.stats.Skipped)
	}
	f.silent, f.room = false, 1<<30
	f.pass(5 * time.Second)
	for i := range f.targets.used {
		if got := f.targets.at(i).tally.standing; got != up {
			t.Fatalf("target %d is %s after all was well again", i, got.word())
		}
	}
}

// TestReadLongAfterItsTime: an answer that was read long after the timeout says nothing (the next probe's does), a
// moment after it counts.
func TestReadLongAfterItsTime(t *testing.T) {
	t.Parallel()
	for _, tc := range map[string]struct {
		late time.Duration
		want map[string]int
	}{
		"a moment": {time.Millisecond, map[string]int{"up ok": 1}},
		"long":     {time.Duration(stallAfter) + 1, map[string]int{"unknown late": 1, "up ok": 1}},
	} {
		f := newFake(1, everySecond())
		f.silent = true
		f.turn()
		f.silent = false
		f.clock += int64(900*time.Millisecond + tc.late)
		f.turn()
		wantEdges(t, f.told(), tc.want)
	}
}

// TestRemovedTargetsLeaveNothing adds and removes, and finds places, plans and the wheel empty.
func TestRemovedTargetsLeaveNothing(t *testing.T) {
	t.Parallel()
	const n = 100
	f := newFake(n, everySecond())
	f.silent = true
	f.pass(time.Second)
	for i := range int32(n) {
		f.tell(instruction{handle: i, end: true}, instruction{handle: i, end: true}) // twice does no harm
	}
	f.turn()
	if f.flying != 0 || f.stats.Targets != 0 || len(f.plans.number) != 0 || f.wheel.next() != never ||
		len(f.handles.free) != n {
		t.Errorf("%d in flight, %d targets, %d plans, next at %d, %d places",
			f.flying, f.stats.Targets, len(f.plans.number), f.wheel.next(), len(f.handles.free))
	}
	f.seen = nil
	if got := f.pass(5 * time.Second); len(got) != 0 || len(f.seen) != 0 {
		t.Errorf("edges %v, %d probes without a target", got, len(f.seen))
	}
}

// TestNothingIsAllocated probes 1,000 targets a second: while nothing changes, no memory is asked for.
func TestNothingIsAllocated(t *testing.T) {
	f := newFake(1000, everySecond())
	f.pass(3 * time.Second)
	allocs := testing.AllocsPerRun(200, func() {
		f.turn()
		f.clock += tick
		f.expect = f.clock
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a turn with about 5 probes", allocs)
	}
	if f.stats.Started < 3500 {
		t.Errorf("only %d probes", f.stats.Started)
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	var h Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("nothing has a median")
	}
	for ms := range int64(1000) {
		h.add(ms * int64(time.Millisecond))
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond} {
		if got := h.Quantile(q); got < want || got > want*9/8+17*time.Microsecond {
			t.Errorf("quantile %v is %v, want %v to an eighth more", q, got, want)
		}
	}
}
