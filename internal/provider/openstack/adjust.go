package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// flavor is what Nova tells of one, as far as hale reads it.
type flavor struct {
	Name      string `json:"original_name"` // as it was when the server was given it
	CPUs      int    `json:"vcpus"`
	Memory    uint64 `json:"ram"`       // MiB
	Ephemeral int    `json:"ephemeral"` // GiB of a disk that comes from no image
}

// same reports whether a server with the one has what it would have with the other.
func (f flavor) same(o flavor) bool {
	return f.Name == o.Name && f.CPUs == o.CPUs && f.Memory == o.Memory
}

// size is what the server has. Nova tells a flavor's name, where a template may have its id: so the template's word
// stands in the server's metadata, with the name that it stood for.
func (s *server) size() fleet.Size {
	f := fleet.Size{Memory: s.Flavor.Memory << 20, CPUs: s.Flavor.CPUs, Flavor: s.Flavor.Name}
	if !s.marked() {
		return f
	}
	word, name := s.Metadata[keyFlavor], s.Metadata[keyFlavorName]
	if word == "" || name == "" && word != f.Flavor || name != "" && name == f.Flavor {
		f.Flavor = word // also of a server that an older hale built: it is not known what word that took
	}
	return f
}

// named says in metadata which flavor the server has; nothing where that stands there.
func (s *server) named(word string) map[string]string {
	if s.Metadata[keyFlavor] == word && (s.Metadata[keyFlavorName] == s.Flavor.Name || word == s.Flavor.Name) {
		return nil
	}
	return map[string]string{keyFlavor: word, keyFlavorName: s.Flavor.Name}
}

// Adjust implements provider.Adjuster. Another size is a resize of the server, which Nova may carry out on another
// hypervisor, and which is confirmed at once. What was cut off half-way is taken up by the next call.
func (p *Provider) Adjust(ctx context.Context, order provider.Blueprint) error {
	c, s, err := p.openIdle(ctx, "openstack.adjust", order.Ref)
	if err != nil {
		return err
	}
	defer c.end()
	if err := cmp.Or(c.orderly(order), c.whole(s)); err != nil {
		return err
	}
	metadata := map[string]string{}
	if word := order.Template.Server.Flavor; word != "" {
		if s, err = c.resize(s, word); err != nil {
			return err
		}
		if s.marked() {
			maps.Copy(metadata, s.named(word))
		}
	}
	if !s.others().Covers(order.Template.Metadata) {
		maps.Insert(metadata, order.Template.Metadata.All())
	}
	if len(metadata) > 0 {
		if err := c.write(s, metadata); err != nil {
			return err
		}
	}
	return c.tag(s, order.Template.Tags)
}

// resize gives the server the flavor, and returns it as it is then.
func (c *call) resize(s *server, word string) (*server, error) {
	id, err := c.resolve(kindFlavor, word)
	if err != nil {
		return nil, err
	}
	wanted, err := c.flavor(id)
	if err != nil {
		return nil, err
	}
	if s, err = c.confirmed(s); err != nil {
		return nil, err
	}
	switch {
	case wanted.same(s.Flavor) && s.Status != statusResized:
		return s, nil
	case s.power() != fleet.PowerOff:
		return nil, c.conflictf("its status is %s, and its flavor is %s", s.Status, s.Flavor.Name)
	}
	if err := c.act(s, "resize", map[string]any{"flavorRef": id}); err != nil {
		return nil, err
	}
	var last server
	err = c.await(s.ID, func(now *server) bool {
		last = *now
		return now.Task == "" && now.Status != "RESIZE"
	})
	switch {
	case err != nil:
		return nil, err
	case last.Status == statusError:
		return nil, c.fault(fault.Permanent, fmt.Errorf("%w: %s", errResize, last.Fault.Message))
	case last.Status != statusResized && !wanted.same(last.Flavor):
		return nil, c.fault(fault.Transient, fmt.Errorf("%w: its status is %s; perhaps no hypervisor has room",
			errResize, last.Status))
	case last.Status != statusResized: // the cloud confirmed it
		return &last, nil
	}
	return c.confirm(&last)
}

var errResize = errors.New("nova could not resize it")

// confirmed ends the resize of a server that is off, to whichever size, which was broken off before that: until then
// Nova does nothing else with it.
func (c *call) confirmed(s *server) (*server, error) {
	if s.Status != statusResized || s.Power != powerShutdown {
		return s, nil
	}
	return c.confirm(s)
}

// confirm lets go of what the server was before its resize.
func (c *call) confirm(s *server) (*server, error) {
	if err := c.act(s, "confirmResize", nil); err != nil {
		return nil, err
	}
	var last server
	err := c.await(s.ID, func(now *server) bool {
		last = *now
		return now.Task == "" && now.Status != statusResized
	})
	if err == nil && last.Status == statusError {
		err = c.fault(fault.Permanent, fmt.Errorf("%w: %s", errResize, last.Fault.Message))
	}
	return &last, err
}

// flavor reads one.
func (c *call) flavor(id string) (flavor, error) {
	var got struct {
		Flavor *struct {
			flavor
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"flavor"`
	}
	err := c.get(c.compute, c.compute.ServiceURL("flavors", url.PathEscape(id)), &got)
	switch {
	case fault.Is(err, fault.NotFound):
		return flavor{}, c.fault(fault.Invalid, fmt.Errorf("there is no flavor %q", id))
	case err != nil:
		return flavor{}, err
	case got.Flavor == nil || got.Flavor.ID != id:
		return flavor{}, c.fault(fault.Transient, errors.New("the answer is not the flavor that was asked for"))
	}
	got.Flavor.flavor.Name = got.Flavor.Name
	return got.Flavor.flavor, nil
}

// tag gives the server the tags that it has not.
func (c *call) tag(s *server, tags fleet.Tags) error {
	has := fleet.TagsOf(s.Tags)
	for _, word := range tags.All() {
		if has.Has(word) {
			continue
		}
		_, err := c.send(c.compute, request{
			method: http.MethodPut,
			url:    c.compute.ServiceURL("servers", s.ID, "tags", url.PathEscape(word)),
			ok:     []int{http.StatusCreated, http.StatusNoContent},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
