package external

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// used is the result of usage: amounts by an instance's id.
type used struct {
	Usage map[string]amounts `json:"usage"`
}

// amounts are how much one instance uses; what is not known is left out.
type amounts struct {
	CPUPercent    *float64 `json:"cpu_percent"`
	MemoryPercent *float64 `json:"memory_percent"`
	// CPUSeconds is how long its processors worked together, of which it has as many as Processors. It counts from its
	// start, as the bytes do.
	CPUSeconds *float64 `json:"cpu_seconds"`
	Processors int      `json:"processors"`
	Received   *float64 `json:"received_bytes"`
	Sent       *float64 `json:"sent_bytes"`
}

// Usage implements provider.UsageReader.
func (p *Provider) Usage(ctx context.Context, refs []provider.Ref) (map[fleet.InstanceID]provider.Usage, error) {
	r := request{Operation: opUsage}
	for _, ref := range refs {
		r.Instances = append(r.Instances, placed{ID: string(ref.ID), Host: string(ref.Host)})
	}
	var said used
	if err := p.call(ctx, r, &said); err != nil {
		return nil, err
	}
	at, out := time.Now(), make(map[fleet.InstanceID]provider.Usage, len(said.Usage))
	for id, a := range said.Usage {
		of, err := a.read()
		if err != nil {
			return nil, p.fail(r, fault.Permanent, fmt.Errorf("of %s: %w", id, err))
		}
		out[fleet.InstanceID(id)] = provider.Usage{At: at, Of: of}
	}
	return out, nil
}

func (a *amounts) read() (map[policy.Usage]provider.Amount, error) {
	out := map[policy.Usage]provider.Amount{}
	for _, f := range []struct {
		kind   policy.Usage
		value  *float64
		counts bool
	}{
		{policy.UsageCPU, a.CPUPercent, false}, {policy.UsageMemory, a.MemoryPercent, false},
		{policy.UsageReceived, a.Received, true}, {policy.UsageSent, a.Sent, true},
	} {
		if f.value != nil {
			out[f.kind] = provider.Amount{Value: *f.value, Counts: f.counts}
		}
	}
	if a.CPUSeconds != nil {
		if a.CPUPercent != nil || a.Processors < 1 {
			return nil, errors.New("cpu_seconds goes with processors, and not with cpu_percent")
		}
		out[policy.UsageCPU] = provider.CPUTime(*a.CPUSeconds, a.Processors)
	}
	for kind, amount := range out {
		if amount.Value < 0 || math.IsInf(amount.Value, 0) {
			return nil, fmt.Errorf("%s is %v", kind, amount.Value)
		}
	}
	return out, nil
}
