package bulkprobe

import (
	"testing"
	"time"

	"hale/internal/core/policy"
)

// turns has a shard of so many targets judge a second's answers, again and again, with the first few overheard.
func turns(b *testing.B, overheard int) {
	const n = 10_000
	f := newFake(n, &policy.Check{Kind: policy.CheckPing, Every: time.Second, Timeout: 900 * time.Millisecond,
		DownAfter: 3, UpAfter: 1})
	f.pass(3 * time.Second)
	for i := range overheard {
		f.overhear(int32(i), 0, true)
	}
	b.ResetTimer()
	for range b.N {
		f.pass(time.Second)
		f.box.overheard()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/probe")
}

// BenchmarkProbeLog compares the cost of a probe when none is told, and when those of one machine with four checks are.
func BenchmarkProbeLog(b *testing.B) {
	b.Run("off", func(b *testing.B) { turns(b, 0) })
	b.Run("on", func(b *testing.B) { turns(b, 4) })
}

// What no one listens to costs nothing: no memory is taken for it, and of those who listen no more is kept than its
// bound.
func TestAProbeLogIsBounded(t *testing.T) {
	t.Parallel()
	f := newFake(100, everySecond())
	f.pass(3 * time.Second)
	if len(f.box.singles) != 0 {
		t.Errorf("%d probes are kept for no one", len(f.box.singles))
	}
	for i := range 100 {
		f.overhear(int32(i), 0, true)
	}
	f.pass(10 * time.Second)
	if n := len(f.box.overheard()); n < 900 || n > 1100 {
		t.Errorf("%d probes were told in ten seconds", n)
	}
	f.pass(time.Minute)
	if n := len(f.box.overheard()); n != mostSingles {
		t.Errorf("%d are kept that no one takes, want %d", n, mostSingles)
	}
	for i := range 100 {
		f.overhear(int32(i), 0, false)
	}
	f.pass(3 * time.Second)
	if n := len(f.box.overheard()); n != 0 {
		t.Errorf("%d were told in the end", n)
	}
}
