package vsphere

import (
	"context"

	"hale/internal/provider"
)

// Rehearse implements provider.Rehearser: the template, folder, datastore, networks and disks are found, and nothing is
// cloned.
func (p *Provider) Rehearse(ctx context.Context, order provider.Blueprint) error {
	ctx, c, err := p.open(ctx, "vsphere.rehearse", order.ID)
	if err != nil {
		return err
	}
	defer c.end()
	_, err = c.prepare(ctx, order)
	return err
}
