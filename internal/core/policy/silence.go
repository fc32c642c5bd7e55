package policy

import "time"

// HearsWithin returns how long it takes at most until a check of the fleet fails once a machine is silent, and whether
// there is one that goes over the network.
func (s *Spec) HearsWithin() (d time.Duration, some bool) {
	for i := range s.Checks {
		c := &s.Checks[i]
		if c.Kind.Elsewhere() {
			continue
		}
		if t := c.Every + c.Timeout + c.Sight.Lag(); !some || t < d {
			d, some = t, true
		}
	}
	return d, some
}

// Silence is what a fleet makes of silence to which nothing bears witness: no other machine near by is heard, and
// nothing else says that the machine is dead.
type Silence string

// What such silence means. The zero value holds.
const (
	SilenceHolds Silence = "hold" // only the way there may be broken: a person is told
	SilenceActs  Silence = "act"  // the machine has failed
)
