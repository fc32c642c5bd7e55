package rehearsal

import (
	"slices"
	"strings"
	"time"

	"hale/internal/sim"
	"hale/internal/sim/script"
	"hale/internal/sim/trace"
	"hale/internal/sim/verbs"
)

const (
	// oneMoment is within which outages of one rack are taken for one: the clocks and logs of nodes differ.
	oneMoment = time.Minute
	// leastTogether is how many of them it takes, which have to be half of the rack, too.
	leastTogether = 2
)

// together takes out of the trace what failed with its rack: at least half of the machines there, in one moment, by
// power or switch, or for no stated cause. It is one failure, and so it plays: the rack, or the host that is in none,
// loses power or is cut off until the last of its nodes was back. It returns the outages that are part of one.
func (p *placing) together(t trace.Trace) map[int]bool {
	part := map[int]bool{}
	if len(p.o.Homes) < p.o.Spec.Size {
		return part // where they stand is not the trace's
	}
	members := map[string]int{}
	for i := range p.o.Spec.Size {
		members[p.domainOf(i)]++
	}
	for _, verb := range []script.Verb{verbs.LosesPower, verbs.IsCutOff} {
		byDomain := map[string][]int{}
		var domains []string
		for i, o := range t {
			n, placed := p.of[i]
			if !placed || o.Rack == "" || commonVerb(o) != verb {
				continue
			}
			d := p.domainOf(n)
			if byDomain[d] == nil {
				domains = append(domains, d)
			}
			byDomain[d] = append(byDomain[d], i)
		}
		for _, d := range domains {
			p.joins(t, byDomain[d], d, verb, members[d], part)
		}
	}
	return part
}

// joins makes one event of each moment in which enough of the domain's outages begin.
func (p *placing) joins(t trace.Trace, all []int, domain string, verb script.Verb, members int, part map[int]bool) {
	slices.SortStableFunc(all, func(a, b int) int { return int(t[a].Start - t[b].Start) })
	for len(all) > 0 {
		begins := t[all[0]].Start
		n := 1
		for n < len(all) && t[all[n]].Start-begins <= oneMoment {
			n++
		}
		struck := map[int]bool{}
		ends := begins
		for _, i := range all[:n] {
			struck[p.of[i]] = true
			ends = max(ends, t[i].End)
		}
		if len(struck) >= leastTogether && 2*len(struck) >= members {
			for _, i := range all[:n] {
				part[i] = true
			}
			p.o.Plan = append(
				p.o.Plan,
				script.Event{At: quiet + begins, Subject: domain, Verb: verb, For: ends - begins},
			)
		}
		all = all[n:]
	}
}

// domainOf returns the rack that the machine stands in, or its host where that is in none.
func (p *placing) domainOf(machine int) string {
	home := p.o.Homes[machine]
	for _, h := range p.o.Hosts {
		if h.Name == home && h.Rack != "" {
			return "rack " + h.Rack
		}
	}
	return "host " + home
}

// commonVerb is what befalls a rack when all its nodes had such an outage; empty: it befalls each node by itself.
func commonVerb(o trace.Outage) script.Verb {
	switch strings.ToLower(o.Cause) {
	case "", "power":
		return verbs.LosesPower
	case "network", string(verbs.LosesNet):
		return verbs.IsCutOff
	}
	return ""
}

// Both plays a trace, and drawn faults on the same hosts beside it.
type Both struct {
	Recorded Recorded
	Faults   Faults
}

// Title implements Weather.
func (b Both) Title() string { return b.Recorded.Title() + ", " + b.Faults.Title() }

func (b Both) befall(o *sim.Options) (unfit []string) {
	unfit = b.Recorded.befall(o)
	recorded := o.Plan
	unfit = append(unfit, b.Faults.befall(o)...)
	o.Plan = script.Merge(recorded, o.Plan)
	return unfit
}
