package kinds

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/hook"
	"hale/internal/keys"
	"hale/internal/probe"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/secret"
)

// Provider is a type of provider. What it does not say of itself is as for a program of one's own that builds machines
// on hosts that only it knows.
type Provider struct {
	Word string // as stands at the key type
	Doc  string // what it is for, as in the reference

	// Keys are its own, beside those that all providers have.
	Keys keys.Section[Entry, Made]
	// Template are its own keys of fleets.FLEET.template, and what becomes of the template by them.
	Template keys.Section[Machine, policy.Template]
	// Without are the keys of the template that mean nothing to it; Why and Instead say so, where there is more to say.
	Without      []string
	Why, Instead string
	// Stored reads settings as they lie in the store.
	Stored func(data []byte) (Settings, error)
	// Warn returns what the settings allow and should not be left so, as sentences, for the fleets on the provider.
	Warn func(name string, s Settings, hosts []Host, fleets []policy.Spec) []string

	// Hosts says that the file can name its hosts, HostURIs that each has an address at which hale speaks to it, and
	// HostAddresses that the file can say where a host answers pings.
	Hosts, HostURIs, HostAddresses bool
	// Single says that it is a single host without a name, where the file names none.
	Single bool
	// Central says that one service speaks for all hosts, and knows them. It lists slower than the daemon of one host.
	Central bool
	// Witnesses says that hosts have addresses that answer pings, without being told.
	Witnesses bool
	// Builds says that new machines are built from what the template says; Source that Template judges what from.
	Builds, Source bool
	// Images says that an image is called as the template has it, even if that looks like an address.
	Images bool
	// Volumes says that disks have a type of volume.
	Volumes bool
	// Tags says that hale sees what machines are tagged with.
	Tags bool
	// Moves says that it moves machines, and tells which hosts are disabled: only if the file names hosts, where
	// MovesIf says what to do.
	Moves   bool
	MovesIf string
	// Maintains says that it tells which hosts are in maintenance, although it moves no machine.
	Maintains bool
	// Rescues says that it can start another system in a machine's place.
	Rescues bool
	// Usages are what it counts of its instances, as their processors' load.
	Usages []policy.Usage
	// Remarks say of operations why it lacks them, and of others what is to know of them here.
	Remarks Remarks
	// KeepsNames says that a machine keeps its name and port while its host is off.
	KeepsNames bool
	// Simulated says that its machines exist only inside hale.
	Simulated bool
}

// Foreign reports keys that another type of provider has.
func (p *Provider) Foreign(f *keys.Finder, written keys.Seen, names []string) {
	for _, key := range names {
		if spot, there := written[key]; there {
			p.NotOf(f, spot)
		}
	}
}

// NotOf reports a key that means nothing to the type.
func (p *Provider) NotOf(f *keys.Finder, at keys.Spot) {
	f.Add(at, fmt.Sprintf("does not belong to a provider of type %s", p.Word), "take it out, or choose another type")
}

// Made is what the keys of a provider come to. Without Hosts it has those that the file names at the key hosts.
type Made struct {
	Settings Settings
	Hosts    []Host
}

// Settings are what a provider's own keys come to. They are stored as members of the provider's JSON object; what
// refers to secrets that hale reads by itself is left out.
type Settings interface {
	// SameAddress reports whether whatever answered at the address that was is asked at this one, too.
	SameAddress(was Settings, hosts Hosts) bool
	// Connect makes the adapter. It need not reach anything yet.
	Connect(ctx context.Context, c Connection) (Connected, error)
}

// Partial are settings that the store has only in part.
type Partial interface {
	// Restored returns the settings, which came out of the store, with the rest as now has it.
	Restored(now Settings) Settings
}

// Confiding are settings that refer to secrets.
type Confiding interface{ Secrets() []secret.Secret }

// Connection is what a provider is connected with, beside its settings.
type Connection struct {
	Name   fleet.ProviderName
	Hosts  []Host
	Logger *slog.Logger
	Panics defect.Witness
	// Network is how machines are probed that are really there.
	Network probe.Transport
	// Checks are what its machines are asked, and Canaries what else answers, where the provider is a world of its own.
	Checks   []policy.Check
	Canaries []netip.Addr
}

// Places are where hosts stand, by their names.
func (c Connection) Places() map[fleet.HostName]fleet.Place {
	places := map[fleet.HostName]fleet.Place{}
	for _, h := range c.Hosts {
		places[h.Name] = h.Place
	}
	return places
}

// Real is the connection of an adapter with machines that are really there. A watcher of nil: it announces nothing.
func (c Connection) Real(p provider.Provider, w provider.Watcher) Connected {
	return Connected{Provider: p, Watcher: w, Transport: c.Network, Runner: program.Here{}}
}

// Connected is a provider to which hale can speak.
type Connected struct {
	Provider provider.Provider
	Watcher  provider.Watcher // nil: it announces nothing
	// Transport is how its machines are probed, and Runner executes commands for them.
	Transport probe.Transport
	Runner    program.Runner
	// Hooks runs hooks for them; nil: they are run for real.
	Hooks hook.Runner
}

// Entry is a provider of the file, as its type sees it.
type Entry struct {
	*keys.Finder
	Name  string
	Spot  keys.Spot
	Hosts keys.At[[]keys.At[HostDraft]]
}

// Machine is a template, as the type of its provider sees it.
type Machine struct {
	*keys.Finder
	Spot  keys.Spot
	Draft *TemplateDraft
	// Common is what the keys of all templates come to.
	Common policy.Template
	// Needed says that machines are built from it.
	Needed   bool
	Provider string
	Settings Settings
}

// StoredAs reads settings of the type.
func StoredAs[S Settings](data []byte) (Settings, error) {
	var s S
	err := json.Unmarshal(data, &s)
	return s, err
}

// Host is one hypervisor host.
type Host struct {
	Name fleet.HostName
	// URI is where hale speaks to it, if it has one.
	URI string
	// Place is where it stands, as far as the operator says.
	Place fleet.Place
	// Address is its own, at which it answers pings; invalid: as the provider says.
	Address netip.Addr `json:",omitzero"`
	// Fence are the names of the methods that cut its power, in the order in which they are tried.
	Fence []string
	// FenceDelay is for how long it is left as it is before it is fenced.
	FenceDelay time.Duration
}

// Hosts are those of a provider now, and those that it had.
type Hosts struct{ Are, Were []Host }

// Kept reports whether all that there were are there, each at its address. One that was left out may still run
// machines.
func (h Hosts) Kept() bool {
	return !slices.ContainsFunc(h.Were, func(was Host) bool {
		return !slices.ContainsFunc(h.Are, func(is Host) bool { return is.Name == was.Name && is.URI == was.URI })
	})
}

// HostDraft is what the file says of a host.
type HostDraft struct {
	Name, URI                 keys.At[string]
	Rack, Room, Zone, Storage keys.At[string]
	Address                   keys.At[netip.Addr]
	Fence                     keys.At[[]keys.At[string]]
	FenceDelay                keys.At[time.Duration]
}

// Place is where the host stands, as far as it says.
func (h HostDraft) Place() fleet.Place {
	return fleet.Place{Rack: h.Rack.Value, Room: h.Room.Value, Zone: h.Zone.Value, Storage: h.Storage.Value}
}

// TemplateDraft is what the file says of a machine, in the keys that all templates have.
type TemplateDraft struct {
	keys.Seen
	Own                            keys.Own // what the types of providers add
	Image, Kernel, Initrd, Cmdline keys.At[string]
	Memory                         keys.At[uint64]
	CPUs                           keys.At[int]
	Network                        keys.At[string]
	Disks                          keys.At[[]keys.Named[DiskDraft]]
	UserData                       keys.At[TextDraft]
	Seed                           keys.At[bool]
	XML                            keys.At[TextDraft]
	Accel                          keys.At[policy.Accel]
	Metadata                       keys.At[[]keys.Named[string]]
}

// DiskDraft is one disk: a word for one that the template brings along, or the size of one to be made.
type DiskDraft struct {
	Kind keys.At[DiskKind]
	Size keys.At[uint64]
	Keep keys.At[bool]
	Type keys.At[string] // of volume
}

// DiskKind says what becomes of a disk in a recreate.
type DiskKind string

// What becomes of a disk.
const (
	DiskEphemeral DiskKind = "ephemeral"
	DiskKeep      DiskKind = "keep"
)

// TextDraft is a longer text: written here, or in a file of its own.
type TextDraft struct{ Inline, File keys.At[string] }
