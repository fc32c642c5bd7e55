// Package simulated is a provider without a hypervisor: a World of hosts and virtual machines that exists in memory, to
// try hale without one (`type: simulated`) and as the twin of the real providers in tests.
//
// It promises that machines boot, get addresses, answer pings and serve HTTP as real ones do, in package time's time, so
// also within a testing/synctest bubble; that everything that goes wrong in the field can be made to go wrong by
// World.Inject; and that the world remembers the truth (who ran when, which call did what to a healthy machine), so a
// test can assert hale's laws instead of its words. Controllers come and go (Open, Close); the world outlives them.
//
// It opens no socket, holds no lock while anything waits, and leaves no goroutine behind: a connection's goroutine ends
// with the connection or its machine. It keeps nothing on disk and does not act by itself, apart from injected faults.
package simulated

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/probe"
)

// Options describe a world. The zero value is one host whose machines boot in two seconds.
type Options struct {
	// Hosts are the places for machines. Default: a single one with an empty name.
	Hosts []fleet.HostName
	// Places say where hosts stand; those that are not in it stand nowhere in particular.
	Places map[fleet.HostName]fleet.Place
	// Networks are what a host's guests are on, whatever their template says.
	Networks map[fleet.HostName]string
	// Canaries are addresses beside the machines that answer pings.
	Canaries []netip.Addr
	// Boot is the time from power on until a machine answers pings and serves HTTP. Default 2 s.
	Boot time.Duration
	// AddressAfter is the time from power on until the provider knows the address. Default: half of Boot.
	AddressAfter time.Duration
	// Ports are those on which machines serve HTTP, beside those of Checks; all others refuse connections. Default, without Checks: 80.
	Ports []uint16
	// Checks are what machines are asked. They answer as each check wants it, as long as they are well.
	Checks []fleet.Check
	// Latency is the time that each provider call takes, but those about the notes of hale's starts. Default: none.
	Latency time.Duration
	// Subnet is where the world's DHCP takes addresses from. Default 10.0.0.0/8.
	Subnet netip.Prefix
	// Seed decides whatever is left to chance, and tells this world's identity from another's.
	Seed uint64
	// Run answers exec checks. Default: see World.Run.
	Run func(ctx context.Context, p probe.Program) (code int, output string, err error)
}

// World is the truth about a simulated installation.
type World struct {
	options Options

	mu        sync.Mutex
	random    *rand.Rand
	guests    map[fleet.InstanceID]*guest
	stayed    map[fleet.InstanceID][]*guest // further definitions of an id, on other hosts
	names     map[place]*guest
	leases    map[netip.Addr]*guest
	sharers   map[netip.Addr][]*guest // who has the address, too, and is not reached there
	last      netip.Addr              // handed out last
	gone      []*guest                // recently removed, for listings of the past
	active    []*injection            // faults in force, oldest first
	ears      []*subscriber           // watching handles
	machine   map[fleet.MachineName]copies
	lives     []*life
	calls     []Call
	disks     map[volume]*Disk
	snapshots map[fleet.SnapshotName]*Snapshot
	notes     notes
	written   uint64 // how many disks there ever were
}

// place is where a name is taken.
type place struct {
	host fleet.HostName
	name string
}

// NewWorld makes a world without machines.
func NewWorld(o Options) *World {
	if len(o.Hosts) == 0 {
		o.Hosts = []fleet.HostName{""}
	}
	o.Hosts = slices.Sorted(slices.Values(o.Hosts))
	if o.Boot == 0 {
		o.Boot = 2 * time.Second
	}
	if o.AddressAfter == 0 {
		o.AddressAfter = o.Boot / 2
	}
	if len(o.Ports) == 0 && len(o.Checks) == 0 {
		o.Ports = []uint16{80}
	}
	if !o.Subnet.IsValid() {
		o.Subnet = netip.MustParsePrefix("10.0.0.0/8")
	}
	return &World{
		options:   o,
		random:    rand.New(rand.NewPCG(o.Seed, 0x68616c65)),
		guests:    map[fleet.InstanceID]*guest{},
		stayed:    map[fleet.InstanceID][]*guest{},
		names:     map[place]*guest{},
		leases:    map[netip.Addr]*guest{},
		sharers:   map[netip.Addr][]*guest{},
		last:      o.Subnet.Masked().Addr(),
		machine:   map[fleet.MachineName]copies{},
		disks:     map[volume]*Disk{},
		snapshots: map[fleet.SnapshotName]*Snapshot{},
		notes:     notes{},
	}
}

// hostAddress is the own address of the host with the index: beside those of the guests, as a network of its own.
func hostAddress(index int) netip.Addr {
	return netip.AddrFrom4([4]byte{100, 64, byte(index >> 8), byte(index)}) //nolint:gosec // no world has so many
}

// hostAt returns the host whose own address it is.
func (w *World) hostAt(address netip.Addr) (fleet.HostName, bool) {
	for i, host := range w.options.Hosts {
		if hostAddress(i) == address {
			return host, true
		}
	}
	return "", false
}

// Serve makes machines answer other checks, and further addresses beside them answer pings: those who watch may come to ask for
// something else. They still listen where they did.
func (w *World) Serve(checks []fleet.Check, canaries []netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.options.Checks {
		if c.Port > 0 {
			w.options.Ports = union(w.options.Ports, []uint16{uint16(c.Port)}) //nolint:gosec // the configuration's
		}
	}
	w.options.Checks = checks
	w.options.Canaries = union(w.options.Canaries, canaries)
}

// union returns both lists' items, each once.
func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// Open returns a handle on the world's provider for the client, whose name the log of calls and some faults use.
func (w *World) Open(client string) *Provider {
	return &Provider{world: w, client: client, closed: make(chan struct{})}
}

// Plant adds a machine that runs, has long booted and was not ordered from this provider by hale: something to adopt,
// or somebody else's. Host, ID, Name, Network, Metadata and Tags are taken from the instance, and its Mark, which may be zero.
func (w *World) Plant(i fleet.Instance) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.vacant(i.ID, i.Host, i.Name); err != nil {
		return fault.New(fault.KindOf(err), "simulated.plant", i.Name, cause(err))
	}
	now := time.Now()
	g := w.add(now, i.ID, i.Host, i.Name, i.Mark)
	g.network, g.metadata, g.tags = i.Network, i.Metadata, i.Tags
	w.powerOn(g, now)
	g.bootsAt, g.addressAt = now, now
	g.remember(now)
	return nil
}

// vacant returns a Conflict when the id, or the name on the host, is taken, and Invalid for an unknown host.
func (w *World) vacant(id fleet.InstanceID, host fleet.HostName, name string) error {
	if err := w.hostExists(host); err != nil {
		return err
	}
	if _, taken := w.guests[id]; taken {
		return fault.New(fault.Conflict, "simulated.vacant", string(id), fmt.Errorf("the id exists"))
	}
	if g, taken := w.names[place{host, name}]; taken {
		return fault.New(fault.Conflict, "simulated.vacant", name, fmt.Errorf("the name is taken by %s", g.id))
	}
	return nil
}

func (w *World) hostExists(host fleet.HostName) error {
	if !slices.Contains(w.options.Hosts, host) {
		return fault.New(fault.Invalid, "simulated.host", string(host), fmt.Errorf("there is no such host"))
	}
	return nil
}

// add makes a guest that is off.
func (w *World) add(now time.Time, id fleet.InstanceID, host fleet.HostName, name string, mark fleet.Mark) *guest {
	g := &guest{id: id, host: host, name: name, state: state{mark: mark}}
	w.enter(now, g)
	return g
}

// enter puts the guest, which is off, into the world.
func (w *World) enter(now time.Time, g *guest) {
	g.conns, g.power, g.severed = map[*conn]struct{}{}, fleet.PowerOff, w.severed(g.host)
	if w.guests[g.id] == nil {
		w.guests[g.id] = g
	} else {
		w.stayed[g.id] = append(w.stayed[g.id], g)
	}
	w.names[place{g.host, g.name}] = g
	w.lease(g)
	w.born(g, now)
}

// leaves takes the guest out of those of its id.
func (w *World) leaves(g *guest) {
	others := slices.DeleteFunc(w.stayed[g.id], func(other *guest) bool { return other == g })
	if w.guests[g.id] == g {
		delete(w.guests, g.id)
		if len(others) > 0 {
			w.guests[g.id], others = others[0], others[1:]
		}
	}
	if w.stayed[g.id] = others; len(others) == 0 {
		delete(w.stayed, g.id)
	}
}

// remove takes the guest out of the world.
func (w *World) remove(g *guest, now time.Time) {
	w.setPower(g, now, fleet.PowerGone, fleet.StopUnknown)
	w.leaves(g)
	delete(w.names, place{g.host, g.name})
	w.giveUp(g)
	w.gone = append(w.gone, g)
	w.gone = slices.DeleteFunc(w.gone, func(old *guest) bool { return now.Sub(old.last().at) > memory })
	w.died(g, now)
}

// giveUp takes the guest from its address. Another one that has it, too, is reached there from now on.
func (w *World) giveUp(g *guest) {
	others := slices.DeleteFunc(w.sharers[g.address], func(o *guest) bool { return o == g })
	if w.leases[g.address] == g {
		delete(w.leases, g.address)
		if len(others) > 0 {
			w.leases[g.address], others = others[0], others[1:]
		}
	}
	if w.sharers[g.address] = others; len(others) == 0 {
		delete(w.sharers, g.address)
	}
}

// lease gives the guest an address that nobody has.
func (w *World) lease(g *guest) {
	w.giveUp(g)
	for {
		w.last = w.last.Next()
		if !w.options.Subnet.Contains(w.last) {
			w.last = w.options.Subnet.Masked().Addr().Next()
		}
		if _, taken := w.leases[w.last]; !taken {
			break
		}
	}
	g.address = w.last
	w.leases[g.address] = g
}

// identity is the host's own, the same for as long as the world exists.
func (w *World) identity(host fleet.HostName) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", w.options.Seed, host)
	return fmt.Sprintf("simulated-%016x", h.Sum64())
}

// Migrate moves a running guest to another host, as an administrator does. It reports false, and moves nothing, when the guest's
// name is taken there.
func (w *World) Migrate(id fleet.InstanceID, host fleet.HostName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.guests[id]
	if _, taken := w.names[place{host, g.name}]; taken {
		return false
	}
	w.transfer(g, host, time.Now())
	return true
}

// transfer puts the guest on another host, on which its name is free.
func (w *World) transfer(g *guest, host fleet.HostName, now time.Time) {
	delete(w.names, place{g.host, g.name})
	g.host = host
	w.names[place{host, g.name}] = g
	g.severed = w.severed(host)
	w.carry(g)
	w.recount(g)
	g.remember(now)
}

// Bear lets somebody write other metadata on a guest, of which no watcher is told.
func (w *World) Bear(id fleet.InstanceID, m fleet.Metadata) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.guests[id].metadata = m
}

// Leave makes an instance that is off, behind everybody's back: its id, host, name and mark are taken from i. It reports false, and makes
// nothing, when the id or the name is taken.
func (w *World) Leave(i fleet.Instance) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.vacant(i.ID, i.Host, i.Name) != nil {
		return false
	}
	now := time.Now()
	g := w.add(now, i.ID, i.Host, i.Name, i.Mark)
	g.network = i.Network
	w.setPower(g, now, fleet.PowerOff, fleet.StopUnknown)
	return true
}
