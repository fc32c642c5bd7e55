package config

import (
	"fmt"
	"slices"

	"hale/internal/fleet"
)

type placementDraft struct {
	spread at[fleet.DomainKind]
	apart  at[bool]
	only   at[onlyDraft]
}

type onlyDraft struct {
	host, rack, room, zone, storage at[[]at[string]]
}

// kinds returns the names given for each kind of domain, the most specific first.
func (o onlyDraft) kinds() []onlyKind {
	return []onlyKind{{fleet.DomainHost, o.host}, {fleet.DomainRack, o.rack}, {fleet.DomainRoom, o.room},
		{fleet.DomainZone, o.zone},
		{fleet.DomainStorage, o.storage}}
}

type onlyKind struct {
	kind  fleet.DomainKind
	names at[[]at[string]]
}

const defaultSpread = fleet.DomainHost

func placementShape() object[placementDraft] {
	names := func(noun string) list[string] { return list[string]{noun: noun, each: text(noun, "a")} }
	return object[placementDraft]{fields: []field[placementDraft]{
		or("spread", defaultSpread, "Over what the machines are spread evenly, before hosts: as the hosts' labels "+
			"name it.",
			choice(nil, fleet.DomainHost, fleet.DomainRack, fleet.DomainRoom, fleet.DomainZone, fleet.DomainStorage),
			func(p *placementDraft) *at[fleet.DomainKind] { return &p.spread }),
		or("apart", false, "Never two of the fleet in one of these (anti-affinity): a machine for which there is no "+
			"place of its own is held, and a person is paged.",
			boolean(), func(p *placementDraft) *at[bool] { return &p.apart }),
		may("only", "Where alone they may be built: of each kind that is named, in one of these.",
			object[onlyDraft]{fields: []field[onlyDraft]{
				may("host", "Hosts, by their names.", names("a host"),
					func(o *onlyDraft) *at[[]at[string]] { return &o.host }),
				may("rack", "Racks.", names("a rack"), func(o *onlyDraft) *at[[]at[string]] { return &o.rack }),
				may("room", "Rooms.", names("a room"), func(o *onlyDraft) *at[[]at[string]] { return &o.room }),
				may("zone", "Zones.", names("a zone"), func(o *onlyDraft) *at[[]at[string]] { return &o.zone }),
				may("storage", "Storages.", names("a storage"),
					func(o *onlyDraft) *at[[]at[string]] { return &o.storage }),
			}}, func(p *placementDraft) *at[onlyDraft] { return &p.only }).said("anywhere"),
	}}
}

// placement judges where instances may be built. Where the file itself says which hosts there are, what they do not
// have is a mistake; other providers know their hosts themselves.
func (c *fleetCompiler) placement() fleet.Placement {
	d := c.draft.placement.value
	p := fleet.Placement{Apart: d.apart.value}
	if d.spread.value != defaultSpread {
		p.Spread = d.spread.value
	}
	hosts := c.hosts()
	for _, k := range d.only.value.kinds() {
		for _, n := range k.names.value {
			domain := fleet.Domain{Kind: k.kind, Name: n.value}
			if n.known() && len(hosts) > 0 && !slices.ContainsFunc(hosts, domain.Contains) {
				c.add(n.spot, fmt.Sprintf("no host of the provider is in %s %s", k.kind, n.value),
					didYouMean(n.value, namesOf(hosts, k.kind)))
			}
			p.Only = append(p.Only, domain)
		}
	}
	c.spreadable(p, hosts)
	return p
}

// spreadable reports hosts that do not say where they stand, and a size for which there cannot be places enough.
func (c *fleetCompiler) spreadable(p fleet.Placement, hosts []fleet.Host) {
	d, by := c.draft.placement.value, p.By()
	size := c.draft.size
	if len(hosts) == 0 {
		if p.Apart && size.known() && size.value > 1 && c.providerIs(ProviderLibvirt) {
			c.add(d.apart.spot, "the provider has a single host", "give it hosts, or leave out apart")
		}
		return
	}
	if !p.Apart && !d.spread.given() {
		return
	}
	places := map[string]bool{}
	for i := range hosts {
		h := &hosts[i]
		if h.Within(by) == "" {
			c.add(d.spread.spot, fmt.Sprintf("host %s has no %s", h.Name, by),
				fmt.Sprintf("write %s: NAME at each of the provider's hosts", by))
			return
		}
		if p.Allows(*h) {
			places[h.Within(by)] = true
		}
	}
	if p.Apart && size.known() && size.value > len(places) {
		c.add(d.apart.spot, fmt.Sprintf("%d machines need as many different places (%s), and there are %d", size.value,
			by, len(places)),
			"lower size, add hosts, or leave out apart")
	}
}

// hosts returns the hosts of the fleet's provider as far as the file names them.
func (c *fleetCompiler) hosts() []fleet.Host {
	var out []fleet.Host
	for _, p := range c.drafts {
		if p.name == c.draft.provider.value {
			for _, h := range p.value.hosts.value {
				out = append(out, fleet.Host{Name: fleet.HostName(h.value.name.value), Place: h.value.place()})
			}
		}
	}
	return out
}

func namesOf(hosts []fleet.Host, kind fleet.DomainKind) []string {
	var out []string
	for i := range hosts {
		if name := hosts[i].Within(kind); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
