package sim

import (
	"time"

	"hale/internal/sim/judge"
	"hale/internal/sim/script"
	"hale/internal/sim/stored"
)

// past is what the store held at a time, with what the judge knows of the orders in it.
type past struct {
	holds  stored.Content
	orders judge.Memory
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
func (s *store) now(j *judge.Judge) *past { return &past{s.Clone(), j.Memory()} }

// hold has the store hold what it held, under no lease.
func (s *store) hold(p *past) {
	s.Content, s.owner = p.holds.Clone(), nil
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
		s.judge.RolledBack(s.store.pasts[at].orders)
		s.judge.NightFalls(e, "")
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
