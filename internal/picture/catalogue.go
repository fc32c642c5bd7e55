package picture

import (
	"net/netip"
	"slices"

	"hale/internal/fleet"
)

// Catalogue is a provider's last complete listing, indexed. It can be brought up to date instead of being made anew, and pictures of
// several fleets may see the same one.
type Catalogue struct {
	hosts  []fleet.Host
	up     map[fleet.HostName]bool
	byID   map[fleet.InstanceID]fleet.Instance
	marked map[bearer][]fleet.InstanceID
	claims map[netip.Addr][]fleet.InstanceID // the running instances that have the address
	asked  fleet.Instant
}

// bearer is whom a mark names.
type bearer struct {
	fleet   fleet.Name
	machine fleet.MachineName
}

// NewCatalogue returns one that lists nothing: fill it before a picture sees it.
func NewCatalogue() *Catalogue {
	return &Catalogue{
		up: make(map[fleet.HostName]bool), byID: make(map[fleet.InstanceID]fleet.Instance),
		marked: make(map[bearer][]fleet.InstanceID), claims: make(map[netip.Addr][]fleet.InstanceID),
	}
}

// Replace takes a whole listing in: all hosts, sorted by name, and every instance on those that are up. The question was put at asked.
// Of an instance that is listed twice, as in the middle of a migration, the last mention counts. The catalogue keeps hosts.
func (c *Catalogue) Replace(hosts []fleet.Host, instances []fleet.Instance, asked fleet.Instant) {
	clear(c.byID)
	clear(c.marked)
	clear(c.claims)
	c.Update(hosts, instances, nil, asked)
}

// Update makes the catalogue equal to what Replace with a whole listing would, at the cost of what changed: instances that are new or
// not as they were, and those that are not listed any more.
func (c *Catalogue) Update(hosts []fleet.Host, changed []fleet.Instance, removed []fleet.InstanceID, asked fleet.Instant) {
	if !slices.Equal(c.hosts, hosts) {
		clear(c.up)
		for _, h := range hosts {
			c.up[h.Name] = h.Up
		}
	}
	c.hosts, c.asked = hosts, asked
	for _, id := range removed {
		c.remove(id)
	}
	for _, i := range changed {
		c.remove(i.ID)
		c.put(i)
	}
}

func (c *Catalogue) put(i fleet.Instance) {
	c.byID[i.ID] = i
	b := bearer{i.Mark.Fleet, i.Mark.Machine}
	c.marked[b] = append(c.marked[b], i.ID)
	if i.Power == fleet.PowerRunning && i.Address.IsValid() {
		c.claims[i.Address] = append(c.claims[i.Address], i.ID)
	}
}

func (c *Catalogue) remove(id fleet.InstanceID) {
	i, listed := c.byID[id]
	if !listed {
		return
	}
	delete(c.byID, id)
	strike(c.marked, bearer{i.Mark.Fleet, i.Mark.Machine}, id)
	strike(c.claims, i.Address, id)
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

// taken reports whether a running instance other than the owner has the address.
func (c *Catalogue) taken(a netip.Addr, owner fleet.InstanceID) bool {
	return slices.ContainsFunc(c.claims[a], func(id fleet.InstanceID) bool { return id != owner })
}
