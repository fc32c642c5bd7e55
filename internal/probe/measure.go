package probe

import (
	"context"
	"time"
)

// Measurer is an engine that keeps what good answers measured.
type Measurer interface {
	// Measured returns what the last good answer of each target measured, of those that it watches, unless a failure
	// came after it. It probes nothing, and leaves out what it does not know before ctx ends.
	Measured(ctx context.Context, ids ...ID) map[ID]Measure
}

// Measure is what a good answer measured.
type Measure struct {
	At   time.Time
	Took time.Duration // from the question to the answer
	// Page is the beginning of an http answer's body, where the target has it kept.
	Page []byte
}

// MostPage bounds what is kept of a page, in bytes.
const MostPage = 4 << 10
