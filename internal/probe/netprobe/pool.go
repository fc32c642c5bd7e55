package netprobe

import (
	"context"
	"errors"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// found asks what the machine's load balancer finds of it. Whatever keeps it from speaking says nothing of the machine.
func (k asker) found(ctx context.Context, t probe.Target) error {
	if k.pools == nil {
		return failure{fleet.ResultUntold, "there are no load balancers here"}
	}
	var down probe.DownError
	switch err := k.pools.Find(ctx, t, k.from); {
	case err == nil:
		return nil
	case ctx.Err() == nil && errors.As(err, &down):
		return failure{fleet.ResultPoolDown, firstLine(down.Detail)}
	default:
		return failure{fleet.ResultUntold, brief(err)}
	}
}

// tooYoung takes back what a look at a load balancer found, of a machine that it found up until a moment ago: how long
// it must have been down says the check, and a look does not last so long.
func tooYoung(a answer) answer {
	if a.reason == fleet.ResultPoolDown {
		a.reason, a.detail = fleet.ResultUntold, "it finds it down, and not for long enough"
	}
	return a
}
