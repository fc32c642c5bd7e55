package judge

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/score"
	"hale/internal/sim/stored"
	"hale/internal/sim/world"
)

// Options are what the judge is told of the run beforehand.
type Options struct {
	Spec         policy.Spec
	Installation string        // what the marks of what this hale builds say
	Poll         time.Duration // between full listings
	Most         int           // how many machines there are ever to be
	Hosts        []world.Host
	Naive        bool // a rival plays in hale's place: it has no store and no orders
	// Horizon is how long faults may begin, and Calm how much longer the run goes on.
	Horizon, Calm time.Duration
	// Operator is the mean time after which a person who was paged comes; zero: no person does. Unbrakes has them take
	// hale's own brake off, too.
	Operator time.Duration
	Unbrakes bool
}

// Eyes are what the judge looks at, and what it writes what it saw into.
type Eyes struct {
	World   *world.World
	Store   *stored.Content // what hale believes, as stored
	Score   *score.Score
	Trace   *chronicle.Trace
	History *chronicle.History // nil: none is kept
}

// Run is what else the judge may see of hale, and what the operator may do to it.
type Run interface {
	// LooksOn reports whether hale looks after the fleet now, with nothing in its way to the store.
	LooksOn() bool
	// Skews are by how much the servers' clocks are wrong.
	Skews() []time.Duration
	// Post gives hale an order of the operator's, and returns its id.
	Post(o fleet.Order) fleet.OrderID
	// EndSecond ends the second hale, if there is one.
	EndSecond()
}

// Server is what the judge sees of the server that does something.
type Server struct {
	Name  string
	Now   fleet.Now       // by its clocks
	Owns  bool            // the store says that the fleet is its own
	Lease time.Duration   // what is left of its lease, as far as it knows
	Start fleet.StartName // that it has noted; empty: none
}
