package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/provider"
)

// Rehearse implements provider.Rehearser. A folder that is no storage pool yet, which the first build makes one, is
// looked into on this machine only.
func (p *Provider) Rehearse(ctx context.Context, order provider.Blueprint) error {
	ctx, s, err := p.open(ctx, "libvirt.rehearse", order.Ref)
	if err != nil {
		return err
	}
	defer s.end()
	uuid, err := parseID(order.ID)
	if err != nil {
		return s.invalid(err)
	}
	if err := checkOrder(order); err != nil {
		return s.invalid(err)
	}
	problems := []error{build{order: order, uuid: uuid}.free(s)}
	accel, err := p.domainType(s, order.Template.Accel)
	problems = append(problems, err)
	if order.Template.Image != "" {
		problems = append(problems, p.canBring(ctx, s, order))
	}
	plan := newBlueprint(order, uuid)
	plan.Type = accel
	text, err := plan.render(order.Template.XML, order.Mark)
	if err != nil {
		return errors.Join(append(problems, s.invalid(err))...)
	}
	return errors.Join(append(problems, s.seesNetworks(text))...)
}

// seesImage finds a base image without making its folder a storage pool.
func (s *session) seesImage(dir, image string) error {
	if !path.IsAbs(image) {
		image = path.Join(dir, image)
	}
	_, err := s.StoragePoolLookupByTargetPath(path.Dir(image))
	switch {
	case err == nil:
		_, err = s.image(dir, image)
		return err
	case !isCode(err, golibvirt.ErrNoStoragePool):
		return s.fault(err)
	case !s.host.addr.local():
		return nil // only a build lets the daemon look there
	}
	if _, err := os.Stat(image); err != nil {
		return s.invalid(fmt.Errorf("%w %s (%w)", errNoImage, image, err))
	}
	return nil
}

// seesNetworks finds the networks that a definition names, and whether they are active.
func (s *session) seesNetworks(definition string) error {
	var d struct {
		Interfaces []struct {
			Source struct {
				Network string `xml:"network,attr"`
			} `xml:"source"`
		} `xml:"devices>interface"`
	}
	if err := xml.Unmarshal([]byte(definition), &d); err != nil {
		return s.invalid(err)
	}
	var problems []error
	for _, i := range d.Interfaces {
		name := i.Source.Network
		if name == "" {
			continue
		}
		net, err := s.NetworkLookupByName(name)
		if isCode(err, golibvirt.ErrNoNetwork) {
			problems = append(problems, s.invalid(fmt.Errorf("there is no network %s", name)))
			continue
		}
		active := int32(0)
		if err == nil {
			active, err = s.NetworkIsActive(net)
		}
		switch {
		case err != nil:
			problems = append(problems, s.fault(err))
		case active == 0:
			problems = append(
				problems,
				s.invalid(fmt.Errorf("network %s is not active: virsh net-start %s", name, name)),
			)
		}
	}
	return errors.Join(problems...)
}
