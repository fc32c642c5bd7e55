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
	// Spare leaves each domain its last healthy machine while another one has more.
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
	c := choice{Scene: s, rules: plain}
	if z := s.Spec.Sizing; z != nil {
		c.even = z.Even
		if len(z.Leave) > 0 {
			c.rules = z.Leave
		}
	}
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
}

type choice struct {
	Scene
	rules    []policy.LeaveRule
	even, by fleet.DomainKind
	all      []one
	// inDomain counts the machines that stay in each domain, and well those of them that are healthy.
	inDomain, well map[string]int
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
		o := one{m: &v.Machine, built: v.Sighting(v.Machine.Current.ID).Instance.Mark.Built, number: n,
			domain: c.domain(&v.Machine), fit: c.Fit(&v.Machine),
			healthy: v.Machine.Health.Verdict == belief.VerdictHealthy}
		c.all = append(c.all, o)
		c.inDomain[o.domain]++
		if o.healthy {
			c.well[o.domain]++
		}
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

// next returns the machine that goes next, and why it is that one: by what it differs from the next but one.
func (c *choice) next() (*one, fleet.Reason) {
	var best, second *one
	for i := range c.all {
		o := &c.all[i]
		if !o.fit || c.spared(o) {
			continue
		}
		if best == nil {
			best = o
			continue
		}
		if order, _ := c.compare(o, best); order < 0 {
			best, second = o, best
		} else if second == nil {
			second = o
		} else if order, _ := c.compare(o, second); order < 0 {
			second = o
		}
	}
	switch {
	case best == nil:
		return nil, ""
	case best.m.Current.None() || burdened(best.m):
		return best, fleet.ReasonFailing
	case second == nil:
		return best, fleet.ReasonHighestNumber
	}
	_, why := c.compare(best, second)
	return best, why
}

// take counts the machine out.
func (c *choice) take(o *one) {
	o.fit = false
	c.inDomain[o.domain]--
	if o.healthy {
		c.well[o.domain]--
	}
}

// spared reports whether it is the last healthy machine of its domain while another domain has more.
func (c *choice) spared(o *one) bool {
	if !c.Spare || !o.healthy || o.domain == "" || c.well[o.domain] > 1 {
		return false
	}
	for name, n := range c.well {
		if name != o.domain && n > 1 {
			return true
		}
	}
	return false
}

// compare orders two machines: what goes first comes first. It says by what they differ.
func (c *choice) compare(a, b *one) (int, fleet.Reason) {
	if x := cmp.Compare(c.guarded(a), c.guarded(b)); x != 0 {
		return x, fleet.ReasonHighestNumber
	}
	if x := cmp.Compare(hasInstance(a), hasInstance(b)); x != 0 {
		return x, fleet.ReasonFailing
	}
	rules := c.rules
	if rules[0] == policy.LeaveUnhealthy { // what fails goes even where its domain has few
		if x := cmp.Compare(health(a), health(b)); x != 0 {
			return x, fleet.ReasonFailing
		}
		rules = rules[1:]
	}
	if x := cmp.Compare(c.inDomain[b.domain], c.inDomain[a.domain]); x != 0 && c.even != "" {
		return x, fleet.ReasonEven
	}
	for _, rule := range rules {
		if x, why := c.byRule(rule, a, b); x != 0 {
			return x, why
		}
	}
	return cmp.Compare(b.number, a.number), fleet.ReasonHighestNumber
}

// byRule orders two machines by one rule.
func (c *choice) byRule(rule policy.LeaveRule, a, b *one) (int, fleet.Reason) {
	switch rule {
	case policy.LeaveUnhealthy:
		return cmp.Compare(health(a), health(b)), fleet.ReasonFailing
	case policy.LeaveOldestTemplate:
		return cmp.Compare(a.m.Current.Edition, b.m.Current.Edition), fleet.ReasonOldTemplate
	case policy.LeaveOldest:
		return a.built.Compare(b.built), fleet.ReasonOldest
	case policy.LeaveNewest:
		return b.built.Compare(a.built), fleet.ReasonNewest
	case policy.LeaveRandom:
		return cmp.Compare(lot(a), lot(b)), fleet.ReasonRandom
	case policy.LeaveLeastBusy:
		return c.idler(a, b), fleet.ReasonLeastBusy
	case policy.LeaveHighestNumber:
		return cmp.Compare(b.number, a.number), fleet.ReasonHighestNumber
	}
	return 0, ""
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

// guarded is 1 for a machine that is never disrupted, or that no opinion removes: where a person has it chosen all the
// same, it comes last. Else it is 0.
func (c *choice) guarded(o *one) int {
	z := c.Spec.Sizing
	if c.Spec.Protects(o.m.Name) || z != nil && slices.Contains(z.Stay, o.number) {
		return 1
	}
	return 0
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
