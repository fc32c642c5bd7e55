package netprobe

import (
	"context"
	"errors"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/probe"
	"hale/internal/provider"
)

var errNoAsking = errors.New("this provider cannot ask the agents of its guests")

// pingGuest asks the agent inside the target's guest. Only what the provider says for certain of the agent is a
// failure; that the provider itself is not heard, or has lost the instance, is not (L4).
func (k asker) pingGuest(ctx context.Context, t probe.Target) error {
	if k.agents == nil {
		return failure{fleet.ResultUnsupported, errNoAsking.Error()}
	}
	err := k.agents.PingGuest(ctx, provider.Ref{ID: t.Instance, Host: t.Host, Mark: fleet.Mark{Machine: t.Machine}})
	if err == nil {
		return nil
	}
	cause := err
	var known *fault.Error
	if errors.As(err, &known) && known.Err != nil {
		cause = known.Err
	}
	switch fault.KindOf(err) {
	case fault.Conflict:
		return failure{fleet.ResultTimeout, brief(cause)}
	case fault.Unsupported:
		return failure{fleet.ResultUnsupported, brief(cause)}
	case fault.NotFound:
		return probe.LocalError{Err: errors.New("the instance is not on the host where hale asked for it")}
	default:
		return probe.LocalError{Err: cause}
	}
}
