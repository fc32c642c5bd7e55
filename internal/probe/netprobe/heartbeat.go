package netprobe

import (
	"context"
	"errors"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

var errNobodyListens = errors.New("hale does not listen for heartbeats")

// beat waits for the machine's own report. That none can be heard is our own fault (L4).
func (k asker) beat(ctx context.Context, t probe.Target) (said string, err error) {
	if k.hearing == nil {
		return "", probe.LocalError{Err: errNobodyListens}
	}
	b, err := k.hearing.Await(ctx, t)
	switch {
	case err != nil:
		return "", err
	case !b.OK:
		return "", failure{fleet.ResultStatus, firstLine(b.Detail)}
	}
	return firstLine(b.Detail), nil
}
