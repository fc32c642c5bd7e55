// Package correlation finds out whether machines that fail share a cause: whether failures concentrate in one domain (a
// host, a rack, a network) beyond chance.
//
// It promises that it takes random failures for a shared fate in hardly more than one of a hundred draws, however many
// domains there are (it divides the bound among them, after Bonferroni). Of several domains it blames the least
// probable, of equals the most specific. Domains that fail at once do not hide each other. Equal counts give equal
// findings. It is pure counting: it knows neither time nor policy, and holds no repair back; packages decide and guard
// do.
package correlation

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

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

// Census counts the machines of a fleet by where they lie: its population, which hardly ever changes, and who of it
// fails. The zero value is to be begun.
type Census struct {
	standing []fleet.Host // the hosts that it was begun with; only their places count
	hosts    map[fleet.HostName]fleet.Place
	sites    []site
	index    map[where]int
	last     int            // the site that was counted last
	domains  []fleet.Domain // every one that a site lies in, by its number; number 0 is no domain
	numbers  map[fleet.Domain]int
	tallies  []tally // used again by each count
}

// where is all that two machines of one site have in common.
type where struct {
	host             fleet.HostName
	network, storage string
}

// site is a set of machines that lie in the same domains.
type site struct {
	where
	in                         [kinds]int // the numbers of its domains, the most specific first
	members, failing, suspects int
	beside                     fleet.Lot // the machines of other fleets
	next                       int       // the site that was counted after this one the last time
}

// kinds is how many domains a machine lies in at most: one of each kind.
const kinds = 6

// Begin makes the census an empty one; it may have been used before. The hosts say where they stand.
func (c *Census) Begin(hosts []fleet.Host) {
	if c.hosts == nil {
		c.hosts, c.index, c.numbers = map[fleet.HostName]fleet.Place{}, map[where]int{}, map[fleet.Domain]int{}
	}
	clear(c.hosts)
	clear(c.index)
	clear(c.numbers)
	c.sites, c.last, c.domains = c.sites[:0], 0, append(c.domains[:0], fleet.Domain{})
	c.standing = append(c.standing[:0], hosts...)
	for i := range hosts {
		c.hosts[hosts[i].Name] = hosts[i].Place
	}
}

// Holds reports whether the census was begun with hosts that stand where these do.
func (c *Census) Holds(hosts []fleet.Host) bool {
	return slices.EqualFunc(c.standing, hosts, func(a, b fleet.Host) bool {
		return a.Name == b.Name && a.Place == b.Place
	})
}

// Add counts one sound machine and returns the number of its site, or -1: a machine without an instance lies in no
// domain.
func (c *Census) Add(at *belief.Incarnation) int {
	if at.None() {
		return -1
	}
	i := c.siteOf(where{at.Host, at.Network, at.Storage})
	c.sites[i].members++
	return i
}

// Move counts a machine that was added at a site where it lies now, and returns that site.
func (c *Census) Move(from int, to *belief.Incarnation) int {
	if from >= 0 {
		c.sites[from].members--
	}
	return c.Add(to)
}

// Mark sets the state of one machine at the site. A machine without a state is sound.
func (c *Census) Mark(site int, is State) {
	if site < 0 {
		return
	}
	switch is {
	case Failing:
		c.sites[site].failing++
	case Suspect:
		c.sites[site].suspects++
	case Sound:
	}
}

// Unmark keeps the population and takes it to be sound.
func (c *Census) Unmark() {
	for i := range c.sites {
		c.sites[i].failing, c.sites[i].suspects, c.sites[i].beside = 0, 0, fleet.Lot{}
	}
}

// Beside counts the machines of other fleets, too, where they lie.
func (c *Census) Beside(lots []fleet.Lot) {
	for _, l := range lots {
		at := &c.sites[c.siteOf(where{l.Host, l.Network, l.Storage})].beside
		at.Members, at.Failing, at.Suspect = at.Members+l.Members, at.Failing+l.Failing, at.Suspect+l.Suspect
	}
}

// Lots returns what was counted of this fleet, sorted by place.
func (c *Census) Lots() []fleet.Lot {
	lots := make([]fleet.Lot, 0, len(c.sites))
	for i := range c.sites {
		if s := &c.sites[i]; s.members > 0 {
			lots = append(lots, fleet.Lot{Host: s.host, Network: s.network, Storage: s.storage,
				Members: s.members, Failing: s.failing, Suspect: s.suspects})
		}
	}
	slices.SortFunc(lots, fleet.Lot.Compare)
	return lots
}

// Unsure reports whether any machine of any fleet may turn out to fail.
func (c *Census) Unsure() bool {
	return slices.ContainsFunc(c.sites, func(s site) bool { return s.suspects+s.beside.Suspect > 0 })
}

// Concerns reports whether a machine of this fleet fails in the domain.
func (c *Census) Concerns(d fleet.Domain) bool {
	n, known := c.numbers[d]
	return known && slices.ContainsFunc(c.sites, func(s site) bool { return s.failing > 0 && s.within(n) })
}

// siteOf finds the site. It looks first where the order of the machines before leads: they were placed side by side or
// in turn.
func (c *Census) siteOf(w where) int {
	if c.last < len(c.sites) {
		switch before := &c.sites[c.last]; {
		case before.where == w:
			return c.last
		case c.sites[before.next].where == w:
			c.last = before.next
			return c.last
		}
	}
	i, known := c.index[w]
	if !known {
		i = len(c.sites)
		c.sites = append(c.sites, c.newSite(w))
		c.index[w] = i
	}
	c.sites[c.last].next = i
	c.last = i
	return i
}

// newSite finds out which domains the site lies in.
func (c *Census) newSite(w where) site {
	s := site{where: w}
	place := c.hosts[w.host]
	storage := w.storage
	if storage == "" {
		storage = place.Storage
	}
	for k, d := range [kinds]fleet.Domain{
		{Kind: fleet.DomainHost, Name: string(w.host)}, {Kind: fleet.DomainRack, Name: place.Rack},
		{Kind: fleet.DomainRoom, Name: place.Room}, {Kind: fleet.DomainZone, Name: place.Zone},
		{Kind: fleet.DomainNetwork, Name: w.network}, {Kind: fleet.DomainStorage, Name: storage},
	} {
		switch {
		case d.None():
		case len(c.sites) > 0 && c.domains[c.sites[c.last].in[k]] == d: // neighbours have most in common
			s.in[k] = c.sites[c.last].in[k]
		default:
			s.in[k] = c.numberOf(d)
		}
	}
	return s
}

func (c *Census) numberOf(d fleet.Domain) int {
	n, known := c.numbers[d]
	if !known {
		n = len(c.domains)
		c.domains = append(c.domains, d)
		c.numbers[d] = n
	}
	return n
}

// Knows reports whether a machine of any fleet lies in the domain.
func (c *Census) Knows(d fleet.Domain) bool { return c.numbers[d] != 0 }

// Within reports whether the site lies in the domain.
func (c *Census) Within(site int, d fleet.Domain) bool {
	n, known := c.numbers[d]
	return site >= 0 && known && c.sites[site].within(n)
}

// First returns, for each site, the index of the first of the domains that it lies in; -1: it lies in none. It takes
// the place of what was returned before.
func (c *Census) First(domains []fleet.Domain, before []int) []int {
	first := before[:0]
	for i := range c.sites {
		at := -1
		for _, n := range c.sites[i].in {
			if d := slices.Index(domains, c.domains[n]); n != 0 && d >= 0 && (at < 0 || d < at) {
				at = d
			}
		}
		first = append(first, at)
	}
	return first
}

func (s *site) within(domain int) bool {
	for _, own := range s.in {
		if own == domain {
			return true
		}
	}
	return false
}
