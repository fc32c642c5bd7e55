package openstack

import (
	"context"
	"errors"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// Rescue has Nova boot a rescue image, its own choice, with the server's disk beside. The password that it makes up for
// that is in no answer that hale reads: a person sets another one, or has a key pair.
func (p *Provider) Rescue(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.openIdle(ctx, "openstack.rescue", ref)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.whole(s); err != nil {
		return err
	}
	switch s.Status {
	case statusRescue:
		return nil
	case statusActive, statusOff, statusError:
	default:
		return c.conflictf("its status is %s", s.Status)
	}
	if err := c.act(s, "rescue", map[string]any{}); err != nil {
		// such as a server with its disk on a volume, where the hypervisor cannot rescue these
		if fault.Is(err, fault.Invalid) {
			return c.fault(fault.Permanent, err)
		}
		return err
	}
	var last server
	err = c.await(s.ID, func(now *server) bool {
		last = *now
		return now.Task == ""
	})
	switch {
	case err != nil:
		return err
	case last.Status != statusRescue:
		return c.fault(fault.Permanent,
			errors.New("nova could not rescue it: its status is "+last.Status+"; "+last.Fault.Message))
	}
	return nil
}
