package openstack

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// What a server that was put aside remembers, in its metadata: the volumes that it gave up, and of its port, should
// that be gone by then, the network, the security groups, and the network of the machine's floating address.
const (
	keyShelfNetwork  = "hale_shelf_network"
	keyShelfFloating = "hale_shelf_floating"
	keyShelfVolume   = "hale_shelf_volume_" // and a number, from 0
	keyShelfGroup    = "hale_shelf_group_"
)

// shelved reports whether the server was put aside, or half of that was done: it lacks its port or its volumes, or may.
func (s *server) shelved() bool {
	return s.marked() && (s.Metadata[keyKept] == "true" || s.Metadata[keyShelfNetwork] != "" ||
		s.Metadata[keyShelfVolume+"0"] != "")
}

// whole refuses to let a server run that was put aside.
func (c *call) whole(s *server) error {
	switch {
	case !s.shelved():
		return nil
	case s.Metadata[keyKept] == "true":
		return c.conflictf("it was put aside")
	}
	return c.conflictf("half of it was put aside: its port and its volumes are given back first")
}

// numbered are the texts under the key's numbers.
func (s *server) numbered(key string) []string {
	var out []string
	for n := 0; s.Metadata[key+strconv.Itoa(n)] != ""; n++ {
		out = append(out, s.Metadata[key+strconv.Itoa(n)])
	}
	return out
}

// number puts the texts under the key's numbers, and nothing under those beyond.
func number(metadata map[string]string, key string, texts []string, had int) {
	for n := range max(len(texts), had) {
		metadata[key+strconv.Itoa(n)] = ""
		if n < len(texts) {
			metadata[key+strconv.Itoa(n)] = texts[n]
		}
	}
}

// Keep implements provider.Keeper. The machine's port is free then, with its addresses, for the server that takes this
// one's place. What it gives up is written down first, and the mark is set last: until then the same call goes on where
// an earlier one ended, Restore takes it back, and nothing lets the server run.
func (p *Provider) Keep(ctx context.Context, ref provider.Ref, name string) error {
	return p.putAside(ctx, "openstack.keep", ref, true, func(c *call, s *server) error {
		bound, volumes, err := c.machines(s, ref.Mark)
		if err != nil {
			return err
		}
		if err := c.remember(s, ref.Mark, bound, volumes); err != nil {
			return err
		}
		if err := c.rename(s, fmt.Sprintf("%s-kept-g%d", name, ref.Mark.Generation)); err != nil {
			return c.half(err)
		}
		for _, v := range volumes {
			if err := c.takeVolume(s, v); err != nil {
				return err
			}
		}
		for _, b := range bound {
			if err := c.takePort(s, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// Restore implements provider.Keeper. The machine's port is claimed first, as for a new server: it is what decides who
// has the machine. A server of which half was put aside is made whole, too.
func (p *Provider) Restore(ctx context.Context, ref provider.Ref, name string) error {
	return p.putAside(ctx, "openstack.restore", ref, false, func(c *call, s *server) error {
		if err := c.reclaim(s, ref, name); err != nil {
			return err
		}
		for _, id := range s.numbered(keyShelfVolume) {
			if err := c.giveVolume(s, id); err != nil {
				return err
			}
		}
		if err := c.rename(s, name); err != nil {
			return c.half(err)
		}
		return c.forgetShelf(s)
	})
}

// putAside does what it takes to a server that is off and bears the mark, and then writes whether it is kept.
func (p *Provider) putAside(ctx context.Context, op string, ref provider.Ref, kept bool,
	change func(*call, *server) error) error {
	c, s, err := p.openIdle(ctx, op, ref)
	if err != nil {
		return err
	}
	defer c.end()
	switch {
	case ref.Adopted:
		return c.conflictf("an adopted instance carries no mark")
	case kept && s.Metadata[keyKept] == "true", !kept && !s.shelved():
		return nil
	case s.Status != statusOff:
		return c.conflictf("its status is %s", s.Status)
	}
	if err := change(c, s); err != nil {
		return c.ofTheServer(s, err)
	}
	return c.half(c.write(s, map[string]string{keyKept: strconv.FormatBool(kept)}))
}

// ofTheServer: that there is no such port, volume or group says nothing of the server. fault.Invalid: it lacks one of
// them for good. fault.NotFound: the server itself is gone.
func (c *call) ofTheServer(s *server, err error) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	if _, unseen := c.server(s.ID); unseen != nil {
		return c.half(unseen)
	}
	return c.fault(fault.Invalid, err)
}

// half says of an error in the middle of a call that changed something already that the rest is not known.
func (c *call) half(err error) error {
	if fault.Is(err, fault.Transient) || fault.Is(err, fault.Throttled) {
		return c.fault(fault.UnknownOutcome, err)
	}
	return err
}

// rename gives the server the name.
func (c *call) rename(s *server, name string) error {
	if s.Name == name {
		return nil
	}
	_, err := c.send(c.compute, request{
		method: http.MethodPut,
		url:    c.compute.ServiceURL("servers", s.ID),
		body:   map[string]any{"server": map[string]any{"name": name}},
		ok:     []int{http.StatusOK},
	})
	return err
}

// machines are the ports and the volumes that the server has, and that are the machine's.
func (c *call) machines(s *server, m fleet.Mark) (bound []port, volumes []volume, err error) {
	bound, _, err = c.ports(url.Values{"device_id": {s.ID}})
	bound = slices.DeleteFunc(bound, func(p port) bool { return !p.ours() || p.Device != s.ID })
	for _, v := range s.Volumes {
		if err != nil || v.Goes {
			continue
		}
		var has volume
		if has, err = c.volume(v.ID); err == nil && has.Metadata[keyDisk] != "" &&
			has.Metadata[keyInstallation] == string(m.Installation) && has.Metadata[keyMachine] == string(m.Machine) {
			volumes = append(volumes, has)
		}
	}
	return bound, volumes, c.half(err)
}

// remember writes down what the server is about to give up, beside what it gave up already.
func (c *call) remember(s *server, m fleet.Mark, bound []port, volumes []volume) error {
	addresses, err := c.ownFloatings(m)
	if err != nil {
		return c.half(err)
	}
	metadata := map[string]string{}
	had := s.numbered(keyShelfVolume)
	ids := slices.Clone(had)
	for _, v := range volumes {
		if !slices.Contains(ids, v.ID) {
			ids = append(ids, v.ID)
		}
	}
	number(metadata, keyShelfVolume, ids, len(had))
	for _, b := range bound {
		metadata[keyShelfNetwork], metadata[keyShelfFloating] = b.Network, ""
		for _, f := range addresses {
			if f.Port == b.ID {
				metadata[keyShelfFloating] = f.Network
			}
		}
		number(metadata, keyShelfGroup, b.Groups, len(s.numbered(keyShelfGroup)))
	}
	return c.shelve(s, metadata)
}

// forgetShelf clears what the server remembers: it has all of it again.
func (c *call) forgetShelf(s *server) error {
	metadata := map[string]string{keyShelfNetwork: "", keyShelfFloating: ""}
	number(metadata, keyShelfVolume, nil, len(s.numbered(keyShelfVolume)))
	number(metadata, keyShelfGroup, nil, len(s.numbered(keyShelfGroup)))
	return c.shelve(s, metadata)
}

// shelve writes what is not written yet.
func (c *call) shelve(s *server, metadata map[string]string) error {
	maps.DeleteFunc(metadata, func(key, text string) bool { return s.Metadata[key] == text })
	if len(metadata) == 0 {
		return nil
	}
	return c.half(c.write(s, metadata))
}

// takeVolume detaches a volume from the server, which is off, and waits until it is free.
func (c *call) takeVolume(s *server, v volume) error {
	_, err := c.send(c.compute, request{
		method: http.MethodDelete,
		url:    c.compute.ServiceURL("servers", s.ID, "os-volume_attachments", v.ID),
		ok:     []int{http.StatusAccepted, http.StatusNoContent, http.StatusNotFound},
	})
	if err != nil {
		return c.half(err)
	}
	return c.awaitVolumeOf(v.ID, "")
}

// awaitVolumeOf waits until the volume is attached to the server; empty: to none.
func (c *call) awaitVolumeOf(id, server string) error {
	for {
		began := time.Now()
		v, err := c.volume(id)
		switch {
		case err == nil && server == "" && v.Status == volumeAvailable, err == nil && server != "" && v.on(server):
			return nil
		case err == nil && strings.HasPrefix(v.Status, volumeError):
			return c.fault(fault.Permanent, fmt.Errorf("volume %s has status %s: look at it in Cinder", id, v.Status))
		case err != nil && !fault.Is(err, fault.Transient):
			return err
		}
		if c.wait(lookAgain(time.Since(began))) != nil {
			return c.fault(fault.UnknownOutcome, fmt.Errorf("volume %s is still %s", id, v.Status))
		}
	}
}

// on reports whether the server has the volume.
func (v *volume) on(server string) bool {
	for _, a := range v.Attachments {
		if a.Server == server && v.Status == volumeInUse {
			return true
		}
	}
	return false
}

// takePort detaches the machine's port from the server, and waits until it is free. It stays for the machine's next
// server, whatever the template says; without keep_port it goes with this one, if none takes it.
func (c *call) takePort(s *server, p port) error {
	_, err := c.send(c.compute, request{
		method: http.MethodDelete,
		url:    c.compute.ServiceURL("servers", s.ID, "os-interface", p.ID),
		ok:     []int{http.StatusAccepted, http.StatusNoContent},
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return c.half(err)
	}
	for {
		began := time.Now()
		found, _, err := c.ports(url.Values{"id": {p.ID}})
		switch {
		case err == nil && len(found) == 0:
			return nil // somebody removed it
		case err == nil && found[0].Device == "":
			return c.setFree(s, found[0])
		case err != nil && !fault.Is(err, fault.Transient):
			return err
		}
		if c.wait(lookAgain(time.Since(began))) != nil {
			return c.fault(fault.UnknownOutcome, fmt.Errorf("port %s is still bound to the server", p.ID))
		}
	}
}

// setFree writes on the port, which is to outlive the server, that it is for the machine's next one.
func (c *call) setFree(s *server, p port) error {
	if s.Metadata[keyKeepPort] != "true" {
		return nil
	}
	if err := c.inscribe(p, free, p.unchanged()); !fault.Is(err, fault.NotFound) {
		return c.half(err)
	}
	return nil // somebody removed it
}

// reclaim gives the machine's port back to the server, and the machine's floating address to the port, where the server
// was reached by one.
func (c *call) reclaim(s *server, ref provider.Ref, name string) error {
	bound, _, err := c.machines(s, ref.Mark)
	if err != nil {
		return err
	}
	order := provider.Blueprint{Ref: ref, Name: name, Template: policy.Template{
		Server: &policy.Server{SecurityGroups: s.numbered(keyShelfGroup)},
	}}
	if len(bound) > 0 && s.Metadata[keyKept] == "true" {
		return c.half(c.readdress(s, order, bound[0]))
	}
	for _, b := range bound { // an order to take it may be under way, which nothing shows: so that has an end first
		if err := c.takePort(s, b); err != nil {
			return err
		}
	}
	claimed, err := c.claim(order, s.Metadata[keyShelfNetwork])
	if err != nil {
		return c.half(err)
	}
	same, err := c.named(name)
	if err == nil && len(same) > 0 && same[0].ID != s.ID {
		err = c.conflictf("server %s has the name", same[0].ID)
	}
	if err == nil {
		err = c.readdress(s, order, claimed)
	}
	if err != nil {
		c.afterwards(func(c *call) { c.relinquish(claimed) })
		return c.half(err)
	}
	_, err = c.send(c.compute, request{
		method: http.MethodPost,
		url:    c.compute.ServiceURL("servers", s.ID, "os-interface"),
		body:   map[string]any{"interfaceAttachment": map[string]any{"port_id": claimed.ID}},
		ok:     []int{http.StatusOK, http.StatusAccepted},
	})
	if err != nil {
		return c.half(err)
	}
	return c.half(c.inscribe(claimed, usedPrefix+string(ref.ID), nil))
}

// readdress binds the machine's floating address to the port, where the server was reached by one.
func (c *call) readdress(s *server, order provider.Blueprint, p port) error {
	if network := s.Metadata[keyShelfFloating]; network != "" {
		return c.giveAddress(order, network, p)
	}
	return nil
}

// giveVolume attaches the volume to the server, unless it has it. fault.Conflict: another one has it.
func (c *call) giveVolume(s *server, id string) error {
	v, err := c.volume(id)
	switch {
	case fault.Is(err, fault.NotFound):
		return c.fault(fault.Invalid, fmt.Errorf("its volume %s is not there any more", id))
	case err != nil:
		return c.half(err)
	case v.on(s.ID):
		return nil
	case len(v.Attachments) > 0 && v.Attachments[0].Server != s.ID:
		return c.conflictf("its volume %s is attached to server %s", id, v.Attachments[0].Server)
	}
	if v.Status == volumeDetaching { // an order to take it is under way
		if err := c.awaitVolumeOf(id, ""); err != nil {
			return err
		}
		v.Status = volumeAvailable
	}
	if v.Status == volumeAvailable {
		_, err = c.send(c.compute, request{
			method: http.MethodPost,
			url:    c.compute.ServiceURL("servers", s.ID, "os-volume_attachments"),
			body:   map[string]any{"volumeAttachment": map[string]any{"volumeId": id}},
			ok:     []int{http.StatusOK, http.StatusAccepted},
		})
		if err != nil {
			return c.half(err)
		}
	}
	return c.awaitVolumeOf(id, s.ID)
}
