package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"time"

	"hale/bench/rig"
)

// hale lets the engine work with these arguments for the time, and returns the process' last state and its tale.
func (b *bout) hale(ctx context.Context, d time.Duration, args ...string) (took cost, t tale, err error) {
	p, err := begin(ctx, b.self, append([]string{"check", "-port", fmt.Sprint(fieldPort)}, args...)...)
	if err != nil {
		return cost{}, tale{}, err
	}
	defer p.end()
	if err := rig.Pass(ctx, warm); err != nil {
		return cost{}, tale{}, err
	}
	cpu, at := p.CPU(), time.Now()
	if err := rig.Pass(ctx, d); err != nil {
		return cost{}, tale{}, err
	}
	took = cost{Rate: (p.CPU() - cpu).Seconds() / time.Since(at).Seconds(), RSS: p.Memory("VmRSS")}
	out, err := p.finish()
	if err == nil {
		err = json.Unmarshal(out, &t)
	}
	return took, t, err
}

// memory is that of 100,000 targets, each asked every 10 s: of the whole process, and of one target's state.
func (b *bout) memory(ctx context.Context) error {
	const many, few = 100_000, 1_000
	took, large, err := b.hale(ctx, 12*time.Second, "-kind", "ping", "-n", fmt.Sprint(many), "-every", "10s")
	if err != nil {
		return err
	}
	_, small, err := b.hale(ctx, time.Second, "-kind", "ping", "-n", fmt.Sprint(few), "-every", "10s")
	if err != nil {
		return err
	}
	b.tell("memory_mib_100k", took.RSS, 40)
	b.tell("bytes_per_target", float64(large.HeapBytes-small.HeapBytes)/(many-few), 300)
	b.tell("goroutines_100k", float64(large.Goroutines), 20)
	return nil
}

// scale is 100,000 pings and 50,000 connections a second: their cores, and their false failures.
func (b *bout) scale(ctx context.Context) error {
	for _, s := range []struct {
		key, kind string
		n         int
	}{{"icmp_100k", "ping", 100_000}, {"tcp_50k", "tcp", 50_000}} {
		took, t, err := b.hale(ctx, 8*time.Second, "-kind", s.kind, "-n", fmt.Sprint(s.n))
		if err != nil {
			return err
		}
		b.tell(s.key+"_cores", took.Rate, 2)
		b.tell(s.key+"_false_failures", float64(t.Failing), 0)
		b.tell(s.key+"_skipped_share", float64(t.Skipped)/float64(max(t.Started, 1)), 0.01)
	}
	return nil
}

// lateness is how much later than due the probes of 50,000 targets start.
func (b *bout) lateness(ctx context.Context) error {
	_, t, err := b.hale(ctx, 6*time.Second, "-kind", "ping", "-n", "50000")
	b.tell("lateness_p50_ms_50k", t.LateP50, 5)
	b.tell("lateness_p99_ms_50k", t.LateP99, 10)
	return err
}

// detection is how much longer than in theory it takes to find targets down that refuse or fall silent. In theory it
// takes interval x (threshold - 1), the place within the interval, and for silent ones the time limit.
func (b *bout) detection(ctx context.Context) error {
	for _, d := range []struct {
		key    string
		signal syscall.Signal
		theory time.Duration // at p99
	}{
		{"detection_refused", syscall.SIGKILL, 2990 * time.Millisecond},
		{"detection_silent", syscall.SIGUSR1, 3890 * time.Millisecond},
	} {
		found, err := b.detect(ctx, d.signal)
		if err != nil {
			return err
		}
		b.tell(d.key+"_found", float64(len(found)), detected)
		if len(found) > 0 {
			p99 := found[len(found)*99/100]
			b.tell(d.key+"_p99_over_theory_ms", float64(p99-d.theory)/float64(time.Millisecond), 20)
			b.tell(d.key+"_p50_ms", float64(found[len(found)/2])/float64(time.Millisecond), 0)
		}
	}
	return nil
}

const (
	watched  = 2000
	detected = watched / 4
)

// detect lets every fourth target fail, and returns after what time each was found down, sorted.
func (b *bout) detect(ctx context.Context, with syscall.Signal) ([]time.Duration, error) {
	other, err := begin(ctx, b.self, "field", fmt.Sprint(otherPort), b.dir+"/other")
	if err != nil {
		return nil, err
	}
	defer other.end()
	p, err := begin(ctx, b.self, "check", "-kind", "tcp", "-n", fmt.Sprint(watched), "-port", fmt.Sprint(fieldPort),
		"-other", fmt.Sprint(otherPort))
	if err != nil {
		return nil, err
	}
	defer p.end()
	if err := rig.Pass(ctx, 2*warm); err != nil {
		return nil, err
	}
	at := time.Now()
	if err := other.Signal(with); err != nil {
		return nil, err
	}
	if err := rig.Pass(ctx, 5*time.Second); err != nil {
		return nil, err
	}
	out, err := p.finish()
	if err != nil {
		return nil, err
	}
	var t tale
	if err := json.Unmarshal(out, &t); err != nil {
		return nil, err
	}
	var all []time.Duration
	for _, down := range t.DownAt {
		all = append(all, time.Duration(down-at.UnixNano()))
	}
	slices.Sort(all)
	return all, nil
}
