package bulkprobe

import (
	"errors"
	"testing"
	"time"

	"hale/internal/defect"
)

// brittle is a fake wire that panics over one target, or over an answer of it.
type brittle struct {
	*fake
	launches bool  // it panics when it launches over, else when it harvests
	over     int32 // the target
	blown    int
	ended    int
}

func (b *brittle) launch(i int32, t *target, p *plan) bool {
	if b.launches && i == b.over {
		b.blown++
		panic("boom")
	}
	return b.fake.launch(i, t, p)
}

func (b *brittle) harvest() {
	for _, i := range b.seen {
		if !b.launches && i == b.over {
			b.seen = nil
			b.blown++
			b.at = i // a wire says first which target's answer it reads
			panic("boom")
		}
	}
	b.fake.harvest()
}

func (b *brittle) close() { b.ended++ }

// pass takes steps, which may panic, until the time has passed.
func (b *brittle) pass(d time.Duration) map[string]int {
	for end := b.clock + int64(d); b.clock < end; {
		b.step()
		b.clock = min(max(min(b.due, b.wheel.next()), b.clock+1), end)
		b.expect = b.clock
	}
	return b.told()
}

func newBrittle(n int) *brittle {
	b := &brittle{fake: newFake(n, everySecond()), over: none}
	b.fake.shard.wire = b
	b.remake = func() (wire, error) { return b, nil }
	return b
}

// TestAShardThatPanicsGoesOn: the one target over which it does is unknown at once, and asked again a minute later; the
// others stay as they stand, and their failures are found as soon as ever.
func TestAShardThatPanicsGoesOn(t *testing.T) {
	t.Parallel()
	for name, launches := range map[string]bool{"launching": true, "reading an answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 100
			told := 0
			b := newBrittle(n)
			b.launches, b.panics = launches, func(string, string, *defect.Panic) { told++ }
			wantEdges(t, b.pass(3*time.Second), map[string]int{"up ok": n})
			b.over = 7
			wantEdges(t, b.pass(30*time.Second), map[string]int{"unknown panicked": 1})
			if b.blown != 1 || told != 1 || b.ended != 1 {
				t.Errorf("%d panics, %d told, %d wires let go in half a minute, want one of each",
					b.blown, told, b.ended)
			}
			wantEdges(t, b.pass(45*time.Second), nil)
			if b.blown != 2 {
				t.Errorf("%d panics: it is not asked again after a minute", b.blown)
			}
			b.over, b.silent = none, true
			wantEdges(t, b.pass(4*time.Second), map[string]int{"failing timeout": n - 1, "down timeout": n - 1})
			b.silent = false
			if edges := b.pass(2 * time.Minute); edges["up ok"] != n {
				t.Errorf("%v: want all up again", edges)
			}
		})
	}
}

// TestAnOrderThatPanicsIsNotDoneTwice, and those behind it are done.
func TestAnOrderThatPanicsIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	b := newBrittle(3)
	asked := 0
	b.tell(instruction{inspect: func(*shard) { asked++; panic("boom") }},
		instruction{inspect: func(*shard) { asked += 10 }})
	if edges := b.pass(3 * time.Second); edges["up ok"] != 3 {
		t.Errorf("%v: want all up", edges)
	}
	if asked != 11 {
		t.Errorf("the orders were done %d times", asked)
	}
}

// TestAShardWithoutAnotherWireEnds: no watermark comes from it any more.
func TestAShardWithoutAnotherWireEnds(t *testing.T) {
	t.Parallel()
	b := newBrittle(3)
	b.launches = true
	b.remake = func() (wire, error) { return nil, errors.New("no descriptor") }
	b.pass(2500 * time.Millisecond)
	_, judged := b.box.empty()
	b.over = 1
	b.expect = b.clock
	for range 1000 {
		if b.ending.Load() {
			break
		}
		b.step()
		b.clock += tick
		b.expect = b.clock
	}
	if !b.ending.Load() || b.broken == nil {
		t.Fatal("it goes on")
	}
	b.run()
	if b.tell(instruction{end: true}) {
		t.Error("it takes orders")
	}
	if _, later := b.box.empty(); later > judged+int64(time.Second) {
		t.Errorf("a watermark came from it: %d after %d", later, judged)
	}
}
