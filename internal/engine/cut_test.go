package engine_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/provider/simulated"
)

// cut is a vantage's own way to the world, which can fail on our side.
type cut struct {
	probe.Transport
	local atomic.Bool
}

var errNoRoute = probe.LocalError{Err: errors.New("no route from here")}

func (c *cut) Ping(ctx context.Context, a netip.Addr) error {
	if c.local.Load() {
		return errNoRoute
	}
	return c.Transport.Ping(ctx, a)
}

func (c *cut) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.local.Load() {
		return nil, errNoRoute
	}
	return c.Transport.Dial(ctx, network, address)
}

// tellCut tells a story with probes that go through the vantage.
func tellCut(t *testing.T, vantage *cut, spec policy.Spec, tale func(s *story)) {
	t.Helper()
	tell(t, simulated.Options{}, spec, func(s *story) {
		vantage.Transport = s.world
		s.transport = vantage
		tale(s)
	})
}
