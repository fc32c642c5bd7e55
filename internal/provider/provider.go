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
	"time"

	"hale/internal/fleet"
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
// Hosts that are HostAnswer.Independent can show one id twice. So before Start, PowerOff, or a Reboot that starts it,
// of an instance that is off on ref.Host, the provider asks the other independent hosts for its id (L1); one that
// runs on ref.Host needs no asking. fault.Conflict: another host has it, running or not, and the error names that
// host. fault.Transient: a host did not answer that is not among ref.Excused, and the error says which. In both cases
// nothing was changed. The same holds for Builder.Delete, also of an instance that is not on ref.Host any more, whose
// files another host may use; for Keeper; and for Rebuilder.
type Power interface {
	// Start powers the instance on. fault.Conflict: it was put aside (Keeper), so that an order which comes late does not let it run beside
	// its successor.
	Start(ctx context.Context, ref Ref) error
	// Reboot resets the instance hard: it is down and up again, with the same id.
	Reboot(ctx context.Context, ref Ref) error
	// PowerOff cuts the power. When it returns nil the order was accepted; the proof of off is a later Get.
	PowerOff(ctx context.Context, ref Ref) error
}

// Resumer is a provider that lets instances go on that stand still with their memory intact.
type Resumer interface {
	// Resume lets an instance go on that somebody paused or that suspended itself. One that runs is success. fault.Conflict:
	// it is off or crashed; or the provider itself stopped it, for want of storage or for a job of its own, which only
	// the end of that cause may undo; nothing was changed.
	Resume(ctx context.Context, ref Ref) error
}

// SoftRebooter is a provider that can ask a guest to reboot.
type SoftRebooter interface {
	// RebootSoft asks the guest of a running instance to reboot. When it returns nil the guest was asked; it may not listen.
	// fault.Conflict: the instance does not run, or bears another mark than ref.Mark; nothing was changed. fault.Unsupported:
	// this instance has no way to be asked.
	RebootSoft(ctx context.Context, ref Ref) error
}

// Rebuilder is a provider that can give an instance a new disk. Independent hosts are asked before, as Power says.
type Rebuilder interface {
	// Rebuild gives the order's instance, which is off, a new disk from the template's image in place of its ephemeral one, and starts it:
	// with the same id, name, mark and network address. What it had on the disk is lost. fault.Conflict: it runs, or bears another
	// mark; nothing was changed. It may be called again after any error.
	Rebuild(ctx context.Context, order Order) error
}

// Evacuator is a provider that can let an instance go on elsewhere whose host is off.
type Evacuator interface {
	// Evacuate starts the instance on another host, which the provider chooses, with the same id, name, mark and network address; where its disk lay on
	// the host alone, with a new one of its image. That ref.Host is off is the caller's to prove: the provider only sees that it does not
	// answer. One that is on another host already is success. fault.Conflict: the host answers, or it bears another mark; nothing was changed. It may
	// be called again after any error.
	Evacuate(ctx context.Context, ref Ref) error
}

// Migrator is a provider that can move an instance while it runs.
type Migrator interface {
	// Migrate moves the instance to another host, which the provider chooses; it runs on meanwhile, and keeps everything. One that is not on ref.Host any
	// more is success. fault.Conflict: it does not run, or bears another mark; nothing was changed. It may be called again after any error.
	Migrate(ctx context.Context, ref Ref) error
}

// Rescuer is a provider that can let a person at the disk of an instance that does not come up.
type Rescuer interface {
	// Rescue stops the instance and starts another system in its place, which the provider chooses, with the instance's disk beside: nothing on it is changed. It is fleet.PowerPaused
	// by fleet.StopRescue then, until a person ends that at the provider; Start and Resume are a fault.Conflict meanwhile. One that is rescued already is success. fault.Conflict: it
	// bears another mark, or is paused; nothing was changed. It may be called again after any error.
	Rescue(ctx context.Context, ref Ref) error
}

// Keeper is a provider that can put an instance aside and bring it back. Independent hosts are asked before, as Power
// says; before Restore for the name, too.
type Keeper interface {
	// Keep puts the instance, which is off, aside: it gives up the machine's name for another one, and the machine's kept disks, and its mark
	// says so at last. One that was put aside already is success. fault.Conflict: it is on, or bears another mark; nothing was changed.
	Keep(ctx context.Context, ref Ref, name string) error
	// Restore gives an instance that was put aside the name and the machine's kept disks back; it stays off. One that was not put aside is
	// success. fault.Conflict: the name is taken, it is on, or bears another mark.
	Restore(ctx context.Context, ref Ref, name string) error
}

// Snapshotter is a provider that can copy the disks of an instance so that the copy outlives it.
type Snapshotter interface {
	// Snapshot copies the disks that would go with the instance, whether it runs or not, as they are at one moment; the machine's kept disks are
	// not among them. The copy is named before it is made: one that is whole under that name is success, and the same one is returned; what an
	// earlier call left of it is taken up, or made anew. Nothing is done to the instance. When it returns nil the copy is whole.
	//
	// fault.Unsupported: there is nothing to copy, or it cannot be copied. fault.NoSpace: there is no room. fault.Conflict: it bears another
	// mark than ref.Mark. fault.Transient: not now; it may be under way. After any error part of it may be there, until DropSnapshot.
	Snapshot(ctx context.Context, ref Ref, name fleet.SnapshotName) (fleet.Copy, error)
	// DropSnapshot removes a copy, whole or not. No such copy is success. fault.Transient: it is being made.
	DropSnapshot(ctx context.Context, name fleet.SnapshotName) error
}

// GuestPinger is a provider that can ask the agent inside a guest whether it is there, without the guest's network.
type GuestPinger interface {
	// PingGuest returns nil once the agent of the instance has answered. It changes nothing and may be asked of any instance, hale's
	// or not. fault.Conflict: the provider says that the agent did not answer while there was time, that nobody listens, or that the
	// instance does not run: the instance fails. fault.Unsupported: it has no way to be asked; fault.NotFound: it is not on ref.Host.
	// These and every other error say nothing about the guest: where the provider itself is not heard in time, it is fault.Transient.
	PingGuest(ctx context.Context, ref Ref) error
}

// MeterReader is a provider that counts what its instances' processors do.
type MeterReader interface {
	// Meter reads the counters of an instance. They move whenever one of its processors does anything at all, were it
	// only that the kernel's timer goes off: an instance whose counters read the same StillAfter later has stood still,
	// whatever its network does. What spins moves them, too, so that moving proves nothing. It changes nothing and
	// may be asked of any instance. fault.Conflict: it does not run. fault.Unsupported: they are not counted, or so
	// coarsely that one which idles may seem to stand still. An error says nothing about the guest.
	Meter(ctx context.Context, ref Ref) (Meter, error)
}

// Meter is what counters read. Two of one instance are compared, and nothing else is done with them.
type Meter string

// StillAfter is how far apart two readings lie at least that say that an instance stands still.
const StillAfter = 20 * time.Second

// ConsoleReader is a provider that keeps what its instances write to their serial consoles.
type ConsoleReader interface {
	// Console returns the end of what the instance wrote, at most limit bytes of it; also of one that is off. fault.Unsupported: it is
	// not kept for this instance.
	Console(ctx context.Context, ref Ref, limit int) ([]byte, error)
}

// Screenshooter is a provider that shows what is on its instances' screens.
type Screenshooter interface {
	// Screenshot returns what is on the instance's screen now. fault.Unsupported: it has none. fault.Conflict: it does not run.
	// fault.Invalid: it takes more than limit bytes.
	Screenshot(ctx context.Context, ref Ref, limit int) (Picture, error)
}

// Picture is an image file.
type Picture struct {
	Format string // its media type, such as image/png
	Data   []byte
}

// StartReader is a provider that has a place where starts of hale are noted (StartNoter).
type StartReader interface {
	// Starts returns the starts of the installation that are noted, by where: those of every host that answers, where each keeps notes of its own, or
	// those of the whole provider under an empty name. A host that does not answer is left out; one without a note is there. An error means that none
	// answered; fault.Unsupported: there is no such place.
	Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error)
}

// StartNoter is a StartReader that can note them.
type StartNoter interface {
	// NoteStart notes a start, on every host that answers where each keeps notes of its own: nil means on one at least. It changes and
	// removes no other note, and one that is there already is success. It may be called again after any error.
	NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error
	// ForgetStart removes a note from wherever it answers. No such note is success.
	ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error
}

// Rehearser is a provider that can say whether an order could be built without building it.
type Rehearser interface {
	// Rehearse looks for what Create needs for the order (its image, networks, size, the place for its disks), and changes
	// nothing. The error joins all that was found to be missing or refused; nil: nothing was. Create may still fail.
	Rehearse(ctx context.Context, order Order) error
}

// Builder makes and removes instances. Before a Delete independent hosts are asked, as Power says.
type Builder interface {
	// Create builds and starts an instance with the order's id, name and mark, in which Mark.Instance is the order's
	// id. fault.Conflict: the name is taken by another instance, or the id exists already, on that host or on one of
	// the other independent ones; nothing was changed. fault.Transient: one of them did not answer that is not among
	// order.Excused. On another host the name may belong to an earlier instance of the same machine that is off. Of
	// several creates for one name at the same time, on several hosts, one succeeds at most.
	//
	// The template's kept disks belong to the machine of the mark: one that is there already is attached as it is,
	// whoever made it; one that is not is made empty, unless it is among order.Made: then the order is fault.Invalid,
	// since data would be missing. A failed create leaves no disk that it made itself, and every one that was there.
	Create(ctx context.Context, order Order) error
	// Delete removes an instance that is off, with its ephemeral disks, and never a kept one. No such instance is success. With ref.ForGood what belongs to the
	// machine and has no data goes, too, such as a floating address, and is gone when it returns nil.
	// fault.Conflict: it runs, or bears another mark than ref.Mark; nothing was changed.
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

// Chooser is a provider that finds out only when it runs which of the abilities it has. It has the methods of all; those of the others are
// fault.Unsupported.
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

// Ref names one instance. Destructive calls refuse (fault.Conflict) an instance whose mark, read in the same call,
// does not name the same installation, machine and generation; of an adopted one: an instance that bears any mark.
//
// A mark that names another instance is none (fleet.Mark.Of), in every call and in what is listed: somebody copied it
// along with the instance. Such a copy is a stranger: no call with a mark touches it, and it may be adopted like any
// other instance without a mark. A damaged mark may be hale's own: what bears one is neither touched nor adopted.
type Ref struct {
	ID   fleet.InstanceID
	Host fleet.HostName
	Mark fleet.Mark
	// Adopted says that nobody built the instance for hale: it bears no mark, and Mark is zero.
	Adopted bool
	// ForGood says of a Delete that the machine is given up with its instance.
	ForGood bool
	// Excused are the hosts that need not answer when they are asked whether they have the instance, too: each is proven off, or the
	// instance was seen running on Host after that one last answered. Only Independent hosts are asked at all.
	Excused []fleet.HostName
}

// Order is what is to be built.
type Order struct {
	Ref
	Name     string // the instance's name at the provider; unique on its host, and among independent hosts
	Template fleet.Template
	// Made are the names of the template's kept disks (fleet.Disk.Attached) that earlier instances of the machine had.
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
	// Closed says that no instance is ordered there: the provider chooses where what is ordered on another host's name comes to lie.
	Closed bool
	// Independent says that the host alone knows what is on it, so that an id or a name can be there while another host shows it, too. Hosts
	// that one control plane speaks for are not: it keeps ids apart, and knows them when the host is silent.
	Independent bool
	// Disabled says that whoever runs the provider wants nothing to be on it, such as for maintenance. What is there runs on.
	Disabled bool
	// Address is the host's own, at which it answers pings to whoever reaches the machines on it; invalid: not known.
	Address netip.Addr
}

// HostsOwn reports whether the address can be a host's own, seen from another one.
func HostsOwn(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && !a.IsLinkLocalUnicast()
}

// ErrDoubtful is in an error of List or Get that says: this may not be the provider that we know, or it has lost its memory. Nothing of
// what it says is believed.
var ErrDoubtful = errors.New("the provider's word is not to be believed")

// Event is a hint that something changed.
type Event struct {
	Host     fleet.HostName
	Instance fleet.InstanceID // empty: look at everything
}
