package external

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

// Identity implements provider.Reader.
func (p *Provider) Identity(ctx context.Context) (map[fleet.HostName]string, error) {
	r := request{Operation: opIdentity}
	var said identities
	if err := p.call(ctx, r, &said); err != nil {
		return nil, err
	}
	ids := map[fleet.HostName]string{}
	for host, id := range said.Identities {
		if id == "" {
			return nil, p.fail(r, fault.Permanent,
				fmt.Errorf("host %q has an empty identity; a host that cannot be asked is left out", host))
		}
		ids[fleet.HostName(host)] = id
	}
	if len(ids) == 0 {
		return nil, p.fail(r, fault.Transient, errors.New("it names no host's identity"))
	}
	return ids, nil
}

// List implements provider.Reader. Instances are sorted by host, name and id.
func (p *Provider) List(ctx context.Context) (provider.Listing, error) {
	r := request{Operation: opList}
	var said listed
	if err := p.call(ctx, r, &said); err != nil {
		return provider.Listing{}, err
	}
	l, err := said.listing()
	if err != nil {
		return provider.Listing{}, p.fail(r, fault.Permanent, err)
	}
	if i := slices.IndexFunc(l.Hosts, func(h provider.HostAnswer) bool { return h.Err == nil }); i < 0 {
		return provider.Listing{}, l.Hosts[0].Err
	}
	return l, nil
}

// Get implements provider.Reader.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (fleet.Instance, error) {
	r := about(opGet, ref)
	var said got
	if err := p.call(ctx, r, &said); err != nil {
		return fleet.Instance{}, err
	}
	if said.Instance == nil {
		return fleet.Instance{}, p.fail(r, fault.Permanent,
			errors.New("its result has no instance; one that is not there is an error of the kind \"not found\""))
	}
	i, err := said.Instance.instance()
	if err == nil && (i.ID != ref.ID || i.Host != ref.Host) {
		err = fmt.Errorf("hale asked for %s on host %q, and it answered with %s on host %q",
			ref.ID, ref.Host, i.ID, i.Host)
	}
	if err != nil {
		return fleet.Instance{}, p.fail(r, fault.Permanent, err)
	}
	return i, nil
}

// listing judges a list as a whole: what is there twice, or nowhere, is no list.
func (l listed) listing() (provider.Listing, error) {
	var out provider.Listing
	answered := map[fleet.HostName]bool{}
	if l.Hosts == nil {
		l.Hosts = []hostAnswer{{}} // a provider with a single host need not speak of it
	}
	for _, h := range l.Hosts {
		a, err := h.answer()
		if _, twice := answered[a.Name]; twice && err == nil {
			err = fmt.Errorf("host %q is there twice", h.Name)
		}
		if err != nil {
			return out, err
		}
		answered[a.Name] = a.Err == nil
		out.Hosts = append(out.Hosts, a)
	}
	if len(out.Hosts) == 0 {
		return out, errors.New("it names no host; leave hosts out where there is only one")
	}
	type place struct {
		host fleet.HostName
		id   fleet.InstanceID
	}
	seen := map[place]bool{}
	for n := range l.Instances {
		i, err := l.Instances[n].instance()
		switch {
		case err != nil:
			return out, err
		case seen[place{i.Host, i.ID}]:
			return out, fmt.Errorf("instance %s is there twice", i.ID)
		case !answered[i.Host]:
			return out, fmt.Errorf("instance %s is on host %q, which is not among the hosts that answered",
				i.ID, i.Host)
		}
		seen[place{i.Host, i.ID}] = true
		out.Instances = append(out.Instances, i)
	}
	slices.SortFunc(out.Hosts, func(a, b provider.HostAnswer) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Instances, func(a, b fleet.Instance) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func (h hostAnswer) answer() (provider.HostAnswer, error) {
	place := fleet.Place{Rack: h.Rack, Room: h.Room, Zone: h.Zone, Storage: h.Storage}
	a := provider.HostAnswer{Name: fleet.HostName(h.Name), Place: place, Independent: h.Independent}
	if h.Address != "" {
		address, err := netip.ParseAddr(h.Address)
		if err != nil {
			return a, fmt.Errorf("host %q: %w", h.Name, err)
		}
		a.Address = address.Unmap()
	}
	if h.Error == nil {
		return a, nil
	}
	a.Err = fault.New(h.Error.Kind, "external.list", h.Name, errors.New(h.Error.Message))
	return a, h.Error.check()
}

var (
	powers = []fleet.Power{
		fleet.PowerUnknown, fleet.PowerRunning, fleet.PowerOff, fleet.PowerPaused, fleet.PowerCrashed,
		fleet.PowerError,
	}
	stops = []fleet.Stop{
		fleet.StopUnknown, fleet.StopGuest, fleet.StopExternal, fleet.StopShutdown, fleet.StopCrash, fleet.StopIOError,
		fleet.StopMoved,
	}
)

// instance reads one instance. A value outside the closed sets is an error: hale would not know what it means.
func (i *instance) instance() (fleet.Instance, error) {
	out := fleet.Instance{
		ID:       fleet.InstanceID(i.ID),
		Name:     i.Name,
		Host:     fleet.HostName(i.Host),
		Power:    fleet.Power(i.Power),
		Stop:     fleet.Stop(i.Stop),
		Network:  i.Network,
		Storage:  i.Storage,
		Metadata: fleet.MetadataOf(i.Metadata),
		Size:     fleet.Size{Memory: i.Memory, CPUs: i.CPUs},
	}
	var err error
	switch {
	case i.ID == "":
		return out, fmt.Errorf("instance %q has no id", i.Name)
	case i.CPUs < 0:
		err = fmt.Errorf("it has %d processors", i.CPUs)
	case i.Name == "":
		err = errors.New("it has no name")
	case !slices.Contains(powers, out.Power):
		err = fmt.Errorf("its power is %q, and must be one of %q", i.Power, powers)
	case !slices.Contains(stops, out.Stop):
		err = fmt.Errorf("its stop is %q, and must be one of %q", i.Stop, stops)
	}
	if err == nil && i.Address != "" {
		out.Address, err = netip.ParseAddr(i.Address)
	}
	if err == nil && i.Mark != nil {
		out.Mark, err = i.Mark.mark()
		out.Mark = out.Mark.Of(out.ID)
	}
	if err != nil {
		return out, fmt.Errorf("instance %s: %w", i.ID, err)
	}
	return out, nil
}

func (m mark) mark() (fleet.Mark, error) {
	if m.Installation == "" || m.Machine == "" || m.Generation == 0 {
		return fleet.Mark{}, errors.New("its mark lacks installation, machine or generation; an instance without one " +
			"has mark null")
	}
	return fleet.Mark{
		Installation: fleet.Installation(m.Installation),
		Fleet:        fleet.Name(m.Fleet),
		Machine:      fleet.MachineName(m.Machine),
		Generation:   fleet.Generation(m.Generation),
		Certified:    m.Certified,
		Built:        m.Built.UTC(),
		Kept:         m.Kept,
		Instance:     fleet.InstanceID(m.Instance),
	}, nil
}
