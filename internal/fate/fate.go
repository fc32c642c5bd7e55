// Package fate finds out whether machines that fail share a cause: whether failures concentrate in one domain (a host, a
// rack, a network) beyond chance.
//
// It promises that failures which fall at random are taken for a shared fate in at most one of a hundred draws, however
// many domains there are (the bound is divided among them, after Bonferroni); that of several domains the least probable
// is blamed, of equals the most specific; and that equal counts give equal findings. It is pure counting: it knows neither
// time nor policy, and holds nobody; packages decide and guard do.
package fate

import "hale/internal/fleet"

// threshold is the chance below which a concentration is no accident.
const threshold = 0.01

// State is what there is to say of one machine.
type State int8

// The states of a machine.
const (
	Sound State = iota
	Suspect
	Failing
)

// Census counts the machines of a fleet by where they lie. The zero value is an empty one for a fleet without hosts.
type Census struct {
	hosts []fleet.Host
	sites []site
	index map[where]int
	last  int // the site that was counted last: neighbours often lie together
}

// where is all that two machines of one site have in common.
type where struct {
	host             fleet.HostName
	network, storage string
}

// site is a set of machines that lie in the same domains.
type site struct {
	where
	domains                    []fleet.Domain
	members, failing, suspects int
}

// NewCensus makes an empty census. The hosts say where they stand.
func NewCensus(hosts []fleet.Host) *Census {
	return &Census{hosts: hosts, index: make(map[where]int)}
}

// Add counts one machine and returns the number of its site, or -1: a machine that lies nowhere shares nobody's fate.
func (c *Census) Add(at *fleet.Incarnation, is State) int {
	if at.None() {
		return -1
	}
	i := c.siteOf(where{at.Host, at.Network, at.Storage})
	s := &c.sites[i]
	s.members++
	switch is {
	case Failing:
		s.failing++
	case Suspect:
		s.suspects++
	case Sound:
	}
	return i
}

func (c *Census) siteOf(w where) int {
	if c.last < len(c.sites) && c.sites[c.last].where == w {
		return c.last
	}
	i, known := c.index[w]
	if !known {
		i = len(c.sites)
		c.sites = append(c.sites, site{where: w, domains: c.domainsOf(w)})
		c.index[w] = i
	}
	c.last = i
	return i
}

// domainsOf returns the domains that the site lies in, the most specific first.
func (c *Census) domainsOf(w where) []fleet.Domain {
	place := fleet.Place{}
	for _, h := range c.hosts {
		if h.Name == w.host {
			place = h.Place
		}
	}
	storage := w.storage
	if storage == "" {
		storage = place.Storage
	}
	var out []fleet.Domain
	for _, d := range [...]fleet.Domain{
		{Kind: fleet.DomainHost, Name: string(w.host)}, {Kind: fleet.DomainRack, Name: place.Rack},
		{Kind: fleet.DomainRoom, Name: place.Room}, {Kind: fleet.DomainZone, Name: place.Zone},
		{Kind: fleet.DomainNetwork, Name: w.network}, {Kind: fleet.DomainStorage, Name: storage},
	} {
		if !d.None() {
			out = append(out, d)
		}
	}
	return out
}

// Within reports whether the site lies in the domain.
func (c *Census) Within(site int, d fleet.Domain) bool {
	return site >= 0 && c.sites[site].within(d)
}

func (s *site) within(d fleet.Domain) bool {
	for _, own := range s.domains {
		if own == d {
			return true
		}
	}
	return false
}
