package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"net/netip"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Identity returns the hosts' UUIDs, as their daemons report them.
func (p *Provider) Identity(ctx context.Context) (map[fleet.HostName]string, error) {
	uuids := make([]string, len(p.hosts))
	errs := p.onEachHost(ctx, "libvirt.identity", func(s *session, i int) (err error) {
		uuids[i], err = s.hostUUID()
		return err
	})
	if err := allFailed(errs); err != nil {
		return nil, err
	}
	identity := map[fleet.HostName]string{}
	for i, h := range p.hosts {
		if errs[i] == nil {
			identity[h.name] = uuids[i]
		}
	}
	return identity, nil
}

func (s *session) hostUUID() (string, error) {
	text, err := s.Capabilities()
	if err != nil {
		return "", s.fault(err)
	}
	var caps struct {
		UUID string `xml:"host>uuid"`
	}
	if err := xml.Unmarshal(text, &caps); err != nil {
		return "", s.fault(err)
	}
	if caps.UUID == "" {
		return "", s.fault(errors.New("the daemon names no host UUID"))
	}
	return caps.UUID, nil
}

// List asks all hosts at the same time for the states of their domains. Marks and interfaces come from a cache while a
// Watch keeps it fresh; Get does not use it.
func (p *Provider) List(ctx context.Context) (provider.Listing, error) {
	found := make([][]fleet.Instance, len(p.hosts))
	errs := p.onEachHost(ctx, "libvirt.list", func(s *session, i int) (err error) {
		found[i], err = s.list()
		return err
	})
	if err := allFailed(errs); err != nil {
		return provider.Listing{}, err
	}
	var l provider.Listing
	for i, h := range p.hosts {
		l.Hosts = append(l.Hosts, provider.HostAnswer{
			Name: h.name, Place: h.place, Err: errs[i], Independent: len(p.hosts) > 1, Address: h.address(),
		})
		if errs[i] == nil {
			l.Instances = append(l.Instances, found[i]...)
		}
	}
	return l, nil
}

// list returns the host's instances.
func (s *session) list() ([]fleet.Instance, error) {
	// Without a job on any domain: a domain that hangs must not hold the others.
	flags := uint32(golibvirt.ConnectGetAllDomainsStatsNowait)
	stats, err := s.ConnectGetAllDomainStats(nil, uint32(golibvirt.DomainStatsState), flags)
	if err != nil {
		return nil, s.fault(err)
	}
	leases := s.leases()
	instances := make([]fleet.Instance, 0, len(stats))
	for _, st := range stats {
		f, err := s.factsOf(st.Dom)
		if fault.Is(err, fault.NotFound) {
			continue // it went while we asked
		}
		if err != nil {
			return nil, err
		}
		state, reason := stateIn(st.Params)
		seen, err := s.describe(st.Dom, f, leases, state, reason)
		if err != nil {
			return nil, err
		}
		instances = append(instances, seen)
	}
	return instances, nil
}

// stateIn reads the state group of a domain's statistics.
func stateIn(params []golibvirt.TypedParam) (state, reason int32) {
	for _, p := range params {
		if v, ok := p.Value.I.(int32); ok {
			switch p.Field {
			case "state.state":
				state = v
			case "state.reason":
				reason = v
			}
		}
	}
	return state, reason
}

// Get returns the instance as it is now; nothing comes from a cache.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (fleet.Instance, error) {
	_, s, err := p.open(ctx, "libvirt.get", ref)
	if err != nil {
		return fleet.Instance{}, err
	}
	defer s.end()
	dom, err := s.find(ref.ID)
	if err != nil {
		return fleet.Instance{}, err
	}
	f, err := s.readFacts(dom)
	if err != nil {
		return fleet.Instance{}, err
	}
	state, reason, err := s.DomainGetState(dom, 0)
	if err != nil {
		return fleet.Instance{}, s.fault(err)
	}
	return s.describe(dom, f, s.leases(), state, reason)
}

// describe puts an instance together.
func (s *session) describe(dom golibvirt.Domain, f facts, leases *leases, state, reason int32) (fleet.Instance, error) {
	power, stop := stateOf(state, reason)
	i := fleet.Instance{ID: idOf(dom.UUID), Name: dom.Name, Host: s.host.name, Power: power, Stop: stop,
		Network: f.network, Storage: f.storage, Mark: f.mark, Metadata: f.bears, Transient: f.transient,
		Size: f.size}
	if power == fleet.PowerOff {
		return i, nil // a lease outlives the machine that had it
	}
	var err error
	i.Address, err = leases.of(f.nics)
	return i, err
}

// factsOf returns the domain's facts, from the cache where it has them.
func (s *session) factsOf(dom golibvirt.Domain) (facts, error) {
	f, changes, ok := s.host.facts.get(dom.UUID)
	if ok {
		return f, nil
	}
	f, err := s.readFacts(dom)
	if err == nil {
		s.host.facts.put(dom.UUID, f, changes)
	}
	return f, err
}

func (s *session) readFacts(dom golibvirt.Domain) (facts, error) {
	text, err := s.DomainGetXMLDesc(dom, 0)
	if err != nil {
		return facts{}, s.fault(err)
	}
	f, err := parseFacts(text)
	if err != nil {
		return facts{}, s.fault(err)
	}
	persistent, err := s.DomainIsPersistent(dom)
	if err != nil {
		return facts{}, s.fault(err)
	}
	f.transient = persistent == 0
	return f, nil
}

// leases are the DHCP leases of a host's networks. Each network is asked once, when the first instance needs it.
type leases struct {
	s         *session
	byNetwork map[string]map[string]netip.Addr // network, MAC
}

func (s *session) leases() *leases {
	return &leases{s: s, byNetwork: map[string]map[string]netip.Addr{}}
}

// of returns the address of the first interface that has one; invalid when none has.
func (l *leases) of(nics []nic) (netip.Addr, error) {
	for _, n := range nics {
		byMAC, ok := l.byNetwork[n.network]
		if !ok {
			var err error
			if byMAC, err = l.ask(n.network); err != nil {
				return netip.Addr{}, err
			}
			l.byNetwork[n.network] = byMAC
		}
		if a := byMAC[n.mac]; a.IsValid() {
			return a, nil
		}
	}
	return netip.Addr{}, nil
}

// ask reads a network's leases. The daemon leaves expired ones out, by its own clock. A network that is gone, down or
// without DHCP has none, which is no error: an address that is not known is not a fault.
func (l *leases) ask(network string) (map[string]netip.Addr, error) {
	net, err := l.s.NetworkLookupByName(network)
	if err == nil {
		var all []golibvirt.NetworkDhcpLease
		if all, _, err = l.s.NetworkGetDhcpLeases(net, nil, 1, 0); err == nil {
			return newestByMAC(all), nil
		}
	}
	if _, answered := codeOf(err); answered {
		return map[string]netip.Addr{}, nil
	}
	return nil, l.s.fault(err)
}

// newestByMAC picks the lease that expires last for each MAC, and IPv4 before IPv6.
func newestByMAC(all []golibvirt.NetworkDhcpLease) map[string]netip.Addr {
	type choice struct {
		addr    netip.Addr
		expires int64
	}
	chosen := map[string]choice{}
	for _, l := range all {
		addr, err := netip.ParseAddr(l.Ipaddr)
		if err != nil || len(l.Mac) == 0 {
			continue
		}
		mac := strings.ToLower(l.Mac[0])
		old, has := chosen[mac]
		newer := !has || addr.Is4() && !old.addr.Is4() || addr.Is4() == old.addr.Is4() && l.Expirytime > old.expires
		if newer {
			chosen[mac] = choice{addr, l.Expirytime}
		}
	}
	byMAC := make(map[string]netip.Addr, len(chosen))
	for mac, c := range chosen {
		byMAC[mac] = c.addr
	}
	return byMAC
}
