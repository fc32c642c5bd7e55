// Package balancer is hale's port to whatever spreads connections over machines: a load balancer's pool, in which each
// machine is a member under its own name. The exam that every adapter passes is package balancertest.
//
// It promises that to have a member be so again changes nothing, that only the named member is touched, and that a
// pool which does not answer is never taken for an empty one. It neither decides who serves nor waits for connections
// to end: Pool says how many there are.
package balancer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// State is what a pool was told of a member.
type State = fleet.MemberState

// The states.
const (
	Serving  = fleet.MemberServes
	Draining = fleet.MemberDrains
	Out      = fleet.MemberOut
)

// Verdict is what the pool itself finds of a member, by checks of its own.
type Verdict = fleet.MemberVerdict

// The verdicts. A pool that checks nothing finds nothing out.
const (
	Up      = fleet.MemberUp
	Down    = fleet.MemberDown
	Unknown = fleet.MemberUnknown
)

// UnknownConnections stands for a number of connections that the pool does not tell.
const UnknownConnections = fleet.ConnectionsUnknown

// Member is a machine in a pool, as the pool says.
type Member struct {
	Name fleet.MachineName
	// At is where the pool sends what is for it; invalid: it has no address, or another one for each connection.
	At          netip.AddrPort
	State       State
	Connections int // now; UnknownConnections: the pool does not tell
	Verdict     Verdict
	// Failed says that the pool was told of the state, and could not do it: it may go on as before.
	Failed bool
	// Since is when the verdict came to be; zero: the pool does not tell.
	Since time.Time
}

// Want is how a member is to be.
type Want struct {
	State State
	// At is where the machine serves: needed to serve, else the pool keeps what it has.
	At netip.AddrPort
}

// Pool is one pool of a load balancer. Its errors are *fault.Error: Transient, it did not answer, or is busy with a
// change; UnknownOutcome, of Set, it may have done it; Unauthorised, the credentials are not accepted; NotFound, there
// is no such pool, or no room for such a member; Invalid or Unsupported, it is configured wrongly. No error has a
// secret in it. Its methods may be called at the same time.
type Pool interface {
	// Members returns all members, in the order of their names, also those that hale knows nothing of.
	Members(ctx context.Context) ([]Member, error)
	// Set has the member be as wanted, and returns once the pool says that it is. A member that is not there, and is to
	// drain or be out, is success.
	Set(ctx context.Context, name fleet.MachineName, w Want) error
	// Close lets go of connections. It is called once, after the last call.
	Close()
}

// Check says what is wrong with the wish.
func (w Want) Check(op string, name fleet.MachineName) error {
	var why error
	switch {
	case name == "":
		why = errors.New("no member is named")
	case w.State != Serving && w.State != Draining && w.State != Out:
		why = fmt.Errorf("%q is no state of a member", w.State)
	case w.State == Serving && (!w.At.IsValid() || w.At.Port() == 0):
		why = errors.New("a member cannot serve without an address and a port")
	default:
		return nil
	}
	return fault.New(fault.Invalid, op, string(name), why)
}

// Met reports whether the member, as the pool says it is, is as wanted.
func (w Want) Met(m Member) bool {
	return m.State == w.State && !m.Failed && (w.State != Serving || m.At == w.At)
}
