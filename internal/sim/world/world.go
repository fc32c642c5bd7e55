// Package world is a simulated installation in simulated time: hosts in racks, rooms and zones, virtual machines that
// boot, fall ill and serve, a provider's API that is slow, lies, loses answers or does things twice, networks that
// part, power that fails. It knows the truth about every machine and judges every call by it.
//
// It promises: one goroutine, time that only World.Step moves, and the same course of events for the same seed and the
// same calls. It imports nothing of hale but its calendar, load and guests, so that no mistake of the judgement can
// hide in its judge. What it calls healthy is a machine that would pass its own checks, asked from where its peers
// stand.
//
// It does not probe, decide or act by itself; it keeps nothing on disk.
package world

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"hale/internal/sim/calendar"
	"hale/internal/sim/errand"
	"hale/internal/sim/load"
)

// Host is one hypervisor with the domains that it lies in. Empty names mean that there is no such domain.
type Host struct {
	Name, Rack, Room, Zone, Network, Storage string
	// Fence is how often a caller may try to cut its power from outside; 0: nothing can.
	Fence int
	// Cut is how often, after that, a caller may try to cut it from storage and network; 0: nothing can.
	Cut int
	// Delay is for how long it is left as it is before it is fenced.
	Delay time.Duration
	// Heavier is how much longer, where one of the fleet's machines was seen on it last.
	Heavier time.Duration
	// Beside is how many machines of other fleets stand on it.
	Beside int
}

// Options describe a world. Durations of zero take the defaults named with them.
type Options struct {
	Seed  uint64
	Hosts []Host // default: one host with an empty name
	// Boot is the time from power on until a machine serves, drawn evenly between Boot and BootMost. Default 20 s to
	// 40 s.
	Boot, BootMost time.Duration
	// AddressAfter is the time from power on until the provider knows the address. Default: half of the boot.
	AddressAfter time.Duration
	// Latency is the time that a provider call takes, drawn evenly between Latency and LatencyMost. Default 50 ms to
	// 500 ms.
	Latency, LatencyMost time.Duration
	// Swift says that provider calls take no time.
	Swift bool
	// Proven is how long a machine must have served before it counts as healthy: the time in which its own checks would
	// call it up. Default: at once.
	Proven time.Duration
}

// World is the truth about a simulated installation. It is not safe for concurrent use.
type World struct {
	calendar.Calendar
	options    Options
	random     *rand.Rand
	hosts      map[string]*host
	order      []*host // by name
	vms        map[string]*VM
	stayed     map[string][]*VM // definitions of what vms has, on other hosts
	made       int              // copies of definitions that people made
	names      map[place]*VM
	leases     map[netip.Addr]*VM
	sharers    map[netip.Addr][]*VM // who has the address, too, and is not heard there
	last       netip.Addr
	copies     map[string]int // powered-on instances per machine
	clients    []*Client
	recent     []*VM // with news younger than memory
	cuts       []*cut
	cutoffs    []*cutoff
	trouble    []*troubled
	builds     []*badBuilds
	disks      map[volume]*Disk
	diskCopies map[copyName]Copy // of disks: the instance that each is of
	written    uint64            // how many disks there ever were
	notes      []*noted          // in the order in which they came

	// Demand is the load on its machines.
	Demand load.Demand
	// Errands is what is wrong with the hooks that are run for them.
	Errands errand.Fates
	// Watch is told of everything that the judge may want to know.
	Watch Watcher
}

// Watcher hears the truth as it happens.
type Watcher interface {
	// Sent is told when a changing call is sent, with what was true at that moment.
	Sent(c *Call)
	// Acted is told when a changing call reached the provider, and what it did.
	Acted(c *Call)
	// Serving is told when a machine's instance begins or ceases to serve.
	Serving(vm *VM)
	// Power is told when an instance was turned on or off, began to boot or went on, or is gone.
	Power(vm *VM)
	// Copies is told when the number of powered-on instances of a machine changes.
	Copies(machine string, n int)
	// Address is told when what a probe to the address would hear may have changed.
	Address(a netip.Addr)
	// Guest is told when what the agent inside an instance would say may have changed.
	Guest(id string)
	// Host is told when a client, everybody if it is empty, has to look at a host anew, at all of them if that is
	// empty: it answers again, or whether it is to be empty has changed.
	Host(name, client string)
}

// Deaf listens to nothing. Who wants to hear some of it alone has it in.
type Deaf struct{}

// Sent implements Watcher.
func (Deaf) Sent(*Call) {}

// Acted implements Watcher.
func (Deaf) Acted(*Call) {}

// Serving implements Watcher.
func (Deaf) Serving(*VM) {}

// Power implements Watcher.
func (Deaf) Power(*VM) {}

// Copies implements Watcher.
func (Deaf) Copies(string, int) {}

// Address implements Watcher.
func (Deaf) Address(netip.Addr) {}

// Guest implements Watcher.
func (Deaf) Guest(string) {}

// Host implements Watcher.
func (Deaf) Host(string, string) {}

type place struct{ host, name string }

// host is one hypervisor as it truly is.
type host struct {
	Host
	dark       int            // how many faults keep its control plane silent
	darkTo     map[string]int // and to one client alone
	supplanted int            // how many put another provider in its place
	dead       int            // how many keep its power controllers silent
	deadFirst  int            // and the first of them alone
	mute       int            // how many lose what that answers
	disabled   int            // how many want it to be empty
	// emptied and used are when it was last wanted to be empty, and ceased to be.
	emptied, used time.Duration
	cut           bool // its power was cut, and not turned on again
	deaf          int  // how many faults silence the methods that cut its access
	apart         bool // its access to storage and network was cut, and not given back
	guests        []*VM
}

// Complete returns the options with the defaults of what is zero.
func (o Options) Complete() Options {
	o.Boot = cmp.Or(o.Boot, 20*time.Second)
	o.BootMost = max(o.Boot, cmp.Or(o.BootMost, 2*o.Boot))
	o.Latency = cmp.Or(o.Latency, 50*time.Millisecond)
	o.LatencyMost = max(o.Latency, cmp.Or(o.LatencyMost, 10*o.Latency))
	if o.Swift {
		o.Latency, o.LatencyMost = 0, 0
	}
	return o
}

// New makes a world without machines at time zero.
func New(o Options) *World {
	if len(o.Hosts) == 0 {
		o.Hosts = []Host{{}}
	}
	o = o.Complete()
	w := &World{
		Watch: Deaf{}, options: o, random: rand.New(rand.NewPCG(o.Seed, 0x776f726c64)), hosts: map[string]*host{},
		vms:    map[string]*VM{},
		stayed: map[string][]*VM{}, names: map[place]*VM{}, leases: map[netip.Addr]*VM{},
		sharers: map[netip.Addr][]*VM{},
		last:    netip.MustParseAddr("10.0.0.0"), copies: map[string]int{},
		diskCopies: map[copyName]Copy{}, disks: map[volume]*Disk{},
	}
	for _, h := range o.Hosts {
		w.hosts[h.Name] = &host{Host: h}
		w.order = append(w.order, w.hosts[h.Name])
	}
	slices.SortFunc(w.order, func(a, b *host) int { return cmp.Compare(a.Name, b.Name) })
	return w
}

// Vacant reports whether nothing bears the name on the host.
func (w *World) Vacant(host, name string) bool { return w.names[place{host, name}] == nil }

// Hosts returns the hosts, sorted by name.
func (w *World) Hosts() []Host {
	out := make([]Host, len(w.order))
	for i, h := range w.order {
		out[i] = h.Host
	}
	return out
}

// between draws a duration evenly.
func (w *World) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(w.random.Int64N(int64(most-least)))
}

// in reports whether the host lies in the domain.
func (h *Host) in(d Domain) bool {
	switch d.Kind {
	case "all":
		return true
	case "host":
		return h.Name == d.Name
	case "rack":
		return h.Rack == d.Name
	case "room":
		return h.Room == d.Name
	case "zone":
		return h.Zone == d.Name
	case "network":
		return h.Network == d.Name
	case "storage":
		return h.Storage == d.Name
	}
	return false
}

// Domain is a set of machines that share a fate: Kind is all, host, rack, room, zone, network or storage, and Name
// which of them; or machine, and the machine's name.
type Domain struct{ Kind, Name string }

// Has reports whether one of the hosts lies in the domain.
func Has(hosts []Host, d Domain) bool {
	return slices.ContainsFunc(hosts, func(h Host) bool { return (&host{Host: h}).in(d) })
}

// Members returns how many machines of those that count serve from within the domain. A copy that a person made of one
// is none, and what a machine left behind is not the machine.
func (w *World) Members(d Domain, counts func(machine string) bool) int {
	n := 0
	for _, h := range w.order {
		in := h.in(d)
		for _, vm := range h.guests {
			if vm.serving && (in || d.Kind == "machine" && vm.Machine() == d.Name) && counts(vm.Machine()) &&
				w.Current(vm.Machine()) == vm {
				n++
			}
		}
	}
	return n
}

// within returns the instances in the domain, in the order of hosts and birth.
func (w *World) within(d Domain) []*VM {
	var out []*VM
	for _, h := range w.order {
		for _, vm := range h.guests {
			if h.in(d) || d.Kind == "machine" && vm.Machine() == d.Name {
				out = append(out, vm)
			}
		}
	}
	return out
}
