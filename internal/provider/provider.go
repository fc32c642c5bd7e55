// Package provider is hale's port to hypervisors and clouds: what an adapter must be able to do, in small interfaces.
// The exam that every adapter passes is package providertest.
//
// It promises that calls take a context and end with it, that errors are *fault.Error, and that destructive calls name
// an immutable instance id together with the mark that the instance must bear. It does not retry, wait, or decide.
package provider

import (
	"context"
	"errors"
	"net/netip"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Reader tells what there is. Every provider is one.
type Reader interface {
	// Identity returns something that tells this provider from another one behind the same address (a host's UUID, a
	// project's id), per host. Hosts that cannot be reached are left out; an error means that none could.
	Identity(ctx context.Context) (map[fleet.HostName]string, error)
	// List returns every instance that the provider has, hale's or not, with its state, address and mark, and how each
	// host answered. An error means that no host could be asked. A list is complete for the hosts without error.
	List(ctx context.Context) (Listing, error)
	// Get returns one instance as it is now, its mark read afresh. fault.NotFound: the host answered and there is none.
	Get(ctx context.Context, ref Ref) (fleet.Instance, error)
}

// Power turns instances on and off. Each call is a no-op when the wanted state is there already.
//
// Hosts that are HostAnswer.Independent can show one id twice. So before Start, PowerOff or a Reboot of an instance
// that is off on ref.Host, the provider asks the other independent hosts for its id (L1). For an instance that runs on
// ref.Host it need not ask. fault.Conflict: another host has it, running or not, and the error names that host.
// fault.Transient: a host did not answer that is not among ref.Excused, and the error says which. In both cases nothing
// was changed. The same holds for Builder.Delete, also of an instance that has left ref.Host, since another host may
// use its files; for Keeper; and for Rebuilder.
type Power interface {
	// Start powers the instance on. fault.Conflict: it was put aside (Keeper), so that an order which comes late does
	// not let it run beside its successor.
	Start(ctx context.Context, ref Ref) error
	// Reboot resets the instance hard: it is down and up again, with the same id.
	Reboot(ctx context.Context, ref Ref) error
	// PowerOff cuts the power. When it returns nil the order was accepted; the proof of off is a later Get.
	PowerOff(ctx context.Context, ref Ref) error
}

// Builder makes and removes instances. Before a Delete independent hosts are asked, as Power says.
type Builder interface {
	// Create builds and starts an instance with the order's id, name and mark, in which Mark.Instance is the order's
	// id. fault.Conflict: the name is taken by another instance, or the id exists already, on that host or on one of
	// the other independent ones; nothing was changed. fault.Transient: one of them did not answer that is not among
	// order.Excused. On another host the name may belong to an earlier instance of the same machine that is off. Of
	// several creates for one name at the same time, on several hosts, one succeeds at most. The template's kept disks
	// belong to the machine of the mark. Create attaches a disk that is there already as it is, and makes a missing one
	// empty. A missing disk among order.Made is fault.Invalid, since data would be missing. A failed create removes the
	// disks that it made, and keeps those that were there.
	Create(ctx context.Context, order Blueprint) error
	// Delete removes an instance that is off, with its ephemeral disks, and never a kept one. No such instance is
	// success. With ref.ForGood what belongs to the machine and has no data goes, too, such as a floating address, and
	// is gone when it returns nil. fault.Conflict: it runs, or bears another mark than ref.Mark; nothing was changed.
	Delete(ctx context.Context, ref Ref) error
	// Certify writes the mark's Certified flag on the instance, and Mark.Instance where an older hale left it out.
	// fault.Conflict: it bears another mark than ref.Mark, or none, as an adopted one; nothing was written.
	Certify(ctx context.Context, ref Ref) error
}

// Watcher tells of lifecycle changes as they happen. Events are hints: each is confirmed by Get or List.
type Watcher interface {
	// Watch calls changed after each (re)connection and after each event, until ctx ends; it then returns nil. It
	// reconnects by itself; connection losses are not errors. changed must not block.
	Watch(ctx context.Context, changed func(Event)) error
}

// Chooser is a provider that finds out only when it runs which of the abilities it has. It has the methods of all;
// those of the others are fault.Unsupported.
type Chooser interface {
	// Has reports whether it has the ability (Ability.Name), or does not know yet.
	Has(ability string) bool
}

// Provider is what hale needs to heal.
type Provider interface {
	Reader
	Power
	Builder
	// Close ends all connections. Calls under way return with an error.
	Close() error
}

// Ref names one instance. A destructive call reads the instance's mark. It refuses (fault.Conflict) a mark that does
// not name the same installation, machine and generation, and any mark on an adopted instance. A mark that names
// another instance is none (fleet.Mark.Of), in every call and in what is listed: it came with a copy of that instance.
// Such a copy is a stranger: no call with a mark touches it, and it may be adopted like any other instance without a
// mark. A damaged mark may be hale's own: an instance with one is neither touched nor adopted.
type Ref struct {
	ID   fleet.InstanceID
	Host fleet.HostName
	Mark fleet.Mark
	// Adopted says that hale did not build the instance: it has no mark, and Mark is zero.
	Adopted bool
	// ForGood says of a Delete that the machine is given up with its instance.
	ForGood bool
	// Excused are the hosts that need not answer the question whether they have the instance, too. Each is proven off,
	// or the instance was seen running on Host after that host last answered. Only Independent hosts are asked at all.
	Excused []fleet.HostName
}

// Blueprint is what is to be built.
type Blueprint struct {
	Ref
	Name     string // the instance's name at the provider; unique on its host, and among independent hosts
	Template policy.Template
	// Made are the names of the template's kept disks (policy.Disk.Attached) that earlier instances of the machine had.
	Made []string
}

// Listing is one answer to List.
type Listing struct {
	Instances []fleet.Instance
	Hosts     []HostAnswer // sorted by name; a provider with a single host has one with an empty name
}

// HostAnswer tells whether a host answered.
type HostAnswer struct {
	Name  fleet.HostName
	Place fleet.Place // where it stands, as far as the provider knows; also of a host that did not answer
	Err   error       // nil: its part of the listing is complete
	// Closed says that no instance is built there: the provider chooses where what is built on another host's name
	// comes to lie.
	Closed bool
	// Independent says that the host alone knows what is on it, so that an id or a name can be there while another host
	// shows it, too. Hosts that one control plane speaks for are not: it keeps ids apart, and knows them when the host
	// is silent.
	Independent bool
	// Disabled says that the provider's administrators want it empty, such as for maintenance. What is there runs on.
	Disabled bool
	// Address is the host's own. It answers pings there to every peer that reaches the machines on it; invalid: not
	// known.
	Address netip.Addr
}

// HostsOwn reports whether the address can be a host's own, seen from another one.
func HostsOwn(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && !a.IsLinkLocalUnicast()
}

// ErrDoubtful is in an error of List or Get that says: this may not be the provider that we know, or it has lost its
// memory. Nothing of what it says is believed.
var ErrDoubtful = errors.New("the provider's answer is doubtful")

// Event is a hint that something changed.
type Event struct {
	Host     fleet.HostName
	Instance fleet.InstanceID // empty: look at everything
}
