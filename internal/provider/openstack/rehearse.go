package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// kindKeyPair is looked for only here: a build leaves it to Nova.
const kindKeyPair = "key pair"

// Rehearse implements provider.Rehearser: whatever the template names is found, by name or id, with the rights that
// hale has.
func (p *Provider) Rehearse(ctx context.Context, order provider.Blueprint) error {
	c, err := p.open(ctx, "openstack.rehearse", string(order.ID))
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.orderly(order); err != nil {
		return err
	}
	t := order.Template
	problems := []error{
		c.sees(kindImage, t.Image), c.sees(kindFlavor, t.Server.Flavor), c.sees(kindNetwork, t.Network),
		c.sees(kindServerGroup, t.Server.ServerGroup), c.sees(kindKeyPair, t.Server.KeyPair), c.vacant(order),
	}
	for _, name := range t.Server.Networks {
		problems = append(problems, c.sees(kindNetwork, name))
	}
	for _, name := range t.Server.SecurityGroups {
		problems = append(problems, c.sees(kindSecurityGroup, name))
	}
	_, err = c.external(t.Server)
	return errors.Join(append(problems, err)...)
}

// sees finds what the template names; an empty name is none.
func (c *call) sees(kind, name string) error {
	if name == "" {
		return nil
	}
	_, err := uuid.Parse(name)
	byID := err == nil
	if !byID && kind != kindKeyPair && kind != kindFlavor {
		_, err := c.resolve(kind, name)
		return err
	}
	if kind == kindFlavor && !byID {
		if name, err = c.resolve(kind, name); err != nil { // a word that is no flavor's name is an id
			return err
		}
	}
	service, where := c.compute, ""
	switch id := url.PathEscape(name); kind {
	case kindImage:
		service, where = c.image, c.image.ServiceURL("images", id)
	case kindNetwork:
		service, where = c.network, c.network.ServiceURL("networks", id)
	case kindSecurityGroup:
		service, where = c.network, c.network.ServiceURL("security-groups", id)
	case kindFlavor:
		where = c.compute.ServiceURL("flavors", id)
	case kindServerGroup:
		where = c.compute.ServiceURL("os-server-groups", id)
	case kindKeyPair:
		where = c.compute.ServiceURL("os-keypairs", id)
	}
	_, err = c.send(service, request{method: http.MethodGet, url: where, ok: []int{http.StatusOK}})
	if fault.Is(err, fault.NotFound) {
		return c.fault(fault.Invalid, fmt.Errorf("there is no %s %q", kind, name))
	}
	return err
}
