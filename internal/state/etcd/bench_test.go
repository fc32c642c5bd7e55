package etcd

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hale/internal/state"
)

// BenchmarkCommit measures what the owner of a machine does at each step: it compares its
// lease and the machine's revision, and puts the machine, a journal record and an outcome.
func BenchmarkCommit(b *testing.B) {
	s := OpenForTest(b, Options{})
	ctx := b.Context()
	lease, err := s.Grant(ctx, time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	owner, err := s.Commit(ctx, state.Txn{Then: []state.Write{state.PutLeased("owner", nil, lease.ID())}})
	if err != nil {
		b.Fatal(err)
	}
	machine := int64(0)
	document, record := make([]byte, 2048), make([]byte, 512)
	for b.Loop() {
		machine, err = s.Commit(ctx, state.Txn{
			If: []state.Compare{state.Held("owner", owner, lease.ID()), state.At("machine", machine)},
			Then: []state.Write{
				state.Put("machine", document),
				state.Put("journal/1", record),
				state.Put("outcome/1", record),
			},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRestart measures how long it takes to open an existing folder until it can be
// written to; closing it is not counted.
func BenchmarkRestart(b *testing.B) {
	opts := Options{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	for b.Loop() {
		s, err := Open(b.Context(), opts)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.put(b.Context(), "a", 1); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkIdle measures what a store costs that holds a lease and a watch and has nothing
// to do: CPU time per second and the memory of this process. Run it by itself, with -benchtime 1x.
func BenchmarkIdle(b *testing.B) {
	s := OpenForTest(b, Options{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	if _, err := s.Grant(ctx, 10*time.Second); err != nil {
		b.Fatal(err)
	}
	go func() {
		for range s.Watch(ctx, "", 0) {
		}
	}()
	debug.FreeOSMemory()
	before, began := cpuTime(b), time.Now()
	for b.Loop() {
		<-time.After(20 * time.Second)
	}
	used, passed := cpuTime(b)-before, time.Since(began)
	b.ReportMetric(float64(used.Microseconds())/passed.Seconds(), "cpu-us/s")
	b.ReportMetric(residentMiB(b), "MiB-resident")
}

func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func residentMiB(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kib) / 1024
}
