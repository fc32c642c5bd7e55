package picture

import (
	"cmp"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
)

// mostPlaces bounds the machines of a fleet that selects: a pattern that means everything does not fill the store.
const mostPlaces = 10_000

// size counts the machines that a fleet that selects has in its care: that is its size.
func (p *Picture) size() int {
	n := 0
	for i := range p.views {
		if !guard.Surplus(&p.views[i].Machine, &p.is.Spec) {
			n++
		}
	}
	return n
}

// offer shows each instance that the fleet selects, and does not have, to a place without one; where there is none,
// it makes room. What two fleets select is shown to neither. What becomes of an offer is for the next decision.
func (p *Picture) offer(c *Catalogue) {
	a := &p.is.Spec.Adopt
	if !a.Selects() {
		return
	}
	free := p.places()
	var found []fleet.Instance
	contested := make(map[fleet.InstanceID]record.Record)
	for _, u := range c.beginning(a.Select.Begins()) {
		id, i := u.id, c.byID[u.id]
		if i.Mark != (fleet.Mark{}) || free.taken[id] || !a.Select.Matches(&i) || a.Let(id) {
			continue
		}
		if rival := a.Contested(&i); rival != "" {
			contested[id] = record.Record{Kind: record.Adoption, Reason: fleet.ReasonContested, Alias: i.Name,
				Instance: id, Host: i.Host,
				Detail: string(rival)}
			continue
		}
		found = append(found, i)
	}
	p.contest(contested)
	slices.SortFunc(found, func(a, b fleet.Instance) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID))
	})
	for _, i := range found {
		if at, ok := p.placeFor(i, &free); ok {
			p.show(at, fleet.Sighting{Instance: i, Asked: c.asked})
		}
	}
}

// places are those of a fleet that selects.
type places struct {
	taken  map[fleet.InstanceID]bool // by the beliefs
	vacant []int                     // ascending
	gone   map[string]int            // that lost its adopted instance, by that one's name
}

func (p *Picture) places() places {
	out := places{taken: make(map[fleet.InstanceID]bool, len(p.views)), gone: make(map[string]int)}
	for i := range p.views {
		m := &p.views[i].Machine
		p.named = believed(m, p.named[:0])
		for _, b := range p.named {
			out.taken[b.ID] = true
		}
		switch {
		case m.Vacant():
			out.vacant = append(out.vacant, i)
		case m.Current.Adopted && m.Repair == nil &&
			p.views[i].Sighting(m.Current.ID).Instance.Power == fleet.PowerGone:
			out.gone[m.Alias] = i
		}
	}
	return out
}

// placeFor returns where the instance is offered: to the machine that had its name and lost its instance, else to the
// first place without one, else to a new one.
func (p *Picture) placeFor(i fleet.Instance, free *places) (index int, ok bool) {
	if at, was := free.gone[i.Name]; was {
		delete(free.gone, i.Name)
		return at, true
	}
	if len(free.vacant) > 0 {
		at := free.vacant[0]
		free.vacant = free.vacant[1:]
		return at, true
	}
	n := len(p.views)
	if n >= mostPlaces {
		return 0, false
	}
	last := 0
	if n > 0 {
		last, _ = p.views[n-1].Machine.Name.Ordinal()
	}
	p.grow(belief.Machine{Name: p.is.Spec.Name.Machine(last + 1),
		Health: belief.Health{Verdict: belief.VerdictUnknown}})
	return n, true
}

// grow adds a machine at the end.
func (p *Picture) grow(m belief.Machine) {
	p.add(m)
	p.aims = append(p.aims, aim{})
	p.open.grow(len(p.views))
	p.due(len(p.views) - 1)
	p.dirty = true
}

// show adds a sighting of an instance that is not the machine's own.
func (p *Picture) show(index int, s fleet.Sighting) {
	v := &p.views[index]
	v.Seen = append(v.Seen, s)
	sortSightings(v.Seen)
	p.due(index)
	p.dirty = true
}

// contest notes the instances that another fleet selects, too.
func (p *Picture) contest(now map[fleet.InstanceID]record.Record) {
	ids := make([]fleet.InstanceID, 0, len(now))
	for id := range now {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if was, told := p.contested[id]; !told || was != now[id].Detail {
			p.news = append(p.news, now[id])
		}
	}
	p.contested = make(map[fleet.InstanceID]string, len(now))
	for id := range now {
		p.contested[id] = now[id].Detail
	}
}

// News returns what is to be recorded about the fleet since it was asked last. At, Fleet and Provider are left to the
// caller.
func (p *Picture) News() []record.Record {
	news := p.news
	p.news = nil
	return news
}
