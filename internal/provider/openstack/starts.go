package openstack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// noteGroup is the security group that carries the notes of hale's starts as its tags. Neutron makes one of this name
// in every project, and does not let it be renamed or removed. Each tag is set and removed by a request of its own, so
// that two that are set at once are both there.
const noteGroup = "default"

// noteTag is what the tag of a start begins with: short, since a tag has 60 letters at most.
func noteTag(of fleet.Installation) string {
	sum := sha256.Sum256([]byte(of))
	return fmt.Sprintf("hale.start.%x.", sum[:8])
}

// taggedGroup is a security group with its tags.
type taggedGroup struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

// notes returns the group with the notes.
func (c *call) notes() (taggedGroup, error) {
	query := url.Values{"name": {noteGroup}, "project_id": {c.project}}
	found, err := listOf[taggedGroup](c, c.network, c.network.ServiceURL("security-groups")+"?"+query.Encode(),
		"security_groups")
	if err != nil {
		return taggedGroup{}, c.listFault(err)
	}
	at := slices.IndexFunc(found.all, func(g taggedGroup) bool { return g.Name == noteGroup })
	if at < 0 {
		return taggedGroup{}, c.fault(fault.Transient,
			errors.New("neutron shows no security group "+noteGroup+", on which hale's starts are noted"))
	}
	return found.all[at], nil
}

// Starts implements provider.StartReader: the project has one place for all.
func (p *Provider) Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	c, err := p.open(ctx, "openstack.starts", string(of))
	if err != nil {
		return nil, err
	}
	defer c.end()
	group, err := c.notes()
	if err != nil {
		return nil, err
	}
	var names []fleet.StartName
	for _, tag := range group.Tags {
		text, ours := strings.CutPrefix(tag, noteTag(of))
		if name, err := fleet.ParseStart(text); ours && err == nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, fleet.StartName.Compare)
	return map[fleet.HostName][]fleet.StartName{"": names}, nil
}

// NoteStart implements provider.StartNoter.
func (p *Provider) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return p.tag(ctx, "openstack.note-start", of, name, request{
		method: http.MethodPut,
		ok:     []int{http.StatusCreated, http.StatusOK},
	})
}

// ForgetStart implements provider.StartNoter.
func (p *Provider) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	err := p.tag(ctx, "openstack.forget-start", of, name, request{
		method: http.MethodDelete,
		ok:     []int{http.StatusNoContent},
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func (p *Provider) tag(ctx context.Context, op string, of fleet.Installation, name fleet.StartName, q request) error {
	if _, err := fleet.ParseStart(string(name)); err != nil {
		return fault.New(fault.Invalid, op, string(name), err)
	}
	c, err := p.open(ctx, op, string(name))
	if err != nil {
		return err
	}
	defer c.end()
	group, err := c.notes()
	if err != nil {
		return err
	}
	q.url = c.network.ServiceURL("security-groups", group.ID, "tags", noteTag(of)+string(name))
	_, err = c.send(c.network, q)
	return err
}
