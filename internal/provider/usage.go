package provider

import (
	"context"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// UsageReader is a provider that tells how much its instances use of what they have.
type UsageReader interface {
	// Usage tells it of those of the instances that it knows anything of: one that is not there, does not run, or whose
	// host does not answer is left out. It bears no mark, changes nothing, and may be asked of any instance.
	// fault.Unsupported: it never tells. Another error: nothing is known of any of them.
	Usage(ctx context.Context, refs []Ref) (map[fleet.InstanceID]Usage, error)
}

// Usage is how much one instance uses. What the provider does not tell is not in it.
type Usage struct {
	At time.Time // when it was so
	Of map[policy.Usage]Amount
}

// Amount is how much of one thing.
type Amount struct {
	Value float64
	// Counts says that the value counts up, from the instance's start, and begins anew with it: what it rises by in a
	// second is the amount.
	Counts bool
}

// CPUTime is the amount of UsageCPU of an instance with so many processors, which worked for so many seconds together.
func CPUTime(seconds float64, processors int) Amount {
	const percent = 100
	return Amount{Value: percent * seconds / float64(processors), Counts: true}
}

// Usage implements UsageReader.
func (r *Relay) Usage(ctx context.Context, refs []Ref) (map[fleet.InstanceID]Usage, error) {
	return ask(ctx, r, Call{Op: OpUsage}, func(ctx context.Context, p UsageReader) (map[fleet.InstanceID]Usage, error) {
		return p.Usage(ctx, refs)
	})
}
