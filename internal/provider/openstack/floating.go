package openstack

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// floating is an address of an external network. Its description names the machine that it belongs to, and it goes from
// server to server. hale binds it to the machine's port before it orders the server, so that Nova knows of it from the
// beginning.
type floating struct {
	made
	Address  string `json:"floating_ip_address"`
	Network  string `json:"floating_network_id"`
	Port     string `json:"port_id"`     // that it is bound to; empty: none
	Claim    string `json:"description"` // the machine that it belongs to
	Revision int    `json:"revision_number"`
}

// addressClaim is the description of the machine's floating addresses.
func addressClaim(m fleet.Mark) string {
	return fmt.Sprintf("hale address of %s of %s", m.Machine, m.Installation)
}

// floatings lists those of the project that are meant, the oldest first. A cloud without routers has none.
func (c *call) floatings(query url.Values) ([]floating, error) {
	query.Set("project_id", c.project)
	found, err := listOf[floating](c, c.network, c.network.ServiceURL("floatingips")+"?"+query.Encode(), "floatingips")
	if fault.Is(err, fault.NotFound) { // in Neutron's own words: there is no such thing here
		return nil, nil
	}
	slices.SortFunc(found.all, older[floating])
	return found.all, err
}

// ownFloatings are the machine's.
func (c *call) ownFloatings(m fleet.Mark) ([]floating, error) {
	found, err := c.floatings(url.Values{"description": {addressClaim(m)}})
	return slices.DeleteFunc(found, func(f floating) bool { return f.Claim != addressClaim(m) }), err
}

// external returns the network that the machine's floating address is of; empty: it has none.
func (c *call) external(t *policy.Server) (string, error) {
	if t.FloatingIP == "" {
		return "", nil
	}
	return c.resolve(kindNetwork, t.FloatingIP)
}

// giveAddress binds the machine's floating address to the order's port, and allocates one where the machine has none.
// What it had besides goes: after an answer that was lost, or when the template names another network, or none.
func (c *call) giveAddress(order provider.Blueprint, network string, p port) error {
	own, err := c.ownFloatings(order.Mark)
	if err != nil {
		return err
	}
	best := choose(own, network, p)
	if network != "" {
		if best < 0 {
			err = c.allocate(order, network, p)
		} else {
			err = c.bind(order, own[best], p)
		}
		if err != nil {
			return err
		}
	}
	for i, f := range own {
		if i == best {
			continue
		}
		if err := c.releaseAddress(f, order.Name, ""); err != nil {
			c.p.log.Warn("a floating address was not released; the machine's next create does it",
				"address", f.Address, "err", err)
		}
	}
	return nil
}

// choose returns which one goes on: one that is bound to the port already, else the oldest; -1: none.
func choose(own []floating, network string, p port) int {
	best := -1
	for i, f := range own {
		if f.Network == network && (best < 0 || f.Port == p.ID && own[best].Port != p.ID) {
			best = i
		}
	}
	return best
}

// allocate makes an address that is bound to the port at once, unless a person gave the port one of that network.
// Whatever becomes of a lost answer, the next create finds it by its description.
func (c *call) allocate(order provider.Blueprint, network string, p port) error {
	bound, err := c.floatings(url.Values{"port_id": {p.ID}})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(bound, func(f floating) bool { return f.Network == network && f.Port == p.ID }) {
		return nil
	}
	_, err = c.send(c.network, request{
		method: http.MethodPost, url: c.network.ServiceURL("floatingips"), ok: []int{http.StatusCreated},
		body: map[string]any{"floatingip": map[string]any{
			"floating_network_id": network,
			"port_id":             p.ID,
			"description":         addressClaim(order.Mark),
		}},
	})
	return c.floatingFault(err)
}

// bind lets the machine's address lead to the port, if it leads nowhere, or to a port of the machine that no server
// has. fault.Conflict: it leads elsewhere.
func (c *call) bind(order provider.Blueprint, f floating, p port) error {
	if f.Port == p.ID {
		return nil
	}
	free, err := c.leadsTo(f, order.Name, "")
	switch {
	case err != nil:
		return err
	case !free:
		return c.conflictf("the machine's floating address %s is bound to port %s, which is in use or not hale's",
			f.Address, f.Port)
	}
	_, err = c.send(c.network, request{
		method: http.MethodPut,
		url:    c.network.ServiceURL("floatingips", f.ID),
		ok:     []int{http.StatusOK},
		body:   map[string]any{"floatingip": map[string]any{"port_id": p.ID}},
		header: f.unchanged(),
	})
	return c.floatingFault(err)
}

// unchanged is the header of a request that holds only for the address as it was read.
func (f floating) unchanged() map[string]string { return port{Revision: f.Revision}.unchanged() }

// leadsTo reports whether the address leads nowhere, or to a port of the machine that only this server may have; empty:
// that no server has.
func (c *call) leadsTo(f floating, machine, server string) (bool, error) {
	if f.Port == "" {
		return true, nil
	}
	found, _, err := c.ports(url.Values{"id": {f.Port}})
	if err != nil || len(found) != 1 {
		return false, err
	}
	p := found[0]
	return p.ours() && p.Name == machine && (p.Device == "" || p.Device == server), nil
}

// floatingFault turns an unknown outcome into a transient error, since an address needs no observation. That the port
// cannot reach the address is a mistake in the template.
func (c *call) floatingFault(err error) error {
	if fault.Is(err, fault.NotFound) {
		return c.fault(fault.Invalid, err)
	}
	return c.portFault(err)
}

// releaseAddress gives an address of the machine back, unless a person has it lead to something else by now.
func (c *call) releaseAddress(f floating, machine, server string) error {
	own, err := c.leadsTo(f, machine, server)
	if err != nil {
		return err
	}
	if !own {
		c.p.log.Warn("a floating address of the machine leads to something else, and stays",
			"machine", machine, "address", f.Address, "port", f.Port)
		return nil
	}
	_, err = c.send(c.network, request{
		method: http.MethodDelete,
		url:    c.network.ServiceURL("floatingips", f.ID),
		ok:     []int{http.StatusNoContent},
		header: f.unchanged(),
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// giveUpAddresses releases the addresses of a machine that is given up for good. It does so before its server goes: as
// long as the server is there, the order is given again.
func (c *call) giveUpAddresses(ref provider.Ref, machine, server string) error {
	if !ref.ForGood {
		return nil
	}
	own, err := c.ownFloatings(ref.Mark)
	if err != nil {
		return err
	}
	for _, f := range own {
		if err := c.releaseAddress(f, machine, server); err != nil {
			return err
		}
	}
	return nil
}
