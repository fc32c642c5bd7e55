package openstack

import (
	"fmt"
	"net/url"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"

	"hale/internal/core/fault"
)

// What a template names.
const (
	kindImage         = "image"
	kindFlavor        = "flavor"
	kindNetwork       = "network"
	kindSecurityGroup = "security group"
	kindServerGroup   = "server group"
)

// resolve returns the id of what the template names; an id stands for itself. fault.Invalid: there is none, or several.
// It asks afresh for each order, since an image of the same name may be another one tomorrow.
func (c *call) resolve(kind, name string) (string, error) {
	if _, err := uuid.Parse(name); err == nil {
		return name, nil
	}
	ids, err := c.lookUp(kind, name)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", c.fault(fault.Invalid, fmt.Errorf("there is no %s %q", kind, name))
	case len(ids) > 1:
		return "", c.fault(fault.Invalid, fmt.Errorf("there are %d of %s %q: write its id", len(ids), kind, name))
	}
	return ids[0], nil
}

// item is anything with an id and a name.
type item struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (c *call) lookUp(kind, name string) ([]string, error) {
	query := "?" + url.Values{"name": {name}}.Encode()
	switch kind {
	case kindImage:
		return c.items(c.image, c.image.ServiceURL("images")+query+"&status=active", "images", name)
	case kindNetwork:
		return c.items(c.network, c.network.ServiceURL("networks")+query, "networks", name)
	case kindSecurityGroup:
		query += "&project_id=" + url.QueryEscape(c.project)
		return c.items(c.network, c.network.ServiceURL("security-groups")+query, "security_groups", name)
	case kindFlavor:
		ids, err := c.items(c.compute, c.compute.ServiceURL("flavors"), "flavors", name)
		if err == nil && len(ids) == 0 {
			return []string{name}, nil // a flavor's id can be any word
		}
		return ids, err
	case kindServerGroup:
		return c.items(c.compute, c.compute.ServiceURL("os-server-groups"), "server_groups", name)
	}
	return nil, c.fault(fault.Invalid, fmt.Errorf("nothing is called %s", kind))
}

// items returns the ids of those that have exactly the name.
func (c *call) items(service *gophercloud.ServiceClient, url, key, name string) ([]string, error) {
	list, err := listOf[item](c, service, url, key)
	if err != nil {
		return nil, c.listFault(err)
	}
	var ids []string
	for _, i := range list.all {
		if i.Name == name {
			ids = append(ids, i.ID)
		}
	}
	return ids, nil
}
