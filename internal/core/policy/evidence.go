package policy

import (
	"cmp"
	"time"

	"hale/internal/core/fleet"
)

// Evidence says what is kept of the fleet's machines. The zero value: everything, within the limits above.
type Evidence struct {
	// Off says that nothing is gathered.
	Off bool `json:",omitempty"`
	// NoScreenshot leaves that out.
	NoScreenshot bool `json:",omitempty"`
	// Console is how much of the console's end is kept, in bytes, and Wait is how long a repair waits; 0: ConsoleLimit,
	// and GatherLimit.
	Console int           `json:",omitempty"`
	Wait    time.Duration `json:",omitempty"`
}

// ConsoleBytes returns how much of a console's end is kept.
func (p *Evidence) ConsoleBytes() int { return cmp.Or(p.Console, fleet.ConsoleLimit) }

// Patience returns how long a repair waits.
func (p *Evidence) Patience() time.Duration { return cmp.Or(p.Wait, fleet.GatherLimit) }
