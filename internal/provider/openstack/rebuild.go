package openstack

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// Rebuild gives the server, which is off, a new disk from the image and starts it. Nova leaves a server that was off
// so, after a moment in which it calls it active: only off is the end.
func (p *Provider) Rebuild(ctx context.Context, order provider.Blueprint) error {
	c, s, err := p.openIdle(ctx, "openstack.rebuild", order.Ref)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.orderly(order); err != nil {
		return err
	}
	if err := c.rebuildable(s); err != nil {
		return err
	}
	image, err := c.resolve(kindImage, order.Template.Image)
	if err != nil {
		return err
	}
	return c.rebuild(s, image)
}

// rebuild has Nova put the image on the disk of the server, and starts it.
func (c *call) rebuild(s *server, image string) error {
	if err := c.act(s, "rebuild", map[string]any{"imageRef": image}); err != nil {
		return err
	}
	var last server
	err := c.await(s.ID, func(now *server) bool {
		last = *now
		return now.Task == "" && (now.Status == statusOff || now.Status == statusError)
	})
	switch {
	case err != nil:
		return err
	case last.Status == statusError:
		return c.fault(fault.Permanent, errRebuild)
	}
	return c.act(&last, "os-start", nil)
}
