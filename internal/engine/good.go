package engine

import (
	"context"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/probe"
)

const (
	// goodWithin is how long the probes are waited for that count, and mostCounted how many machines of a fleet are
	// asked for.
	goodWithin  = 200 * time.Millisecond
	mostCounted = 20
)

// Count completes the fleet's status with the good answers that its recovering machines have, as far as the probes say
// it in time. It asks the probes, and no machine.
func (e *Engine) Count(ctx context.Context, f *published.Fleet) {
	o := ownerOf(*e.owners.Load(), f.Spec.Name)
	if o == nil {
		return
	}
	able, ok := o.probes.(probe.Counter)
	if !ok {
		return
	}
	var ids []probe.ID
	machines := 0
	for i := range f.Machines {
		m := &f.Machines[i]
		if m.Machine.Waiting != fleet.ReasonRecovering || machines == mostCounted {
			continue
		}
		machines++
		for _, c := range m.Checks {
			ids = append(ids, probe.ID{Machine: m.Machine.Name, Check: c.Check})
		}
	}
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, goodWithin)
	defer cancel()
	f.Good = able.Good(ctx, ids...)
}
