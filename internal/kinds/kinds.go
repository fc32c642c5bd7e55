// Package kinds is what a type of provider, a fence and a target bring to the configuration from their own packages:
// their keys, what they make of them, and how hale connects to what is configured. Package adapters lists them all.
//
// A kind is a value. It knows of the file what its own keys say, and of what all share the drafts that it is handed;
// how machines are healed it does not know. What its keys come to is plain data: it can be compared, and says nothing
// of a secret but where it is kept.
package kinds

import (
	"context"
	"slices"
	"strings"
	"time"

	"hale/internal/balancer"
	"hale/internal/core/fleet"
	"hale/internal/fence"
	"hale/internal/keys"
	"hale/internal/notify"
	"hale/internal/outlet"
	"hale/internal/secret"
	"hale/internal/state/courier"
)

// All are the kinds that a configuration can use, each list in the order of the reference.
type All struct {
	Providers []Provider
	Checks    []Check
	Fences    []Fence
	Balancers []Balancer
	Targets   []Target
	Outlets   []Outlet
	Traces    Tracing
}

// Provider returns the type of the word; nil: there is none.
func (a All) Provider(word string) *Provider {
	i := slices.IndexFunc(a.Providers, func(p Provider) bool { return p.Word == word })
	if i < 0 {
		return nil
	}
	return &a.Providers[i]
}

// Way is one of several ways to do something, with a key for each. What stands there comes to an Out, with what else In
// has.
type Way[In, Out any] struct {
	Word    string // the key
	Example string // of what stands there
	Key     keys.Section[In, Out]
}

// WayOf makes a way of its key: the word, what it is for, what is written there, and what that comes to.
func WayOf[V, In, Out any](word, example, doc string, s keys.Shape[V],
	compile func(in In, v keys.At[V]) Out) Way[In, Out] {
	return Way[In, Out]{word, example, keys.Under(word, doc, s, compile)}
}

// Fence is a way to cut the power of hosts, or their access, under fences.METHOD.
type Fence = Way[*keys.Finder, Fencing]

// Fencing is what the keys of a fence come to. Its texts may have {host} in them.
type Fencing interface {
	Secrets() []secret.Secret
	// TellsHosts reports whether it can tell one host from another.
	TellsHosts() bool
	// Arm returns what serves the host under the name of the method. It connects to nothing yet.
	Arm(name string, host fleet.HostName) Armed
}

// Armed is a fence as it serves one host.
type Armed struct {
	Controller fence.Controller
	// Unverified says that the credentials go to a controller with an unchecked identity.
	Unverified bool
	// Check looks whether the options are what the controller wants; nil: there is nothing to look at.
	Check func(ctx context.Context) error
	// Uncut gives the host the access back that the fence cut; nil: it cuts power.
	Uncut func(ctx context.Context) error
}

// Cutting is a Fencing that leaves hosts their power, and cuts their access.
type Cutting interface{ Cuts() Access }

// Access is what a host can be cut from.
type Access string

// What a host can be cut from.
const (
	AccessStorage Access = "storage"
	AccessNetwork Access = "network"
	AccessBoth    Access = "both"
)

// HostWord stands for the host's name in a fence that belongs to several hosts.
const HostWord = "{host}"

// ForHost returns the text with the host's name in it.
func ForHost(text string, host fleet.HostName) string {
	return strings.ReplaceAll(text, HostWord, string(host))
}

// Balancer is a way to keep the pool of a load balancer, under balancers.BALANCER.
type Balancer = Way[*keys.Finder, Balancing]

// Balancing is what the keys of a balancer come to.
type Balancing interface {
	Secrets() []secret.Secret
	// Pool returns the pool. It connects to nothing yet.
	Pool(o BalancerOptions) balancer.Pool
}

// BalancerOptions are what all balancers have.
type BalancerOptions struct {
	Name    string
	Timeout time.Duration // of one question or order
	Version string        // of hale
}

// Target is a way to tell people, under notify.TARGET.
type Target = Way[*keys.Finder, Telling]

// Telling is what the keys of a target come to.
type Telling interface {
	Secrets() []secret.Secret
	// Target returns what sends messages. It connects to nothing yet.
	Target(o TargetOptions) notify.Target
}

// Bounded is a Telling that leads over the network to an address which hale may have to refuse.
type Bounded interface {
	// Refused says why hale refuses the address that stands in the configuration, and how to mend that; nil: it does
	// not, or the address is kept as a secret.
	Refused() error
	// Unreachable is Refused for the address as it is now, wherever it is kept.
	Unreachable(ctx context.Context) error
}

// TargetOptions are what all targets have.
type TargetOptions struct {
	Name    string
	Timeout time.Duration // of one try
	Version string        // of hale
}

// Outlet is a way out for the journal, under telemetry.journal.OUTLET.
type Outlet = Way[*keys.Finder, Streaming]

// Streaming is what the keys of an outlet come to.
type Streaming interface {
	Secrets() []secret.Secret
	// Outlet returns what the journal streams out to. It connects to nothing yet.
	Outlet(o OutletOptions) outlet.Outlet
}

// Tracing is the way of the traces of incidents, under telemetry.traces.
type Tracing = Way[*keys.Finder, Weaving]

// Weaving is what its keys come to.
type Weaving interface {
	Secrets() []secret.Secret
	// Traces returns what makes traces of the records of the installation, and sends them. It is for a courier that
	// recalls, and connects to nothing yet.
	Traces(installation fleet.Installation, o OutletOptions) Sink
}

// Sink is what a stream flows into. It is closed once, after the last Take.
type Sink interface {
	courier.Taker
	Close()
}

// OutletOptions are what all outlets have.
type OutletOptions struct {
	Name    string
	Timeout time.Duration // of one try
	Version string        // of hale
	Server  string        // on which it runs
	// Refused is told how many records, or spans, the receiver takes to be wrong, and will not be sent again.
	Refused func(n int, why error)
}

// Running is a Fencing or a Telling that runs a program of its own.
type Running interface {
	Program() []string
}
