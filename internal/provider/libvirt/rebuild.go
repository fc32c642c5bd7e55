package libvirt

import (
	"context"
	"fmt"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/provider"
)

// Rebuild puts a fresh overlay of the template's image in the place of the domain's own and starts the domain. Its
// definition, and with it UUID, MAC and mark, stays: so it comes back at its address. A template without an image has
// nothing to put there.
func (p *Provider) Rebuild(ctx context.Context, order provider.Blueprint) error {
	ctx, s, err := p.open(ctx, "libvirt.rebuild", order.Ref)
	if err != nil {
		return err
	}
	defer s.end()
	if disk, kept := order.Template.DiskLost(); kept {
		return s.invalid(fmt.Errorf("disk %q is to be kept", disk))
	}
	dom, err := s.marked(order.Ref, p.installation)
	if err != nil {
		return err
	}
	if err := s.mustBeOff(dom); err != nil {
		return err
	}
	if err := s.whole(dom); err != nil {
		return err
	}
	if err := p.alone(ctx, claim{op: s.op, ref: order.Ref}); err != nil {
		return err
	}
	if order.Template.Image != "" {
		order.ID = idOf(dom.UUID)
		if err := p.renewOverlay(ctx, s, order); err != nil {
			return err
		}
	}
	return s.stayedOff(dom, s.boot(dom))
}

// renewOverlay makes the instance's overlay anew. The image is found before anything is lost.
func (p *Provider) renewOverlay(ctx context.Context, s *session, order provider.Blueprint) error {
	pool, err := s.poolAt(p.stateDir)
	if err != nil {
		return err
	}
	base, err := p.baseImage(ctx, s, order.Template.Image)
	if err != nil {
		return err
	}
	name := fileName(order, overlaySuffix)
	old, err := s.StorageVolLookupByName(pool, name)
	switch {
	case err == nil:
		err = s.order(func() error { return s.StorageVolDelete(old, 0) })
		if err != nil && !isCode(err, golibvirt.ErrNoStorageVol) {
			return err
		}
	case !isCode(err, golibvirt.ErrNoStorageVol):
		return s.fault(err)
	}
	return s.createOverlay(pool, name, base)
}
