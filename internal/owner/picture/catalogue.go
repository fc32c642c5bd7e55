package picture

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"hale/internal/core/fleet"
)

// Catalogue is a provider's last complete listing, indexed. It can be brought up to date instead of being made anew,
// and pictures of several fleets may see the same one.
type Catalogue struct {
	hosts  []fleet.Host
	up     map[fleet.HostName]bool
	access map[fleet.HostName]fleet.Access // where anything is known of it
	byID   map[fleet.InstanceID]fleet.Instance
	// mentions are all of an id that several hosts show. Each speaks for itself.
	mentions    map[fleet.InstanceID][]fleet.Instance
	independent map[fleet.HostName]bool // the hosts that do
	// what the update under way has told of already; only where there are such hosts
	fresh  map[fleet.InstanceID]bool
	marked map[bearer][]fleet.InstanceID
	// unmarked are the instances whose mark names no machine, sorted: what fleets may adopt.
	unmarked []unmarked
	claims   map[netip.Addr][]fleet.InstanceID // the running instances that have the address
	shared   map[netip.Addr]bool               // the addresses that several have
	asked    fleet.Instant
}

// bearer is the machine that a mark names.
type bearer struct {
	fleet   fleet.Name
	machine fleet.MachineName
}

func bearerOf(i fleet.Instance) bearer { return bearer{i.Mark.Fleet, i.Mark.Machine} }

// unmarked is an instance whose mark names no machine.
type unmarked struct {
	name string
	id   fleet.InstanceID
}

func (u unmarked) compare(o unmarked) int {
	return cmp.Or(cmp.Compare(u.name, o.name), cmp.Compare(u.id, o.id))
}

// claimOf returns the address that the instance has while it runs; invalid when it has none.
func claimOf(i fleet.Instance) netip.Addr {
	if i.Power != fleet.PowerRunning {
		return netip.Addr{}
	}
	return i.Address
}

// NewCatalogue returns one that lists nothing: fill it before a picture sees it.
func NewCatalogue() *Catalogue {
	return &Catalogue{
		up: make(map[fleet.HostName]bool), access: make(map[fleet.HostName]fleet.Access),
		byID:   make(map[fleet.InstanceID]fleet.Instance),
		marked: make(map[bearer][]fleet.InstanceID), claims: make(map[netip.Addr][]fleet.InstanceID),
		mentions: make(map[fleet.InstanceID][]fleet.Instance), independent: make(map[fleet.HostName]bool),
		fresh: make(map[fleet.InstanceID]bool), shared: make(map[netip.Addr]bool),
	}
}

// Replace takes a whole listing in: all hosts, sorted by name, and every instance on those that are up. The question
// was put at asked. Of an instance that independent hosts list, each for itself, all mentions count (fleet.Join); of
// one that a control plane lists twice, as in the middle of a migration, the last one does. The catalogue keeps
// hosts, which must not change any more.
func (c *Catalogue) Replace(hosts []fleet.Host, instances []fleet.Instance, asked fleet.Instant) {
	clear(c.byID)
	clear(c.mentions)
	clear(c.marked)
	clear(c.claims)
	clear(c.shared)
	c.unmarked = c.unmarked[:0]
	c.Update(hosts, instances, nil, asked)
}

// Update makes the catalogue equal to what Replace with a whole listing would, at the cost of what changed: instances
// that are new or not as they were, each with all mentions of its id, and those that no host lists any more.
func (c *Catalogue) Update(hosts []fleet.Host, changed []fleet.Instance, removed []fleet.InstanceID,
	asked fleet.Instant) {
	c.standing(hosts)
	c.asked = asked
	for _, id := range removed {
		c.remove(id)
	}
	for _, i := range changed {
		c.mention(i)
	}
	clear(c.fresh)
	if !slices.IsSortedFunc(c.unmarked, unmarked.compare) {
		slices.SortFunc(c.unmarked, unmarked.compare)
	}
}

// beginning returns the unmarked instances whose names begin so, sorted by name.
func (c *Catalogue) beginning(with string) []unmarked {
	from, _ := slices.BinarySearchFunc(c.unmarked, unmarked{name: with}, unmarked.compare)
	to := from
	for to < len(c.unmarked) && strings.HasPrefix(c.unmarked[to].name, with) {
		to++
	}
	return c.unmarked[from:to]
}

// mention takes one mention of an instance in.
func (c *Catalogue) mention(i fleet.Instance) {
	if len(c.independent) < 2 || !c.independent[i.Host] {
		c.put(i)
		return
	}
	all := []fleet.Instance{i}
	if c.fresh[i.ID] {
		was := c.mentions[i.ID]
		if was == nil {
			was = []fleet.Instance{c.byID[i.ID]}
		}
		all = append(slices.DeleteFunc(slices.Clone(was), func(o fleet.Instance) bool { return o.Host == i.Host }), i)
	}
	c.fresh[i.ID] = true
	c.put(fleet.Join(all))
	if delete(c.mentions, i.ID); len(all) > 1 {
		c.mentions[i.ID] = all
	}
}

// joined returns what one host was just asked of an instance, together with what others showed of it in the listing.
func (c *Catalogue) joined(i fleet.Instance) fleet.Instance {
	if c == nil || i.Power == fleet.PowerGone {
		return i
	}
	all := []fleet.Instance{i}
	for _, o := range c.mentions[i.ID] {
		if o.Host != i.Host && c.up[o.Host] {
			all = append(all, o)
		}
	}
	return fleet.Join(all)
}

// listed returns the instance, if the listing has it: on a host that answered. Where a listing is kept up to date,
// what lies on a host that fell silent is still in it.
func (c *Catalogue) listed(id fleet.InstanceID) (fleet.Instance, bool) {
	i, known := c.byID[id]
	up, named := c.up[i.Host]
	return i, known && (up || !named)
}

// lists reports whether the listing has the instance.
func (c *Catalogue) lists(id fleet.InstanceID) bool {
	_, listed := c.byID[id]
	return listed
}

// Bearer returns the machine that the mark of a listed instance names; empty: it is not listed, or bears none.
func (c *Catalogue) Bearer(id fleet.InstanceID) fleet.MachineName { return c.byID[id].Mark.Machine }

// standing takes in which hosts are up. It compares with what was, since hosts seldom change; an owner may even tell
// of the same slice.
func (c *Catalogue) standing(hosts []fleet.Host) {
	if len(hosts) > 0 && len(hosts) == len(c.hosts) && &hosts[0] == &c.hosts[0] {
		return
	}
	c.hosts = hosts
	clear(c.access)
	for _, h := range hosts {
		if h.Fence.Access != fleet.AccessUnknown {
			c.access[h.Name] = h.Fence.Access
		}
	}
	same := func(h fleet.Host) bool {
		up, known := c.up[h.Name]
		return known && up == h.Up
	}
	if len(c.up) == len(hosts) && !slices.ContainsFunc(hosts, func(h fleet.Host) bool { return !same(h) }) {
		return
	}
	clear(c.up)
	clear(c.independent)
	for _, h := range hosts {
		c.up[h.Name] = h.Up
		if h.Independent {
			c.independent[h.Name] = true
		}
	}
}

func (c *Catalogue) put(i fleet.Instance) {
	if was, listed := c.byID[i.ID]; !listed || was.Name != i.Name || bearerOf(was) != bearerOf(i) ||
		claimOf(was) != claimOf(i) {
		c.remove(i.ID)
		if b := bearerOf(i); b == (bearer{}) {
			c.unmarked = append(c.unmarked, unmarked{i.Name, i.ID})
		} else {
			c.marked[b] = append(c.marked[b], i.ID)
		}
		if a := claimOf(i); a.IsValid() {
			c.claims[a] = append(c.claims[a], i.ID)
			if len(c.claims[a]) > 1 {
				c.shared[a] = true
			}
		}
	}
	c.byID[i.ID] = i
}

func (c *Catalogue) remove(id fleet.InstanceID) {
	i, listed := c.byID[id]
	if !listed {
		return
	}
	delete(c.byID, id)
	delete(c.mentions, id)
	if b := bearerOf(i); b != (bearer{}) {
		strike(c.marked, b, id)
	} else if at := slices.Index(c.unmarked, unmarked{i.Name, id}); at >= 0 {
		c.unmarked = slices.Delete(c.unmarked, at, at+1)
	}
	a := claimOf(i)
	if strike(c.claims, a, id); len(c.claims[a]) < 2 {
		delete(c.shared, a)
	}
}

// strike takes the id off the key's list, and the key away with its last id.
func strike[K comparable](lists map[K][]fleet.InstanceID, key K, id fleet.InstanceID) {
	list := lists[key]
	at := slices.Index(list, id)
	switch {
	case at < 0:
	case len(list) == 1:
		delete(lists, key)
	default:
		lists[key] = slices.Delete(list, at, at+1)
	}
}

// rival returns the first running instance other than the owner that has the address and lies on a host that answers;
// empty: none does. What lies on a silent host may have been fenced, and its address given to its successor.
func (c *Catalogue) rival(a netip.Addr, owner fleet.InstanceID) fleet.InstanceID {
	var found []fleet.InstanceID
	for _, id := range c.claims[a] {
		if _, listed := c.listed(id); listed && id != owner {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// taken reports whether a running instance other than the owner has the address.
func (c *Catalogue) taken(a netip.Addr, owner fleet.InstanceID) bool {
	return slices.ContainsFunc(c.claims[a], func(id fleet.InstanceID) bool { return id != owner })
}
