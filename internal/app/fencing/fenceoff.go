package fencing

import (
	"context"

	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/fence"
	"hale/internal/notify"
)

// Off implements power.Fencing. A fencing of the same host meanwhile waits, and finds it off.
func (f *Fencing) Off(ctx context.Context, p fleet.ProviderName, host fleet.HostName) []api.FenceTry {
	e := fencer{f, p}.host(host)
	if len(e.methods) == 0 {
		return nil // a reload took them away
	}
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-e.turn }()
	methods := make([]fence.Method, 0, len(e.methods))
	yields := map[string]fleet.Proof{}
	for _, m := range e.methods {
		if m.uncut != nil {
			continue // it leaves the host its power
		}
		methods = append(methods, m.Method)
		yields[m.Name] = m.Yields
	}
	var out []api.FenceTry
	fence.Off(ctx, methods, func(t fence.Try) {
		f.log.Info("a host's power is cut, as a person asked", "provider", p, "host", host, "method", t.Method,
			"try", t.Number,
			"already", t.Done.Already, "orders", t.Done.Orders, "took", t.Done.Took, "err", t.Err)
		told := api.FenceTry{
			Method: t.Method, Number: t.Number, OK: t.Err == nil, Already: t.Done.Already && t.Err == nil,
			Orders: t.Done.Orders, Took: api.Duration(t.Done.Took),
		}
		if t.Err != nil {
			told.Detail = notify.Why(t.Err)
		} else {
			told.Proof = string(yields[t.Method])
		}
		out = append(out, told)
	})
	return out
}
