package bulkprobe

import (
	"testing"

	"pgregory.net/rapid"
)

// TestWheelAgainstAList lets a wheel and a plain list of times run beside each other.
func TestWheelAgainstAList(t *testing.T) {
	t.Parallel()
	const width = 1000
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		w := newWheel(width)
		due := map[int32]int64{} // those in the wheel, each with the instant at which it comes up at the earliest
		now := int64(0)
		for range 200 {
			i := int32(rapid.IntRange(0, n-1).Draw(t, "target"))
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				w.take(i)
				at := now + int64(rapid.IntRange(-10*width, 5000*width).Draw(t, "in"))
				w.put(i, at)
				// what lies beyond the wheel comes up sooner, to be put off
				last := (now/width + wheelSlots - 1) * width
				due[i] = max(min((at+width-1)/width*width, last), (now/width+1)*width)
			case 2:
				w.take(i)
				delete(due, i)
			case 3:
				soonest := never
				for _, at := range due {
					soonest = min(soonest, at)
				}
				if got := w.next(); got != soonest {
					t.Fatalf("the next slot is said to be %d, want %d", got, soonest)
				}
				now += int64(rapid.IntRange(0, 3000*width).Draw(t, "pass"))
				popped(t, w, now, due)
			}
		}
	})
}

// popped takes all that is due out of both.
func popped(t *rapid.T, w *wheel, now int64, due map[int32]int64) {
	for i := w.pop(now); i != none; i = w.pop(now) {
		at, in := due[i]
		if !in || at > now {
			t.Fatalf("target %d came up at %d: in the wheel %v, for %d", i, now, in, at)
		}
		delete(due, i)
	}
	for i, at := range due {
		if at <= now {
			t.Fatalf("target %d, due at %d, did not come up until %d", i, at, now)
		}
	}
}
