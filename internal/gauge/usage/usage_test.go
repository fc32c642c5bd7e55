package usage_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/gauge/usage"
	"hale/internal/provider"
)

// counted is a provider that tells what a story says.
type counted struct {
	provider.Provider
	says  map[fleet.InstanceID]map[policy.Usage]provider.Amount
	err   error
	asked int
	refs  []provider.Ref
	takes time.Duration
}

// Usage implements provider.UsageReader.
func (c *counted) Usage(ctx context.Context, refs []provider.Ref) (map[fleet.InstanceID]provider.Usage, error) {
	c.asked++
	c.refs = refs
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := map[fleet.InstanceID]provider.Usage{}
	for id, of := range c.says {
		out[id] = provider.Usage{At: time.Now(), Of: of}
	}
	return out, c.err
}

// cpu has the instances' processors have worked for so many percent-seconds.
func (c *counted) cpu(of map[fleet.InstanceID]float64) {
	c.says = map[fleet.InstanceID]map[policy.Usage]provider.Amount{}
	for id, v := range of {
		c.says[id] = map[policy.Usage]provider.Amount{
			policy.UsageCPU: {Value: v, Counts: true}, policy.UsageMemory: {Value: 40},
		}
	}
}

func two() []gauge.Machine {
	return []gauge.Machine{{Name: "web-1", Instance: "a", Host: "h"}, {Name: "web-2", Instance: "b"}}
}

func metric(u policy.Usage) policy.Metric {
	return policy.Metric{Name: "m", Usage: u, Of: policy.CombineMean}
}

func TestTwoReadingsOfACounterAreAnAmount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		s := usage.New(c)
		busy := s.Reader(metric(policy.UsageCPU))
		c.cpu(map[fleet.InstanceID]float64{"a": 100, "b": 0})
		if r, err := busy.Read(t.Context(), two()); !fault.Is(err, fault.NotFound) {
			t.Fatalf("after one reading: %v, %v", r, err)
		}
		if len(c.refs) != 2 || c.refs[0].ID != "a" || c.refs[0].Host != "h" {
			t.Errorf("%v are asked for", c.refs)
		}
		time.Sleep(10 * time.Second)
		c.cpu(map[fleet.InstanceID]float64{"a": 600, "b": 1000})
		r, err := busy.Read(t.Context(), two())
		if err != nil || len(r.Each) != 2 || r.Each[0].Value != 50 || r.Each[1].Value != 100 {
			t.Errorf("%v, %v", r, err)
		}
		time.Sleep(10 * time.Second)
		c.cpu(map[fleet.InstanceID]float64{"a": 10, "c": 5}) // one began anew, one is gone, one is another fleet's
		if r, err := busy.Read(t.Context(), two()); !fault.Is(err, fault.NotFound) {
			t.Errorf("a counter that fell: %v, %v", r, err)
		}
		time.Sleep(10 * time.Second)
		c.cpu(map[fleet.InstanceID]float64{"a": 210, "b": 0})
		if r, err := busy.Read(t.Context(), two()); err != nil || len(r.Each) != 1 || r.Each[0].Value != 20 {
			t.Errorf("%v, %v", r, err)
		}
	})
}

func TestMetricsOfOneBeatShareAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{takes: time.Second}
		c.cpu(map[fleet.InstanceID]float64{"a": 100})
		s := usage.New(c)
		memory, more := s.Reader(metric(policy.UsageMemory)), s.Reader(metric(policy.UsageMemory))
		for n := 1; n <= 2; n++ {
			done := make(chan error, 2)
			for _, r := range []gauge.Reader{memory, more} {
				go func() {
					got, err := r.Read(t.Context(), two())
					if err == nil && (len(got.Each) != 1 || got.Each[0].Value != 40) {
						err = errors.New("another value")
					}
					done <- err
				}()
			}
			if err := errors.Join(<-done, <-done); err != nil || c.asked != n {
				t.Errorf("%v; it was asked %d times", err, c.asked)
			}
			time.Sleep(15 * time.Second)
		}
	})
}

func TestWhatAProviderDoesNotTellIsNoValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		c.cpu(map[fleet.InstanceID]float64{"a": 1})
		read := func(what string, p provider.Provider, u policy.Usage, machines []gauge.Machine, want fault.Kind) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if r, err := usage.New(p).Reader(metric(u)).Read(ctx, machines); !fault.Is(err, want) {
				t.Errorf("%s: %v, %v, want %s", what, r, err, want)
			}
		}
		read("what it does not count", c, policy.UsageSent, two(), fault.NotFound)
		read("no machine", c, policy.UsageMemory, nil, fault.NotFound)
		c.err = fault.New(fault.Throttled, "x", "", nil)
		read("it is asked too often", c, policy.UsageMemory, two(), fault.Throttled)
		c.takes = time.Hour
		read("it hangs", c, policy.UsageMemory, two(), fault.Transient)
		read("it never tells", struct{ provider.Provider }{}, policy.UsageMemory, two(), fault.Unsupported)
	})
}
