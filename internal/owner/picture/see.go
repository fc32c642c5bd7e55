package picture

import (
	"cmp"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// Doubt is an instance that the belief names and a complete listing does not have: only a question of its own can
// confirm its absence.
type Doubt struct {
	Index    int
	Instance belief.Incarnation
}

// SetProvider takes in how the provider as a whole stands, and returns how it stood: see ProviderRecords.
func (p *Picture) SetProvider(s fleet.ProviderState) (was fleet.ProviderState) {
	was = p.is.Provider
	p.is.Provider, p.dirty = s, true
	if was.Standing == fleet.ProviderUp && s.Standing == fleet.ProviderDown {
		p.fell(p.is.Hosts)
	}
	if was.Standing != s.Standing {
		for i := range p.views {
			p.due(i) // what the provider's word was worth has changed
		}
	}
	return was
}

// providerCalm is how long a provider must have been up before its next failure is another one: one that fails every
// other call is one incident, not hundreds, and a host on which hale depends alone may reboot twice in ten minutes.
const providerCalm = fleet.HostBoot

// ProviderRecords returns what is to be recorded when a provider that stood as was stands as now: nothing when its
// standing is the same, or at the ordinary beginning. At, Fleet and Provider are left to the caller. Since says when
// the standing began. A person is told at once of one that shows something else, and of one that does not answer when
// that lasts: see ProviderPage.
func (p *Picture) ProviderRecords(was, now fleet.ProviderState) []record.Record {
	if was.Standing == now.Standing || was.Standing == fleet.ProviderUnknown && now.Standing == fleet.ProviderUp {
		return nil
	}
	rec := record.Record{Kind: record.Provider, Detail: now.Detail}
	switch now.Standing {
	case fleet.ProviderUp:
		rec.Reason, p.providerUp = fleet.ReasonUp, now.Since
		rec.Paged, p.providerPaged = p.providerPaged, false
		return []record.Record{rec}
	case fleet.ProviderDown:
		rec.Reason = fleet.ReasonDown
	case fleet.ProviderDoubtful:
		rec.Reason = fleet.ReasonProviderDoubtful
	case fleet.ProviderUnknown:
	}
	stood := was.Standing == fleet.ProviderUp || was.Standing == fleet.ProviderUnknown
	if stood && (p.providerFails == 0 || now.Since.Sub(p.providerUp) >= providerCalm) {
		p.providerFails, p.providerTold = now.Since, ""
	}
	if now.Standing == fleet.ProviderDown || p.providerTold == now.Standing {
		return []record.Record{rec}
	}
	p.providerTold, p.providerPaged = now.Standing, true
	page := rec
	page.Kind = record.Paged
	return []record.Record{rec, page}
}

// ProviderPage returns when a person is to be told that the provider does not answer: when it has failed for as long as
// a host may take to boot. It may have answered for a moment of that. False: it answers, or a person was told.
func (p *Picture) ProviderPage() (at fleet.Instant, due bool) {
	due = p.is.Provider.Standing == fleet.ProviderDown && p.providerTold != fleet.ProviderDown
	return p.providerFails.Add(fleet.HostBoot), due
}

// ProviderPaged returns the page about the provider, as one that is told.
func (p *Picture) ProviderPaged() record.Record {
	p.providerTold, p.providerPaged = fleet.ProviderDown, true
	return record.Record{Kind: record.Paged, Reason: fleet.ReasonDown, Detail: p.is.Provider.Detail}
}

// See takes in a listing for the machines with the indices; nil means all of them. It returns the absent instances that
// must be asked for; one that is being asked about already is not returned again until Answered. The picture keeps the
// catalogue, and reads it again when it aims.
func (p *Picture) See(c *Catalogue, indices []int) []Doubt {
	p.welcome(c)
	p.disabled(c.hosts)
	p.hearSilence(c.hosts)
	p.catalogue, p.is.Hosts, p.dirty = c, c.hosts, true
	var doubts []Doubt
	if indices == nil {
		for i := range p.views {
			doubts = p.seeMachine(c, i, doubts)
		}
	}
	for _, i := range indices {
		doubts = p.seeMachine(c, i, doubts)
	}
	p.reaim()
	p.offer(c)
	p.asked = max(p.asked, c.asked)
	return doubts
}

// hearSilence keeps which hosts do not answer that each speak for themselves, and what they answered last.
func (p *Picture) hearSilence(now []fleet.Host) {
	if len(now) > 0 && len(p.is.Hosts) > 0 && &now[0] == &p.is.Hosts[0] {
		return
	}
	var fallen []fleet.Host
	for _, h := range p.is.Hosts {
		if !h.Up {
			continue
		}
		p.answered[h.Name] = p.asked
		if !slices.ContainsFunc(now, func(n fleet.Host) bool { return n.Name == h.Name && n.Up }) {
			fallen = append(fallen, h)
		}
	}
	p.fell(fallen)
	var silent []fleet.Silence
	for _, h := range now {
		if !h.Up && h.Independent {
			silent = append(silent, fleet.Silence{Host: h.Name, Answered: p.answered[h.Name]})
		}
	}
	if !slices.Equal(silent, p.is.Silent) {
		for i := range p.views {
			p.due(i) // what waits for a host to answer, or need not any more
		}
	}
	p.is.Silent = silent
}

// fell tells, of hosts that answered until now, those that were shut down in order from those that died: the former
// shuts down what runs there before it falls silent, be it that one machine or the other does not listen.
func (p *Picture) fell(hosts []fleet.Host) {
	late := func(r fleet.Ran) bool { return p.asked.Sub(r.At) <= fleet.HostBoot }
	for _, h := range hosts {
		var ended []*situation.View
		run := 0
		for i := range p.views {
			v := &p.views[i]
			seen := v.Sighting(v.Machine.Lies().ID).Instance
			switch {
			case seen.ID == "" || seen.Host != h.Name:
			case seen.Power == fleet.PowerRunning:
				run++
			case seen.Stop == fleet.StopShutdown && v.Ran.Instance == seen.ID && late(v.Ran):
				ended = append(ended, v)
			}
		}
		if len(ended) <= run {
			continue
		}
		for _, v := range ended {
			v.Ran.Ended = true
		}
	}
}

// ranUntil notes where the machine's instance was seen running last, when it is not seen running any more. Where the
// last listing had it as it was, it ran until then.
func (p *Picture) ranUntil(v *situation.View, was fleet.Sighting, listed bool) {
	if was.Instance.Power != fleet.PowerRunning {
		return
	}
	if listed {
		was.Asked = max(was.Asked, p.asked)
	}
	v.Ran = fleet.Ran{Instance: was.Instance.ID, Host: was.Instance.Host, At: was.Asked}
}

// runs reports whether one of the sightings has the instance running.
func runs(seen []fleet.Sighting, id fleet.InstanceID) bool {
	return slices.ContainsFunc(seen, func(s fleet.Sighting) bool {
		return s.Instance.ID == id && s.Instance.Power == fleet.PowerRunning
	})
}

// welcome has every machine judged that left something on a host which answers again, or cut on one that is not: it
// may run, or write, and a listing that shows it as it was says so, too.
func (p *Picture) welcome(c *Catalogue) {
	back, open := map[fleet.HostName]bool{}, false
	for _, h := range p.is.Hosts {
		if !h.Up && c.up[h.Name] {
			back[h.Name] = true
		}
	}
	for _, a := range c.access {
		open = open || a == fleet.AccessOpen
	}
	if len(back) == 0 && !open {
		return
	}
	for i := range p.views {
		if slices.ContainsFunc(p.views[i].Machine.Left, func(l belief.LeftBehind) bool {
			return back[l.Host] || l.Cut() && c.access[l.Host] == fleet.AccessOpen
		}) {
			p.due(i)
		}
	}
}

// disabled has the machines judged on each host that was disabled, or is not any more.
func (p *Picture) disabled(now []fleet.Host) {
	is := func(hosts []fleet.Host, name fleet.HostName) bool {
		for i := range hosts {
			if hosts[i].Disabled && hosts[i].Name == name {
				return true
			}
		}
		return false
	}
	for _, hosts := range [...][]fleet.Host{p.is.Hosts, now} {
		for h := range hosts {
			name := hosts[h].Name
			if !hosts[h].Disabled || is(p.is.Hosts, name) == is(now, name) {
				continue
			}
			for i := range p.views {
				if p.views[i].Machine.Current.Host == name {
					p.due(i)
				}
			}
		}
	}
}

// Answered says that the question about an instance's absence ended, whatever came of it.
func (p *Picture) Answered(id fleet.InstanceID) { delete(p.asking, id) }

func (p *Picture) seeMachine(c *Catalogue, index int, doubts []Doubt) []Doubt {
	v := &p.views[index]
	p.named = believed(&v.Machine, p.named[:0])
	lies := v.Machine.Lies().ID
	listed := !p.asking[lies]
	seen := p.seen[:0]
	for _, b := range p.named {
		old := v.Sighting(b.ID)
		i, listed := c.listed(b.ID)
		switch {
		case listed && c.asked >= old.Asked:
			seen = append(seen, fleet.Sighting{Instance: i, Asked: c.asked})
		case !c.up[b.Host] && old.Asked < c.asked: // its host cannot be asked: nothing is known
		case listed || old.Asked >= c.asked:
			seen = append(seen, old)
		case old.Instance.Power == fleet.PowerGone: // and still not there
			old.Asked = c.asked
			seen = append(seen, old)
		default: // not listed is not yet gone
			seen = append(seen, old)
			if !p.asking[b.ID] {
				p.asking[b.ID] = true
				doubts = append(doubts, Doubt{Index: index, Instance: b})
			}
		}
	}
	for _, id := range c.marked[bearer{p.is.Spec.Name, v.Machine.Name}] {
		if !names(p.named, id) {
			seen = append(seen, fleet.Sighting{Instance: c.byID[id], Asked: c.asked})
		}
	}
	sortSightings(seen)
	if differ(v.Seen, seen) || believable(v, seen) || stillContested(v, seen) {
		p.due(index)
	}
	if !runs(seen, lies) {
		p.ranUntil(v, v.Sighting(lies), listed)
	}
	v.Seen = append(v.Seen[:0], seen...)
	p.seen = seen
	p.aim(index)
	return doubts
}

// believable reports whether the provider's word on an instance counts from now on, and did not before: what was
// asked before the last act, or before the beginning of a term, says nothing, even if it is the same.
func believable(v *situation.View, seen []fleet.Sighting) bool {
	acted := v.Machine.Acted
	return slices.ContainsFunc(seen, func(s fleet.Sighting) bool {
		return s.Asked > acted &&
			v.Sighting(s.Instance.ID).Asked <= acted
	})
}

// stillContested reports whether another listing shows an instance on two hosts, and a person is to be told of that.
func stillContested(v *situation.View, seen []fleet.Sighting) bool {
	return (v.Machine.Contest == nil || !v.Machine.Contest.Paged) &&
		slices.ContainsFunc(seen, func(s fleet.Sighting) bool { return s.Instance.Contested() })
}

// AwaitsAddress reports whether the machine waits to be verified and the provider names no address for it yet: then
// the next listing should come soon.
func (p *Picture) AwaitsAddress(i int) bool {
	m := &p.views[i].Machine
	return m.Repair != nil && (m.Repair.Phase == belief.PhaseVerify || m.Repair.Phase == belief.PhaseProvision) &&
		!p.views[i].Sighting(m.Current.ID).Instance.Address.IsValid()
}

// Sight takes in what the provider said of one instance. Others than those the machine is known to have are none of
// its business.
func (p *Picture) Sight(i int, s fleet.Sighting) {
	v := &p.views[i]
	p.named = believed(&v.Machine, p.named[:0])
	if !names(p.named, s.Instance.ID) && v.Sighting(s.Instance.ID).Asked == 0 {
		return
	}
	p.dirty = true
	p.due(i)
	s.Instance = p.catalogue.joined(s.Instance)
	if was := v.Sighting(s.Instance.ID); s.Asked > was.Asked && s.Instance.ID == v.Machine.Lies().ID &&
		s.Instance.Power != fleet.PowerRunning {
		p.ranUntil(v, was, p.catalogue != nil && p.catalogue.lists(was.Instance.ID))
	}
	for k := range v.Seen {
		if v.Seen[k].Instance.ID == s.Instance.ID {
			if s.Asked > v.Seen[k].Asked {
				v.Seen[k] = s
			}
			return
		}
	}
	v.Seen = append(v.Seen, s)
	sortSightings(v.Seen)
}

// believed appends the instances that the belief names, each once.
func believed(m *belief.Machine, out []belief.Incarnation) []belief.Incarnation {
	add := func(i belief.Incarnation) {
		if !i.None() && !names(out, i.ID) {
			out = append(out, i)
		}
	}
	add(m.Current)
	if m.Repair != nil {
		add(m.Repair.Target)
		add(m.Repair.Next)
		add(m.Repair.Back)
		if in := m.Repair.Intent; in != nil {
			add(belief.Incarnation{ID: in.Instance, Host: in.Host})
		}
	}
	for _, s := range m.Strays {
		add(belief.Incarnation{ID: s.ID, Host: s.Host})
	}
	return out
}

func names(list []belief.Incarnation, id fleet.InstanceID) bool {
	for _, i := range list {
		if i.ID == id {
			return true
		}
	}
	return false
}

func sortSightings(s []fleet.Sighting) {
	slices.SortFunc(s, func(a, b fleet.Sighting) int { return cmp.Compare(a.Instance.ID, b.Instance.ID) })
}

// differ reports whether two lists of sightings say different things; when they were asked does not count.
func differ(a, b []fleet.Sighting) bool {
	if len(a) != len(b) {
		return true
	}
	for i := range a {
		if a[i].Instance != b[i].Instance {
			return true
		}
	}
	return false
}
