package openstack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// port is the first interface of a machine. It is made before the server, under a hardware address that follows from
// the machine's name: Neutron gives out an address once in a network. So Neutron decides which order may build the
// machine. See DESIGN.md.
type port struct {
	made
	Name     string   `json:"name"`
	Network  string   `json:"network_id"`
	Groups   []string `json:"security_groups"`
	Device   string   `json:"device_id"`   // the server that it is bound to; empty: none
	Claim    string   `json:"description"` // the order that it is for
	Revision int      `json:"revision_number"`
	Updated  string   `json:"updated_at"`
	fresh    bool     // made for the order, so that it goes if nothing comes of it
	regroups bool     // it has other security groups for the order, and gets these back if nothing comes of it
}

const (
	claimPrefix = "hale order "    // not answered yet
	usedPrefix  = "hale instance " // Nova has taken the order: from now on the server itself is seen
	free        = "hale, kept for the machine"

	// supersedeAfter is the age, by Neutron's clock, of a claim that another order may take over. The engine orders
	// again only when it saw no server of the earlier order. A server that this one makes later meets a bound port.
	supersedeAfter = 20 * time.Second

	// settle is how long the ports of other orders may take to be shown in a list, where there is no arbiter.
	settle = 3 * time.Second
)

// hardwareAddress follows from the project and the machine's name, in the range that Neutron itself draws from by
// default.
func hardwareAddress(project, name string) net.HardwareAddr {
	h := sha256.Sum256([]byte(project + "/" + name))
	return net.HardwareAddr{0xfa, 0x16, 0x3e, h[0], h[1], h[2]}
}

// claim returns the port of the order's machine, which is the order's alone. fault.Conflict: another order's, or a
// server's already.
func (c *call) claim(order provider.Blueprint, network string) (port, error) {
	mac := hardwareAddress(c.project, order.Name).String()
	wanted := map[string]any{
		"name": order.Name, "network_id": network, keyClaim: claimPrefix + string(order.ID), "mac_address": mac,
	}
	if err := c.dress(wanted, order.Template.Server); err != nil {
		return port{}, err
	}
	made, err := c.makePort(order, wanted)
	switch {
	case err == nil:
		return made, nil
	case fault.Is(err, fault.Conflict): // the hardware address is in use
		return c.takeOver(order, url.Values{"network_id": {network}, "mac_address": {mac}}, wanted)
	case fault.Is(err, fault.Unauthorised): // only its owner chooses hardware addresses in a network
		delete(wanted, "mac_address")
		return c.claimByName(order, network, wanted)
	}
	return port{}, err
}

// keyGroups is Neutron's word for the security groups of a port.
const keyGroups = "security_groups"

// dress adds what the template says of the first interface.
func (c *call) dress(wanted map[string]any, t *policy.Server) error {
	if len(t.SecurityGroups) > 0 {
		var ids []string
		for _, name := range t.SecurityGroups {
			id, err := c.resolve(kindSecurityGroup, name)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		wanted[keyGroups] = ids
	}
	return nil
}

// makePort makes a port for the order. A port alone is no instance. makePort looks for one that a lost answer may have
// made, and removes it; if it stays, the next order takes it.
func (c *call) makePort(order provider.Blueprint, wanted map[string]any) (port, error) {
	var got struct {
		Port port `json:"port"`
	}
	_, err := c.send(c.network, request{
		method: http.MethodPost,
		url:    c.network.ServiceURL("ports"),
		body:   map[string]any{"port": wanted},
		into:   &got,
		ok:     []int{http.StatusCreated},
	})
	if err == nil && got.Port.ID == "" {
		err = c.fault(fault.UnknownOutcome, errors.New("neutron names no port"))
	}
	if fault.Is(err, fault.UnknownOutcome) {
		c.afterwards(func(c *call) { c.sweep(order.ID) })
	}
	got.Port.fresh = true
	return got.Port, c.portFault(err)
}

// portFault: what may have become of a port is nothing that must be observed, and that it is not there says nothing of
// an instance.
func (c *call) portFault(err error) error {
	if fault.Is(err, fault.UnknownOutcome) || fault.Is(err, fault.NotFound) {
		return c.fault(fault.Transient, err)
	}
	return err
}

// ours reports whether hale made the port.
func (p port) ours() bool { return strings.HasPrefix(p.Claim, "hale ") || p.Claim == free }

// ports lists those of the project that are meant, with Neutron's time.
func (c *call) ports(query url.Values) ([]port, time.Time, error) {
	query.Set("project_id", c.project)
	found, err := listOf[port](c, c.network, c.network.ServiceURL("ports")+"?"+query.Encode(), "ports")
	if err != nil {
		return nil, time.Time{}, c.listFault(err)
	}
	return found.all, dateOf(found.header), nil
}

// takeOver claims a port that is there already: one that is kept for the machine, or that a failed order left. In place
// of the port of a server that was given up it makes a new one.
func (c *call) takeOver(order provider.Blueprint, query url.Values, wanted map[string]any) (port, error) {
	found, now, err := c.ports(query)
	switch {
	case err != nil:
		return port{}, err
	case len(found) == 0:
		return port{}, c.fault(fault.Transient,
			errors.New("its port is taken but hidden: it may be another project's, or be just removed"))
	}
	p := found[0]
	if vacated, err := c.vacate(order, p); vacated || err != nil {
		if err != nil {
			return port{}, err
		}
		return c.makePort(order, wanted)
	}
	if err := c.claimable(order, p, now); err != nil {
		return port{}, err
	}
	return c.compareAndClaim(order, p, wanted)
}

// claimable refuses a port that is in use, or that another order has just claimed.
func (c *call) claimable(order provider.Blueprint, p port, now time.Time) error {
	if p.Device != "" {
		return c.conflictf("the machine's port %s is in use by server %s", p.ID, p.Device)
	}
	if !strings.HasPrefix(p.Claim, claimPrefix) || p.Claim == claimPrefix+string(order.ID) {
		return nil
	}
	claimed, err := time.Parse(time.RFC3339, p.Updated)
	if err != nil || now.Sub(claimed) < supersedeAfter {
		return c.conflictf("another create of the machine is under way: %s", p.Claim)
	}
	return nil
}

// compareAndClaim writes the order's claim, and the security groups that are wanted by now, unless the port changed
// since it was read. Where none are wanted, it keeps those that it has.
func (c *call) compareAndClaim(order provider.Blueprint, p port, wanted map[string]any) (port, error) {
	change := map[string]any{keyClaim: claimPrefix + string(order.ID)}
	if groups, told := wanted[keyGroups].([]string); told && !sameWords(groups, p.Groups) {
		change[keyGroups], p.regroups = groups, true
	}
	return p, c.portFault(c.changePort(p, change, p.unchanged()))
}

// sameWords compares two lists, whatever their order.
func sameWords(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// unchanged is the header of a request that holds only for the port as it was read.
func (p port) unchanged() map[string]string {
	return map[string]string{"If-Match": fmt.Sprintf("revision_number=%d", p.Revision)}
}

// keyClaim is where a port names its owner.
const keyClaim = "description"

// inscribe writes the port's owner into its description.
func (c *call) inscribe(p port, words string, header map[string]string) error {
	return c.changePort(p, map[string]any{keyClaim: words}, header)
}

func (c *call) changePort(p port, change map[string]any, header map[string]string) error {
	_, err := c.send(c.network, request{
		method: http.MethodPut,
		url:    c.network.ServiceURL("ports", p.ID),
		body:   map[string]any{"port": change},
		ok:     []int{http.StatusOK},
		header: header,
	})
	return err
}

// claimByName is for networks of another project, where no property of a port is unique. After a wait in which all
// ports show, the order with the oldest port has the machine.
func (c *call) claimByName(order provider.Blueprint, network string, wanted map[string]any) (port, error) {
	query := url.Values{"network_id": {network}, "name": {order.Name}}
	found, now, err := c.ports(query)
	if err != nil {
		return port{}, err
	}
	if len(found) > 0 {
		oldest := slices.MinFunc(found, older[port])
		vacated, err := c.vacate(order, oldest)
		if err == nil && !vacated {
			err = c.claimable(order, oldest, now)
		}
		if err != nil {
			return port{}, err
		}
		if !vacated {
			return c.compareAndClaim(order, oldest, wanted)
		}
	}
	made, err := c.makePort(order, wanted)
	if err != nil {
		return port{}, err
	}
	if err = c.wait(settle); err == nil {
		found, _, err = c.ports(query)
	}
	if err == nil && len(found) > 0 && slices.MinFunc(found, older[port]).ID == made.ID {
		return made, nil
	}
	c.afterwards(func(c *call) { c.release(made, "") })
	if err != nil {
		return port{}, err
	}
	return port{}, c.conflictf("another create of the machine was first")
}

// wait does nothing for a while, unless the call ends.
func (c *call) wait(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.Done():
		return c.fault(fault.Transient, c.Err())
	}
}

// relinquish undoes the claim of a failed order. A port that was there before gets its former description and security
// groups back, since it may be another order's.
func (c *call) relinquish(p port) {
	switch {
	case p.fresh:
		c.release(p, "")
	case p.regroups:
		c.unreleased(p, c.changePort(p, map[string]any{keyClaim: p.Claim, keyGroups: p.Groups}, nil))
	default:
		c.release(p, p.Claim)
	}
}

// release gives a port up that no server has: it is deleted, or stays with these words.
func (c *call) release(p port, words string) {
	var err error
	if words != "" {
		err = c.inscribe(p, words, nil)
	} else {
		_, err = c.send(c.network, request{
			method: http.MethodDelete,
			url:    c.network.ServiceURL("ports", p.ID),
			ok:     []int{http.StatusNoContent},
		})
	}
	c.unreleased(p, err)
}

// unreleased says that a port was not given up.
func (c *call) unreleased(p port, err error) {
	if err != nil && !fault.Is(err, fault.NotFound) {
		c.p.log.Warn("hale could not release a port; the machine's next instance takes it", "port", p.ID, "err", err)
	}
}

// sweep gives up what ports there are of an instance that is not there.
func (c *call) sweep(id fleet.InstanceID) {
	for _, words := range []string{claimPrefix, usedPrefix} {
		left, _, err := c.ports(url.Values{"description": {words + string(id)}})
		if err != nil {
			c.p.log.Warn("hale cannot see whether an instance left a port", "instance", id, "err", err)
			return
		}
		for _, p := range left {
			if p.Device == "" {
				c.release(p, "")
			}
		}
	}
}

// cleanLimit bounds what is put in order after a call.
const cleanLimit = 10 * time.Second

// afterwards does what must be done although the call's time may be over.
func (c *call) afterwards(do func(*call)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context), cleanLimit)
	defer cancel()
	after := *c
	after.Context = ctx
	do(&after)
}
