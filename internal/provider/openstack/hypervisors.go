package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// hypervisor is a host as Nova sees it: by the heartbeats of its compute service. While the service is down, its
// machines may still run.
type hypervisor struct {
	Name   string `json:"host"`
	Zone   string `json:"zone"`
	State  string `json:"state"`  // up or down
	Status string `json:"status"` // enabled or disabled: whether the scheduler takes it
	Forced bool   `json:"forced_down"`
	Why    string `json:"disabled_reason"`
}

// Nova's words of a server's hypervisor, in the server's own description.
const (
	hostDown    = "DOWN"    // an operator forced it down
	hostUnheard = "UNKNOWN" // its heartbeats are missing
	// hostDisabled is what one is called that is disabled, whether it sends heartbeats or not.
	hostDisabled = "MAINTENANCE"
)

// trouble returns why nothing is known of what is on it; nil: it answers.
func (h hypervisor) trouble() error {
	switch {
	case h.Forced:
		return fault.New(fault.Transient, "openstack.hypervisor", h.Name,
			errors.New("an operator forced it down in nova"))
	case h.State != "up":
		return fault.New(fault.Transient, "openstack.hypervisor", h.Name,
			errors.New("its compute service sends no heartbeats"))
	}
	return nil
}

// hypervisors asks how all of them are; none where they are not to be seen.
func (c *call) hypervisors() (map[string]hypervisor, error) {
	if !c.p.options.Hypervisors {
		return nil, nil
	}
	var got struct {
		Services *rows[hypervisor] `json:"services"`
	}
	err := c.get(c.compute, c.compute.ServiceURL("os-services")+"?binary=nova-compute", &got)
	switch {
	case fault.Is(err, fault.Unauthorised):
		return nil, c.fault(fault.Unauthorised, fmt.Errorf("these credentials may not see hypervisors: %w", err))
	case err != nil:
		return nil, c.listFault(err)
	case got.Services == nil || len(*got.Services) == 0:
		return nil, c.fault(fault.Transient, errors.New("nova names no hypervisor"))
	}
	all := map[string]hypervisor{}
	for _, h := range *got.Services {
		all[h.Name] = h
	}
	return all, nil
}

// answers says of each host how it answered. Orders go to the project, a host with an empty name: Nova's scheduler
// chooses the hypervisor.
func (p *Provider) answers(hosts map[string]hypervisor, at map[string]netip.Addr) []provider.HostAnswer {
	out := []provider.HostAnswer{{}}
	for name, h := range hosts {
		place := p.options.Places[fleet.HostName(name)]
		place.Zone = cmp.Or(place.Zone, h.Zone)
		out = append(out, provider.HostAnswer{
			Name: fleet.HostName(name), Place: place, Err: h.trouble(), Closed: true, Disabled: h.Status == "disabled",
			Address: at[name],
		})
	}
	slices.SortFunc(out, func(a, b provider.HostAnswer) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// heard refuses a server on a hypervisor that does not answer Nova: Nova has only an old state of it.
func (c *call) heard(s *server) error {
	if !c.p.options.Hypervisors {
		return nil
	}
	stranded, err := c.stranded(s)
	if err == nil && stranded {
		err = c.fault(fault.Transient, fmt.Errorf("its hypervisor %s does not answer nova", s.Host))
	}
	return err
}

// stranded reports whether the server's hypervisor does not answer Nova. Of one that is disabled the server's own
// description says only that.
func (c *call) stranded(s *server) (bool, error) {
	switch s.HostState {
	case hostDown, hostUnheard:
		return true, nil
	case hostDisabled:
		all, err := c.hypervisors()
		return err == nil && all[s.Host].trouble() != nil, err
	}
	return false, nil
}

// Evacuate has Nova build the server anew on another hypervisor; ephemeral disks begin anew with the image unless
// hypervisors share them. Nova itself refuses it as long as it hears the server's compute service.
func (p *Provider) Evacuate(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.leaving(ctx, "openstack.evacuate", ref)
	if err != nil || s == nil {
		return err
	}
	defer c.end()
	stranded, err := c.stranded(s)
	switch {
	case err != nil:
		return err
	case !stranded:
		return c.conflictf("its hypervisor %s answers", s.Host)
	}
	if err := c.move(s, "evacuate", map[string]any{}); err != nil {
		return err
	}
	return c.awaitElsewhere(s)
}

// Migrate moves a running server. Nova says neither why it did not move nor that it failed; it is where it was then,
// and runs.
func (p *Provider) Migrate(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.leaving(ctx, "openstack.migrate", ref)
	if err != nil || s == nil {
		return err
	}
	defer c.end()
	if power := s.power(); power != fleet.PowerRunning {
		return c.conflictf("its status is %s", s.Status)
	}
	if err := c.heard(s); err != nil {
		return err
	}
	if err := c.move(s, "os-migrateLive", map[string]any{"host": nil, "block_migration": "auto"}); err != nil {
		return err
	}
	return c.awaitElsewhere(s)
}

// leaving begins a move of the server away from the host that ref names. No server: it has left it, and nothing is to
// be done. The caller ends the call where there is one.
func (p *Provider) leaving(ctx context.Context, op string, ref provider.Ref) (*call, *server, error) {
	if !p.options.Hypervisors {
		return nil, nil, fault.New(fault.Unsupported, op, string(ref.ID), errors.New("hypervisors are not seen"))
	}
	c, s, err := p.openMarked(ctx, op, ref)
	if err != nil {
		return nil, nil, err
	}
	s, err = c.settled(s)
	switch {
	case fault.Is(err, fault.UnknownOutcome): // nothing was asked for
		err = c.fault(fault.Transient, errors.New("nova is still busy with it"))
	case err == nil && s.Host == "":
		err = c.conflictf("it is on no hypervisor")
	case err == nil && s.Host == string(ref.Host):
		return c, s, nil
	}
	c.end()
	return nil, nil, err
}

// settled waits until nothing is under way with the server, and returns it as it is then. When Nova has built one anew,
// it calls it active a moment before it says where it is: only the migration's own end is the end.
func (c *call) settled(s *server) (*server, error) {
	var last *server
	err := c.await(s.ID, func(now *server) bool {
		last = now
		return now.Task == "" && now.Status != "REBUILD" && now.Status != "MIGRATING"
	})
	for err == nil {
		var moving bool
		if moving, err = c.migrating(s.ID); err != nil {
			return nil, err
		}
		if last, err = c.server(s.ID); err != nil {
			return nil, err
		}
		if !moving && last.Task == "" {
			return last, nil
		}
		if err = c.wait(lookEvery); err != nil {
			err = c.fault(fault.UnknownOutcome, c.Err())
		}
	}
	return nil, err
}

// ends are the states of a migration that has ended.
var ends = []string{"done", "completed", "finished", "confirmed", "reverted", "cancelled", "failed", "error"}

// migrating reports whether the server is on its way.
func (c *call) migrating(nova string) (bool, error) {
	found, err := listOf[struct {
		Status string `json:"status"`
	}](c, c.compute, c.compute.ServiceURL("os-migrations")+"?instance_uuid="+nova, "migrations")
	if err != nil {
		return false, c.listFault(err)
	}
	for _, m := range found.all {
		if !slices.Contains(ends, m.Status) {
			return true, nil
		}
	}
	return false, nil
}

// move orders a move. What Nova finds wrong with it is wrong with this way to heal the server, and not with the
// configuration.
func (c *call) move(s *server, action string, how any) error {
	err := c.act(s, action, how)
	if fault.Is(err, fault.Invalid) {
		return c.fault(fault.Permanent, err)
	}
	return err
}

// awaitElsewhere waits until Nova is done with the move that was asked for: when a look fails, its outcome is not
// known.
func (c *call) awaitElsewhere(s *server) error {
	last, err := c.settled(s)
	switch {
	case fault.Is(err, fault.NotFound):
		return err
	case err != nil:
		return c.fault(fault.UnknownOutcome, err)
	case last.Status == statusError:
		return c.fault(fault.Permanent, errors.New("nova could not move it: "+last.Fault.Message))
	case last.Host == s.Host:
		return c.fault(fault.Permanent, errors.New("nova did not move it: no other hypervisor takes it"))
	}
	return nil
}
