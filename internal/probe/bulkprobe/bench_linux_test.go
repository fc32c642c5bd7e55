package bulkprobe

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/probe"
)

// BenchmarkShard is the cost of one check that changes nothing, with the network's, over sockets in a namespace of its
// own: 1,000 targets are asked five times a second, so ns/op says nothing; cpu-us/check is the CPU of the whole
// process, the targets' own included.
func BenchmarkShard(b *testing.B) {
	for name, change := range map[string]func(c *policy.Check){
		"ping": func(c *policy.Check) { c.Kind = policy.CheckPing },
		"tcp":  func(c *policy.Check) { c.Kind = policy.CheckTCP },
		"page": func(c *policy.Check) { c.Kind = policy.CheckHTTP },
		"kept": func(c *policy.Check) { c.Kind, c.HTTP.KeepAlive = policy.CheckHTTP, true },
	} {
		b.Run(name, func(b *testing.B) { benchmark(b, change) })
	}
}

func benchmark(b *testing.B, change func(c *policy.Check)) {
	f := newField(b, Options{}, nil)
	port := f.listen("0.0.0.0", func(c net.Conn) { serveStatus(200, false)(c) })
	f.begin()
	c := &policy.Check{
		Name: "c", Port: port, Every: 200 * time.Millisecond, Timeout: 150 * time.Millisecond, DownAfter: 3, UpAfter: 1,
	}
	change(c)
	targets := make([]probe.Target, 1000)
	for n := range targets {
		targets[n] = of(n+1, fmt.Sprintf("127.2.%d.%d", n>>8, n&255), c)
	}
	f.Set(targets...)
	f.started(5000)
	b.ReportAllocs()
	b.ResetTimer()
	before, from := cpu(b), f.started(5000).Started
	after := f.started(from + uint64(b.N))
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1e3/float64(after.Started-from), "cpu-us/check")
	b.ReportMetric(float64(after.Lateness.Quantile(0.99))/1e6, "late-p99-ms")
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
