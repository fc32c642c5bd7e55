package netprobe_test

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
)

// counter succeeds at once and says when it did so often enough.
type counter struct {
	left atomic.Int64
	done chan struct{}
}

func (c *counter) Ping(context.Context, netip.Addr) error {
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
	return nil
}

func (c *counter) Dial(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }

func (c *counter) Run(context.Context, probe.Program) (int, string, error) { return 0, "", nil }

// BenchmarkEngine is the cost of one check that changes nothing, without the network's: 5,000 targets are asked five
// times a second, so ns/op says nothing; cpu-us/check is the CPU of the whole process.
func BenchmarkEngine(b *testing.B) {
	x := &counter{done: make(chan struct{})}
	x.left.Store(int64(b.N))
	e := netprobe.New(x, netprobe.Options{})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	// Owned by the benchmark, which waits for it.
	go func() { ended <- e.Run(ctx) }()
	var targets []probe.Target
	for i := range 5000 {
		targets = append(targets, probe.Target{
			ID:      probe.ID{Machine: fleet.Name("web").Machine(i + 1), Check: "alive"},
			Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}),
			Spec: &policy.Check{
				Kind: policy.CheckPing, Every: 200 * time.Millisecond, Timeout: 100 * time.Millisecond, DownAfter: 3,
				UpAfter: 1,
			},
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	e.Set(targets...)
	<-x.done
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/check")
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
