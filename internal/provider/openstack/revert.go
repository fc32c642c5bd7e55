package openstack

import (
	"context"
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Revert implements provider.Reverter: Nova rebuilds the server from the image that is the copy.
func (p *Provider) Revert(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) error {
	c, s, err := p.openIdle(ctx, "openstack.revert", ref)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.rebuildable(s); err != nil {
		return err
	}
	found, _, err := c.copies(name)
	if err != nil {
		return err
	}
	i, whole := firstWhole(found)
	if !whole {
		return c.fault(fault.Invalid, fmt.Errorf("glance has no image %s that is whole", copyName(name)))
	}
	return c.rebuild(s, i.ID)
}
