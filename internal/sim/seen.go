package sim

import (
	"time"

	"hale/internal/sim/judge"
)

// eyes are what the judge of this hale looks at.
func (s *stage) eyes() judge.Eyes {
	return judge.Eyes{World: s.w, Store: &s.store.Content, Score: s.score, Trace: s.trace, History: s.options.History}
}

// seen is what the judge sees of the server.
func (c *server) seen() judge.Server {
	now := c.s.w.Now()
	return judge.Server{Name: c.name, Now: c.now(), Owns: c.s.store.owner == c, Lease: c.lease.ends(now) - now,
		Start: c.roll.Own}
}

// LooksOn implements judge.Run.
func (s *stage) LooksOn() bool {
	c := s.store.owner
	return c != nil && c.term != 0 && c.alive && c.frozen == 0 && s.store.full == 0 && s.store.cut[c] == 0
}

// Skews implements judge.Run.
func (s *stage) Skews() []time.Duration {
	var out []time.Duration
	for _, c := range s.servers {
		out = append(out, c.skew)
	}
	return out
}
