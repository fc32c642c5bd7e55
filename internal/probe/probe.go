// Package probe is hale's port to active checks: targets in, edges and watermarks out, and a look on demand.
// The exam that every engine passes is package probetest.
//
// It promises that silence never looks like health: each shard's watermark says until when its targets were judged, a
// new owner asks for all standings, and anything that is our own fault (late, skipped, no descriptor, no address) is
// unknown, never a failure (L4). It does not decide what a standing means for the machine.
package probe

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// ID names a target: one check of one machine.
type ID struct {
	Machine fleet.MachineName
	Check   fleet.CheckName
}

// Compare orders IDs by machine, and then by check.
func (id ID) Compare(o ID) int {
	return cmp.Or(cmp.Compare(id.Machine, o.Machine), cmp.Compare(id.Check, o.Check))
}

// Target is what is to be probed. An invalid Address makes it unknown (ResultNoAddress) until it is set anew, and so
// does a Rival (ResultSharedAddress); an agent check and a heartbeat check need no address, but an Instance.
type Target struct {
	ID
	Instance fleet.InstanceID // for exec checks' {id}, and for agent checks
	Host     fleet.HostName   // for exec checks' {host}, and for agent checks: where the instance is
	Metadata fleet.Metadata   // for exec checks' {meta.KEY}
	Address  netip.Addr
	// Rival is another running instance that has the address, too, and may answer in its place. Empty: there is none.
	Rival fleet.InstanceID
	// Spec is what a fleet's targets share. It does not change once it was handed to an engine.
	Spec *policy.Check
	// Epoch is the owner's; results of an earlier epoch never count for a later one.
	Epoch uint64
	// Keeps has the beginning of an http answer's body kept (Measurer). A target goes on undisturbed when only this
	// changes, as far as the same engine watches it.
	Keeps bool
}

// Unaimed says why the target cannot be asked; empty: it can.
func (t *Target) Unaimed() fleet.ResultReason {
	switch {
	case t.Spec.Kind.ByAddress() && !t.Address.IsValid(), !t.Spec.Kind.ByAddress() && t.Instance == "":
		return fleet.ResultNoAddress
	case t.Rival != "" && t.Spec.Reaches():
		return fleet.ResultSharedAddress
	}
	return fleet.ResultNone
}

// Edge is a change of a target's standing, or of the reason behind it.
type Edge struct {
	ID
	Epoch    uint64
	Seq      uint64 // rises by one with each edge of a target within its epoch
	Standing fleet.Standing
	Was      fleet.Standing
	Result   fleet.ResultReason
	Detail   string
	At       time.Time // when the result behind the edge was known
	Due      time.Time // when the probe behind the edge was due, to tell lateness
}

// Watermark says that a shard was alive: every result due before At is judged.
type Watermark struct {
	Shard, Shards int
	At            time.Time
}

// Report is either an edge or a watermark.
type Report struct {
	Edge      *Edge
	Watermark *Watermark
}

// Engine watches targets.
type Engine interface {
	// Set adds targets or replaces those with the same ID. A target with another address, epoch or spec starts from
	// unknown, and its first probe is due at once. An unchanged one goes on undisturbed.
	Set(targets ...Target)
	// Remove ends targets. No edge of theirs is reported after it returns, except those already taken from Reports.
	Remove(ids ...ID)
	// Standings returns the state of every target: for a new owner, and after a lost report. Sorted by ID.
	Standings() []Edge
	// Look probes the target now, beside the regular probes, and returns up (a single success suffices), down (it
	// failed again and again, at least as often as makes the check down) or unknown. Where the check looks back on a
	// window, so does the look: it is down when so many of as many questions fail. It needs no earlier Set, changes no
	// counter, and ends with ctx or the check's timeout, with a window twice that.
	Look(ctx context.Context, target Target) fleet.CheckState
	// Reports delivers edges and, every second, watermarks. One reader. A reader that falls behind loses nothing: edges
	// of one target are merged into the latest.
	Reports() <-chan Report
}

// Counter is an engine that says how near its targets are to being up.
type Counter interface {
	// Good returns how many good answers count towards making each target up, of those that it watches. It probes
	// nothing, and leaves out what it does not know before ctx ends.
	Good(ctx context.Context, ids ...ID) map[ID]int
}

// Transport is how an engine reaches its targets: the network, or a simulated one in tests and for simulated providers.
type Transport interface {
	// Ping sends one echo request and waits for the reply. An error that is a LocalError is unknown, any other a
	// failure.
	Ping(ctx context.Context, address netip.Addr) error
	// Dial connects, as net.Dialer.DialContext.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	// Run executes a program without a shell, kills its whole process group when ctx ends, and returns its exit code
	// and the beginning of its output. An error that is a LocalError is unknown, any other a failure.
	Run(ctx context.Context, p Program) (code int, output string, err error)
}

// Program is what Transport.Run executes.
type Program struct {
	Args []string // the program itself first
	Env  []string // as "NAME=value", beside a PATH; nothing else is handed down
}

// LocalError marks a failure of our own side: it says nothing about the target.
type LocalError struct{ Err error }

// Error implements error.
func (e LocalError) Error() string { return "local: " + e.Err.Error() }

// Unwrap returns the cause.
func (e LocalError) Unwrap() error { return e.Err }
