package sim

import (
	"maps"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
)

// past is what the store held at a time, with what the judge knows of the orders in it.
type past struct {
	beliefs []fleet.Machine
	overall overall
	inbox   []fleet.Order
	named   map[fleet.InstanceID]bool
	starts  starts
	plans   plans
}

// downtime is how long hale does not run while its store changes.
type downtime time.Duration

const (
	powerLoss   = downtime(5 * time.Second) // the machine that hale runs on boots
	restoration = downtime(time.Minute)     // a person restores a backup
)

// remembers has the store keep what it holds when an event will bring that back.
func (s *stage) remembers(e *script.Event) {
	if at, is := e.Since(); is {
		s.w.At(at, func() { s.store.pasts[at] = s.store.now(s.judge) })
	}
}

// now returns what the store holds.
func (s *store) now(j *judge) *past {
	p := &past{
		overall: overall{s.overall.Brake, s.overall.Whole.Clone(), s.overall.Slots}, inbox: slices.Clone(s.inbox),
		named: maps.Clone(s.named), starts: s.starts.clone(), plans: j.plans.clone(),
	}
	for i := range s.beliefs {
		p.beliefs = append(p.beliefs, s.beliefs[i].Clone())
	}
	return p
}

// hold has the store hold what it held, under no lease.
func (s *store) hold(p *past) {
	for i := range p.beliefs {
		s.beliefs[i] = p.beliefs[i].Clone()
	}
	s.overall = overall{p.overall.Brake, p.overall.Whole.Clone(), p.overall.Slots}
	s.inbox, s.named, s.starts, s.owner = slices.Clone(p.inbox), maps.Clone(p.named), p.starts.clone(), nil
	s.term++ // its owner owns the fleet no longer
}

// rollsBack kills hale, puts the store back to what it held, and starts hale again.
func rollsBack(d downtime) act {
	return func(s *stage, e script.Event) (func(), error) {
		if s.rival != nil {
			return nil, nil // it has no store
		}
		at, _ := e.Since()
		var dead []*server
		for _, c := range s.servers {
			if c.alive {
				c.crash()
				dead = append(dead, c)
			}
		}
		s.store.hold(s.store.pasts[at])
		s.judge.rolledBack(s.store.pasts[at])
		s.judge.nightFalls(e, "")
		s.w.After(time.Duration(d), func() {
			for _, c := range dead {
				if !c.alive {
					c.start()
				}
			}
		})
		return nil, nil
	}
}

// rolledBack takes in that hale knows what it knew then, and nothing later.
func (j *judge) rolledBack(p *past) {
	was := j.s.store.overall
	j.plans = p.plans.clone()
	j.wishes.holds, j.wishes.braked = slices.Clone(was.Whole.Holds), was.Brake.By != ""
	clear(j.steps)
	j.tells(was)
	j.leave(was.Whole.Ledger)
	j.booked = was.Whole.Ledger
	j.recount()
	for i := range j.outages {
		if name := string(j.s.spec.Name.Machine(i + 1)); j.isBeyond(name) {
			j.unmissed(name)
		}
	}
	j.rolled = true
	for _, d := range j.s.w.DiskCopies() {
		if m := j.belief(d.Machine); m == nil || m.SnapshotAt(fleet.SnapshotID(d.ID)) < 0 {
			j.forgot[copyMade{d.Machine, d.ID}] = true
		}
	}
}

// clone returns a copy that shares nothing with the plans.
func (p *plans) clone() plans {
	c := *p
	c.shown, c.leaving, c.renewed = maps.Clone(p.shown), maps.Clone(p.leaving), maps.Clone(p.renewed)
	c.left, c.going, c.away = maps.Clone(p.left), maps.Clone(p.going), maps.Clone(p.away)
	return c
}

// names notes which instances a belief names that is stored.
func (s *store) names(m *fleet.Machine) {
	s.name(m.Current.ID)
	if r := m.Repair; r != nil {
		s.name(r.Target.ID)
		s.name(r.Next.ID)
		s.name(r.Back.ID)
		if r.Intent != nil {
			s.name(r.Intent.Instance)
		}
	}
}

func (s *store) name(id fleet.InstanceID) {
	if id != "" && !s.named[id] {
		s.named[id] = true
	}
}

// astray reports whether there is an instance that hale built, or a start of hale that is noted, and the store does not
// know it: it lost its memory of it, or never had it.
func (j *judge) astray() bool {
	unknown := func(n string) bool { return !j.s.store.starts.noted[fleet.StartName(n)] }
	if slices.ContainsFunc(j.s.w.Noted(j.s.installation), unknown) {
		return true
	}
	if !j.rolled {
		return false
	}
	for i := range j.s.store.beliefs {
		for _, vm := range j.s.w.All(string(j.s.spec.Name.Machine(i + 1))) {
			if j.unknown(vm.ID) {
				return true
			}
		}
	}
	return false
}

// unknown reports whether a hale built the instance, and the store of this one never heard of it.
func (j *judge) unknown(id string) bool { return j.built[id] && !j.s.store.named[fleet.InstanceID(id)] }

// unborn checks that nothing is taken away that was built by a hale which is another one by now: it may be the one that
// serves, and no expired build that this one knows of (L1, L2).
func (j *judge) unborn(c *world.Call) {
	if j.s.rival == nil && j.unknown(c.ID) {
		j.broken("L2", c.Mark.Machine, string(c.Op)+" of "+string(j.called(c.ID))+", which its store does not know")
	}
}
