package leaving

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Scene is what a choice rests on.
type Scene struct {
	Spec     *policy.Spec // with what is in force
	Machines []situation.View
	Hosts    []fleet.Host
	Gauges   []fleet.Gauge
	// Fit reports whether the machine may be chosen. Those that may not count in their domains all the same, unless
	// they are Gone.
	Fit func(*belief.Machine) bool
	// Gone reports whether the machine is to go already.
	Gone func(*belief.Machine) bool
	// Fresh reports whether what was built then is not to go yet, unless it fails; nil: nothing is kept for that.
	Fresh func(built time.Time) bool
	// Beside reports whether the machine is a spare, which does not serve: it stays, unless it fails. Nil: none is. So
	// many more spares than there are to be go first.
	Beside  func(fleet.MachineName) bool
	TooMany int
	// Spare leaves the fleet as many healthy machines as it is to have at least, and each domain its last one while
	// another one has more.
	Spare bool
}

// Leaver is a machine that goes.
type Leaver struct {
	Machine  fleet.MachineName
	Instance fleet.InstanceID // empty: it has none
	Why      fleet.Reason     // it is this one
}

// plain are the rules of a fleet that says none.
var plain = []policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveHighestNumber}

// Choose returns as many machines as are to go, the first one first, or as many as may.
func Choose(s Scene, n int) []Leaver {
	c, said := choice{Scene: s, excess: s.TooMany}, plain
	if z := s.Spec.Sizing; z != nil {
		c.even = z.Even
		if len(z.Leave) > 0 {
			said = z.Leave
		}
	}
	c.rules = c.rulesOf(said)
	if c.by = c.even; c.by == "" {
		c.by = s.Spec.Placement.By()
	}
	c.count()
	var out []Leaver
	for len(out) < n {
		best, why := c.next()
		if best == nil {
			break
		}
		out = append(out, Leaver{Machine: best.m.Name, Instance: best.m.Current.ID, Why: why})
		c.take(best)
	}
	return out
}

// one is a machine of which the choice is.
type one struct {
	m       *belief.Machine
	built   time.Time // its instance, as that is marked
	number  int
	domain  string
	healthy bool
	fit     bool
	beside  bool // it is a spare
}

type choice struct {
	Scene
	rules    []rule
	even, by fleet.DomainKind
	all      []one
	excess   int // spares beyond those that there are to be
	// inDomain counts the machines that serve and stay in each domain, and well those of them that are healthy.
	inDomain, well map[string]int
	healthy        int
	busy           map[fleet.MachineName]float64
}

// count looks at the machines that stay.
func (c *choice) count() {
	c.inDomain, c.well = map[string]int{}, map[string]int{}
	for i := range c.Machines {
		v := &c.Machines[i]
		n, ok := v.Machine.Name.Ordinal()
		if !ok || !c.Spec.Has(n) || c.Gone(&v.Machine) {
			continue
		}
		seen := v.Sighting(v.Machine.Current.ID)
		o := one{m: &v.Machine, built: seen.Instance.Mark.Built, number: n,
			domain: c.domain(&v.Machine), healthy: v.Machine.Health.Verdict == belief.VerdictHealthy}
		// while its host does not answer, its mark cannot be read: it may have been built just now
		fresh := c.Fresh != nil && o.healthy && (!seen.Known() || c.Fresh(o.built))
		o.fit = c.Fit(&v.Machine) && !fresh
		o.beside = c.Beside != nil && c.Beside(o.m.Name)
		c.all = append(c.all, o)
		c.weigh(&o, 1)
	}
	if z := c.Spec.Sizing; z != nil {
		if g := fleet.Gauged(c.Gauges, z.Busy); g != nil {
			c.busy = make(map[fleet.MachineName]float64, len(g.Each))
			for _, e := range g.Each {
				c.busy[e.Machine] = e.Value
			}
		}
	}
}

// domain returns the name of the domain in which the machine lies; empty: that is not known.
func (c *choice) domain(m *belief.Machine) string {
	for i := range c.Hosts {
		if c.Hosts[i].Name == m.Current.Host {
			return c.Hosts[i].Within(c.by)
		}
	}
	return ""
}

// next returns the machine that goes next, and why it is that one: by the first rule that tells it from any other that
// could go.
func (c *choice) next() (*one, fleet.Reason) {
	var could []*one
	for i := range c.all {
		if o := &c.all[i]; o.fit && !c.spared(o) && !c.standsBy(o) {
			could = append(could, o)
		}
	}
	if len(could) == 0 {
		return nil, ""
	}
	best := slices.MinFunc(could, c.compare)
	switch {
	case best.beside && c.excess > 0:
		return best, fleet.ReasonTooManySpares
	case best.m.Current.None() || burdened(best.m):
		return best, fleet.ReasonFailing
	}
	for _, r := range c.rules {
		if slices.ContainsFunc(could, func(o *one) bool { return r.why != "" && r.order(best, o) != 0 }) {
			return best, r.why
		}
	}
	return best, fleet.ReasonHighestNumber
}

// take counts the machine out.
func (c *choice) take(o *one) {
	o.fit = false
	c.weigh(o, -1)
	if o.beside {
		c.excess--
	}
}

// weigh counts so many machines more like this one in its domain, where they serve.
func (c *choice) weigh(o *one, by int) {
	if o.beside {
		return
	}
	c.inDomain[o.domain] += by
	if o.healthy {
		c.healthy += by
		c.well[o.domain] += by
	}
}

// standsBy reports whether it is a spare that the fleet is to have, and fit to take a place.
func (c *choice) standsBy(o *one) bool {
	return o.beside && c.excess <= 0 && !o.m.Current.None() && !burdened(o.m)
}

// spared reports whether it is one of the last healthy machines that the fleet is to have at least, or the last one of
// its domain while another domain has more.
func (c *choice) spared(o *one) bool {
	switch z := c.Spec.Sizing; {
	case !c.Spare || !o.healthy || o.beside:
		return false
	case z != nil && c.healthy <= z.Min:
		return true
	case o.domain == "" || c.well[o.domain] > 1:
		return false
	}
	for name, n := range c.well {
		if name != o.domain && n > 1 {
			return true
		}
	}
	return false
}

// rule orders two machines, what goes first first, and says why that goes; empty: that is no reason to be told.
type rule struct {
	order func(a, b *one) int
	why   fleet.Reason
}

// rulesOf are all rules, in their order, where the fleet says these.
func (c *choice) rulesOf(said []policy.LeaveRule) []rule {
	all := []rule{{c.guarded, ""}, {c.idle, ""}, {func(a, b *one) int {
		return cmp.Compare(hasInstance(a),
			hasInstance(b))
	},
		fleet.ReasonFailing}}
	if said[0] == policy.LeaveUnhealthy { // what fails goes even where its domain has few
		all, said = append(all, c.ruleOf(said[0])), said[1:]
	}
	if c.even != "" {
		all = append(all, rule{func(a, b *one) int { return cmp.Compare(c.inDomain[b.domain], c.inDomain[a.domain]) },
			fleet.ReasonEven})
	}
	for _, r := range said {
		all = append(all, c.ruleOf(r))
	}
	return append(all, c.ruleOf(policy.LeaveHighestNumber))
}

// compare orders two machines: what goes first comes first.
func (c *choice) compare(a, b *one) int {
	for _, r := range c.rules {
		if x := r.order(a, b); x != 0 {
			return x
		}
	}
	return 0
}

// ruleOf returns one of the rules that a fleet may have.
func (c *choice) ruleOf(r policy.LeaveRule) rule {
	switch r {
	case policy.LeaveUnhealthy:
		return rule{func(a, b *one) int { return cmp.Compare(health(a), health(b)) }, fleet.ReasonFailing}
	case policy.LeaveOldestTemplate:
		return rule{func(a, b *one) int { return cmp.Compare(a.m.Current.Edition, b.m.Current.Edition) },
			fleet.ReasonOldTemplate}
	case policy.LeaveOldest:
		return rule{func(a, b *one) int { return a.built.Compare(b.built) }, fleet.ReasonOldest}
	case policy.LeaveNewest:
		return rule{func(a, b *one) int { return b.built.Compare(a.built) }, fleet.ReasonNewest}
	case policy.LeaveRandom:
		return rule{func(a, b *one) int { return cmp.Compare(lot(a), lot(b)) }, fleet.ReasonRandom}
	case policy.LeaveLeastBusy:
		return rule{c.idler, fleet.ReasonLeastBusy}
	case policy.LeaveHighestNumber:
		return rule{func(a, b *one) int { return cmp.Compare(b.number, a.number) }, fleet.ReasonHighestNumber}
	}
	return rule{order: func(_, _ *one) int { return 0 }} // no configuration that was checked has another one
}

// idler orders by how busy the machines are. Of one that is not known it is unknown, and it goes last.
func (c *choice) idler(a, b *one) int {
	x, known := c.busy[a.m.Name]
	y, other := c.busy[b.m.Name]
	switch {
	case known && other:
		return cmp.Compare(x, y)
	case known:
		return -1
	case other:
		return 1
	}
	return 0
}

// guarded orders a machine that is never disrupted, or that no opinion removes, last: where a person has it chosen all
// the same.
func (c *choice) guarded(a, b *one) int {
	last := func(o *one) int {
		z := c.Spec.Sizing
		if c.Spec.Protects(o.m.Name) || z != nil && slices.Contains(z.Stay, o.number) {
			return 1
		}
		return 0
	}
	return cmp.Compare(last(a), last(b))
}

// idle orders spares first, as long as there are more of them than there are to be.
func (c *choice) idle(a, b *one) int {
	first := func(o *one) int {
		if o.beside && c.excess > 0 {
			return 0
		}
		return 1
	}
	return cmp.Compare(first(a), first(b))
}

func hasInstance(o *one) int {
	if o.m.Current.None() {
		return 0
	}
	return 1
}

// health is 0 for a machine that fails, else 1: what is unknown may serve.
func health(o *one) int {
	if burdened(o.m) {
		return 0
	}
	return 1
}

// burdened reports whether the machine fails. One of which too little is known does not.
func burdened(m *belief.Machine) bool { return m.Incident != nil && !m.Incident.Blind() }

// lot is the machine's in a drawing that always ends alike.
func lot(o *one) uint64 {
	h := fnv.New64a()
	h.Write([]byte(string(o.m.Name) + "\x00" + string(o.m.Current.ID))) // hash.Hash never fails to write
	return h.Sum64()
}
