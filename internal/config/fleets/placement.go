package fleets

import (
	"fmt"
	"slices"

	"hale/internal/config/sizes"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

type placementDraft struct {
	spread keys.At[fleet.DomainKind]
	apart  keys.At[bool]
	only   keys.At[onlyDraft]
}

type onlyDraft struct {
	host, rack, room, zone, storage keys.At[[]keys.At[string]]
}

// kinds returns the names given for each kind of domain, the most specific first.
func (o onlyDraft) kinds() []onlyKind {
	return []onlyKind{{fleet.DomainHost, o.host}, {fleet.DomainRack, o.rack}, {fleet.DomainRoom, o.room},
		{fleet.DomainZone, o.zone},
		{fleet.DomainStorage, o.storage}}
}

type onlyKind struct {
	kind  fleet.DomainKind
	names keys.At[[]keys.At[string]]
}

const defaultSpread = fleet.DomainHost

func placementShape() keys.Object[placementDraft] {
	names := func(noun string) keys.List[string] { return keys.List[string]{Noun: noun, Each: keys.Text(noun, "a")} }
	return keys.Object[placementDraft]{Fields: []keys.Field[placementDraft]{
		keys.Or("spread", defaultSpread, "Over what the machines are spread evenly, before hosts: as the hosts' "+
			"labels name it.",
			keys.Choice(nil, fleet.DomainHost, fleet.DomainRack, fleet.DomainRoom, fleet.DomainZone,
				fleet.DomainStorage),
			func(p *placementDraft) *keys.At[fleet.DomainKind] { return &p.spread }),
		keys.Or("apart", false, "Never two of the fleet in one of these (anti-affinity): a machine for which there "+
			"is no place of its own is held, and a person is paged.",
			keys.Boolean(), func(p *placementDraft) *keys.At[bool] { return &p.apart }),
		keys.May("only", "Where alone they may be built: of each kind that is named, in one of these.",
			keys.Object[onlyDraft]{Fields: []keys.Field[onlyDraft]{
				keys.May("host", "Hosts, by their names.", names("a host"),
					func(o *onlyDraft) *keys.At[[]keys.At[string]] { return &o.host }),
				keys.May("rack", "Racks.", names("a rack"),
					func(o *onlyDraft) *keys.At[[]keys.At[string]] { return &o.rack }),
				keys.May("room", "Rooms.", names("a room"),
					func(o *onlyDraft) *keys.At[[]keys.At[string]] { return &o.room }),
				keys.May("zone", "Zones.", names("a zone"),
					func(o *onlyDraft) *keys.At[[]keys.At[string]] { return &o.zone }),
				keys.May("storage", "Storages.", names("a storage"),
					func(o *onlyDraft) *keys.At[[]keys.At[string]] { return &o.storage }),
			}}, func(p *placementDraft) *keys.At[onlyDraft] { return &p.only }).Said("anywhere"),
	}}
}

// placement judges where instances may be built. Where the file itself says which hosts there are, what they do not
// have is a mistake; other providers know their hosts themselves.
func (c *compiler) placement() policy.Placement {
	d := c.draft.placement.Value
	p := policy.Placement{Apart: d.apart.Value}
	if d.spread.Value != defaultSpread {
		p.Spread = d.spread.Value
	}
	hosts := c.hosts()
	for _, k := range d.only.Value.kinds() {
		for _, n := range k.names.Value {
			domain := fleet.Domain{Kind: k.kind, Name: n.Value}
			if n.Known() && len(hosts) > 0 && !slices.ContainsFunc(hosts, domain.Contains) {
				c.Add(n.Spot, fmt.Sprintf("no host of the provider is in %s %s", k.kind, n.Value),
					keys.DidYouMean(n.Value, namesOf(hosts, k.kind)))
			}
			p.Only = append(p.Only, domain)
		}
	}
	c.spreadable(p, hosts)
	return p
}

// spreadable reports hosts that do not say where they stand, and a size for which there cannot be places enough.
func (c *compiler) spreadable(p policy.Placement, hosts []fleet.Host) {
	d, by := c.draft.placement.Value, p.By()
	size := sizes.Largest(c.draft.size)
	if len(hosts) == 0 {
		if p.Apart && size.Known() && size.Value > 1 && c.nameless() {
			c.Add(d.apart.Spot, "the provider has a single host", "give it hosts, or leave out apart")
		}
		return
	}
	if !p.Apart && !d.spread.Given() {
		return
	}
	places := map[string]bool{}
	for i := range hosts {
		h := &hosts[i]
		if h.Within(by) == "" {
			c.Add(d.spread.Spot, fmt.Sprintf("host %s has no %s", h.Name, by),
				fmt.Sprintf("write %s: NAME at each of the provider's hosts", by))
			return
		}
		if p.Allows(*h) {
			places[h.Within(by)] = true
		}
	}
	if p.Apart && size.Known() && size.Value > len(places) {
		c.Add(d.apart.Spot, fmt.Sprintf("%d machines need as many different places (%s), and there are %d", size.Value,
			by, len(places)),
			"lower size, add hosts, or leave out apart")
	}
}

// hosts returns the hosts of the fleet's provider as far as the file names them.
func (c *compiler) hosts() []fleet.Host {
	var out []fleet.Host
	for _, h := range c.Hosts.Value {
		out = append(out, fleet.Host{Name: fleet.HostName(h.Value.Name.Value), Place: h.Value.Place()})
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
