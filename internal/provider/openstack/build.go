package openstack

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Create orders a server. Nova builds it after the answer; whether it comes to run, or why not, is seen in its status.
func (p *Provider) Create(ctx context.Context, order provider.Blueprint) error {
	c, err := p.open(ctx, "openstack.create", string(order.ID))
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.orderly(order); err != nil {
		return err
	}
	wanted, network, err := c.plan(order)
	if err != nil {
		return err
	}
	external, err := c.external(order.Template.Server)
	if err != nil {
		return err
	}
	claimed, err := c.claim(order, network)
	if err != nil {
		return err
	}
	var kept []keptDisk
	if err = c.vacant(order); err == nil {
		kept, err = c.keptDisks(order)
	}
	if err == nil {
		err = c.giveAddress(order, external, claimed)
	}
	if err == nil {
		err = c.build(order, wanted, claimed, kept)
	}
	switch {
	case err == nil:
		c.settleVolumes(kept)
		if err := c.inscribe(claimed, usedPrefix+string(order.ID), nil); err != nil {
			c.p.log.Warn("a port's claim was not settled; until it is old, no other order takes the port over",
				"port", claimed.ID, "err", err)
		}
	case !fault.Is(err, fault.UnknownOutcome):
		c.afterwards(func(c *call) { c.dropFresh(kept) })
		c.afterwards(func(c *call) { c.relinquish(claimed) })
	}
	return err
}

// orderly refuses what this adapter cannot build.
func (c *call) orderly(order provider.Blueprint) error {
	if err := c.p.refersTo(c.op, order.Ref); err != nil {
		return err
	}
	if err := c.parseID(order.ID); err != nil {
		return err
	}
	if order.Template.Server == nil {
		return c.fault(fault.Invalid, errors.New("the template lacks server"))
	}
	return nil
}

// plan makes the request for the server, but for its port, and returns the network of that.
func (c *call) plan(order provider.Blueprint) (wanted map[string]any, network string, err error) {
	t := order.Template
	image, err := c.resolve(kindImage, t.Image)
	if err != nil {
		return nil, "", err
	}
	flavor, err := c.resolve(kindFlavor, t.Server.Flavor)
	if err != nil {
		return nil, "", err
	}
	if network, err = c.resolve(kindNetwork, t.Network); err != nil {
		return nil, "", err
	}
	metadata := maps.Collect(t.Metadata.All())
	maps.Copy(metadata, encodeMark(order.Mark))
	metadata[keyID], metadata[keyNetwork], metadata[keyFlavor] = string(order.ID), t.Network, t.Server.Flavor
	if t.Server.KeepPort {
		metadata[keyKeepPort] = "true"
	}
	wanted = map[string]any{
		"name": order.Name, "imageRef": image, "flavorRef": flavor, "min_count": 1, "max_count": 1,
		"metadata": metadata, "tags": append([]string{tagPrefix + string(order.ID)}, t.Tags.All()...),
	}
	if t.UserData != "" {
		wanted["user_data"] = base64.StdEncoding.EncodeToString([]byte(t.UserData))
	}
	if t.Server.ConfigDrive {
		wanted["config_drive"] = true
	}
	if t.Server.KeyPair != "" {
		wanted["key_name"] = t.Server.KeyPair
	}
	if t.Server.Zone != "" {
		wanted["availability_zone"] = t.Server.Zone
	}
	return wanted, network, nil
}

// vacant refuses the order when its name or its id is taken. Create calls it after it claimed the port, so that it sees
// a server that had the port before.
func (c *call) vacant(order provider.Blueprint) error {
	same, err := c.named(order.Name)
	if err != nil {
		return err
	}
	if len(same) > 0 {
		return c.conflictf("server %s has the name already", same[0].ID)
	}
	found, _, err := c.servers(url.Values{"tags": {tagPrefix + string(order.ID)}})
	if err != nil {
		return err
	}
	for _, s := range found {
		if !s.gone() {
			return c.conflictf("server %s has the id already", s.ID)
		}
	}
	return nil
}

// build asks Nova for the server with the claimed port and the machine's kept disks.
func (c *call) build(order provider.Blueprint, wanted map[string]any, claimed port, kept []keptDisk) error {
	if err := c.onVolumes(wanted, &order.Template, kept); err != nil {
		return err
	}
	nets := []map[string]any{{"port": claimed.ID}}
	for _, name := range order.Template.Server.Networks {
		id, err := c.resolve(kindNetwork, name)
		if err != nil {
			return err
		}
		nets = append(nets, map[string]any{"uuid": id})
	}
	wanted["networks"] = nets
	body := map[string]any{"server": wanted}
	if name := order.Template.Server.ServerGroup; name != "" {
		group, err := c.resolve(kindServerGroup, name)
		if err != nil {
			return err
		}
		body["os:scheduler_hints"] = map[string]any{"group": group}
	}
	var got struct {
		Server item `json:"server"`
	}
	_, err := c.send(c.compute, request{
		method: http.MethodPost,
		url:    c.compute.ServiceURL("servers"),
		body:   body,
		into:   &got,
		ok:     []int{http.StatusOK, http.StatusAccepted},
	})
	if err == nil && got.Server.ID != "" {
		c.p.learn(map[fleet.InstanceID]string{order.ID: got.Server.ID})
	}
	return err
}

// Delete removes a server that is off, and its port unless that is the machine's. It returns when the server is gone
// from Nova.
func (p *Provider) Delete(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.openMarked(ctx, "openstack.delete", ref)
	if fault.Is(err, fault.NotFound) {
		return p.deleted(ctx, ref)
	}
	if err != nil {
		return err
	}
	defer c.end()
	if power := s.power(); power != fleet.PowerOff && power != fleet.PowerError {
		return c.conflictf("its status is %s", s.Status)
	}
	if err := c.storageAnswers(s); err != nil {
		return err
	}
	bound, _, err := c.ports(url.Values{"device_id": {s.ID}})
	if err != nil {
		return err
	}
	if err := c.giveUpAddresses(ref, s.Name, s.ID); err != nil {
		return err
	}
	if err := c.destroy(s); err != nil {
		return err
	}
	if err := c.awaitGone(s); err != nil {
		if fault.Is(err, fault.Permanent) {
			c.afterwards(func(c *call) { c.abandon(s) })
		}
		return err
	}
	if s.shelved() { // its port stayed for another server, which may never have come
		c.sweep(ref.ID)
	}
	for _, b := range bound {
		switch {
		case !b.ours():
		case s.Metadata[keyKeepPort] == "true":
			c.release(b, free)
		default:
			c.release(b, "")
		}
	}
	return nil
}

// awaitGone waits for the end that was asked for, where the cloud only sets aside what is deleted by a second call.
// fault.Permanent: Nova gave up, as it does when the hypervisor fails.
func (c *call) awaitGone(s *server) error {
	for {
		var last server
		err := c.await(s.ID, func(now *server) bool {
			last = *now
			return now.Task == ""
		})
		switch {
		case fault.Is(err, fault.NotFound):
			return nil
		case err != nil:
			return err
		case last.Status != statusSoftDeleted || s.Status == statusSoftDeleted:
			return c.fault(fault.Permanent,
				fmt.Errorf("%w: its status is %s; %s", errDelete, last.Status, last.Fault.Message))
		}
		if s = &last; c.destroy(s) != nil {
			return c.fault(fault.UnknownOutcome, errors.New("nova soft-deleted it, and did not remove it"))
		}
	}
}

// deleted: there is no such server, so only a port can be left of it, and what the machine has of its own.
func (p *Provider) deleted(ctx context.Context, ref provider.Ref) error {
	c, err := p.open(ctx, "openstack.delete", string(ref.ID))
	if err != nil {
		return err
	}
	defer c.end()
	c.sweep(ref.ID)
	return c.giveUpAddresses(ref, string(ref.Mark.Machine), "")
}

// destroy asks for the end. Where the cloud only sets aside what is deleted, it is asked for at once.
func (c *call) destroy(s *server) error {
	if s.Status == statusSoftDeleted {
		return c.act(s, "forceDelete", nil)
	}
	_, err := c.send(c.compute, request{
		method: http.MethodDelete,
		url:    c.compute.ServiceURL("servers", s.ID),
		ok:     []int{http.StatusNoContent, http.StatusAccepted, http.StatusNotFound},
	})
	return err
}

// Certify writes the mark's flag.
func (p *Provider) Certify(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.openMarked(ctx, "openstack.certify", ref)
	if err != nil {
		return err
	}
	defer c.end()
	if ref.Adopted {
		return c.conflictf("an adopted instance carries no mark")
	}
	if s.Metadata[keyCertified] == "true" && s.Metadata[keyServer] != "" {
		return nil
	}
	signs := map[string]string{keyCertified: "true", keyServer: s.ID}
	if word := s.Metadata[keyFlavor]; word != "" {
		maps.Copy(signs, s.named(word))
	}
	return c.write(s, signs)
}

// write changes metadata of the server, and leaves what it does not name.
func (c *call) write(s *server, metadata map[string]string) error {
	_, err := c.send(c.compute, request{
		method: http.MethodPost,
		url:    c.compute.ServiceURL("servers", s.ID, "metadata"),
		body:   map[string]any{"metadata": metadata},
		ok:     []int{http.StatusOK},
	})
	return err
}
