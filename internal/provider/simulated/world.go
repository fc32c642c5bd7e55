// Package simulated is a provider without a hypervisor: a World of hosts and virtual machines that exists in memory, to
// try hale without one (`type: simulated`) and as the twin of the real providers in tests.
//
// It is internal/sim/world, which knows what is true and what follows from what, with a clock and a lock. It promises
// that machines boot, get addresses, answer pings and serve HTTP as real ones do, in package time's time, so also
// within a testing/synctest bubble; that everything that goes wrong in the field can be made to go wrong by
// World.Inject; and that the world remembers the truth (who ran when, which call did what to a healthy machine), so a
// test can assert hale's laws instead of its words. Controllers come and go (Open, Close); the world outlives them.
//
// It opens no socket, holds no lock while anything waits, and leaves no goroutine behind: a connection's goroutine ends
// with the connection or its machine. It keeps nothing on disk and does not act by itself, apart from injected faults.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/provider"
	"hale/internal/sim/world"
)

// Options describe a world. The zero value is one host with machines that boot in two seconds.
type Options struct {
	// Hosts are the places for machines. Default: a single one with an empty name.
	Hosts []fleet.HostName
	// Places say where hosts stand; those that are not in it stand nowhere in particular.
	Places map[fleet.HostName]fleet.Place
	// Networks are what a host's guests are on, whatever their template says.
	Networks map[fleet.HostName]string
	// Ground is the hosts with all that the world knows of one, in the place of Hosts, Places and Networks.
	Ground []world.Host
	// Canaries are addresses beside the machines that answer pings.
	Canaries []netip.Addr
	// Boot is the time from power on until a machine answers pings and serves HTTP. Default 2 s.
	Boot time.Duration
	// AddressAfter is the time from power on until the provider knows the address. Default: half of Boot.
	AddressAfter time.Duration
	// Ports are those on which machines serve HTTP, beside those of Checks; all others refuse connections. Default,
	// without Checks: 80.
	Ports []uint16
	// Checks are what machines are asked. They answer as each check wants it, as long as they are well.
	Checks []policy.Check
	// Latency is the time that each provider call takes, but those about the notes of hale's starts. Default: none.
	Latency time.Duration
	// Proven is how long a machine must have served before a call to it counts as sent to a healthy one. Default: at
	// once.
	Proven time.Duration
	// Seed decides whatever is left to chance, and tells this world's identity from another's.
	Seed uint64
	// Run answers exec checks. Default: see World.Run.
	Run func(ctx context.Context, p probe.Program) (code int, output string, err error)
}

// World is the truth about a simulated installation.
type World struct {
	options Options

	mu      sync.Mutex
	truth   *world.World
	began   time.Time   // when the truth's time began; zero: not yet
	alarm   *time.Timer // at what happens next by itself
	conns   map[netip.Addr]map[*conn]struct{}
	ears    []*subscriber // watching handles
	deaf    int           // how many faults lose all events
	repeats []int         // how often each event is delivered
	hanging int           // how many faults keep those waiting who ask all hosts
	lies    []*Misreported
	lives   []*life
	living  map[*world.VM]*life
	most    map[fleet.MachineName]int // running instances at once
	calls   []Call
	judge   world.Watcher // who hears the truth, too
}

// NewWorld makes a world without machines.
func NewWorld(o Options) *World {
	if len(o.Ground) > 0 {
		o.Hosts, o.Places = nil, map[fleet.HostName]fleet.Place{}
	}
	for _, h := range o.Ground {
		o.Hosts = append(o.Hosts, fleet.HostName(h.Name))
		o.Places[fleet.HostName(h.Name)] = fleet.Place{Rack: h.Rack, Room: h.Room, Zone: h.Zone, Storage: h.Storage}
	}
	if len(o.Hosts) == 0 {
		o.Hosts = []fleet.HostName{""}
	}
	o.Hosts = slices.Sorted(slices.Values(o.Hosts))
	if o.Boot == 0 {
		o.Boot = defaultBoot
	}
	if len(o.Ports) == 0 && len(o.Checks) == 0 {
		o.Ports = []uint16{80}
	}
	w := &World{
		options: o, conns: map[netip.Addr]map[*conn]struct{}{}, living: map[*world.VM]*life{},
		most: map[fleet.MachineName]int{}, judge: world.Deaf{},
	}
	w.truth = world.New(world.Options{
		Seed: o.Seed, Hosts: o.hosts(), Boot: o.Boot, BootMost: o.Boot, AddressAfter: o.AddressAfter,
		Swift: o.Latency == 0, Proven: o.Proven,
		Latency: o.Latency, LatencyMost: o.Latency,
	})
	w.truth.Watch = witness{w: w}
	return w
}

// hosts are the options' as the truth wants them.
func (o *Options) hosts() []world.Host {
	if len(o.Ground) > 0 {
		return o.Ground
	}
	var out []world.Host
	for _, name := range o.Hosts {
		p := o.Places[name]
		out = append(out, world.Host{Name: string(name), Rack: p.Rack, Room: p.Room, Zone: p.Zone,
			Storage: p.Storage, Network: o.Networks[name]})
	}
	return out
}

// do lets something happen now, after all that is due.
func (w *World) do(what func(t *world.World)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = time.Now()
	}
	now := time.Since(w.began)
	w.truth.Until(now)
	what(w.truth)
	w.truth.Until(now)
	next, some := w.truth.Next()
	switch {
	case !some:
	case w.alarm == nil:
		w.alarm = time.AfterFunc(next-now, func() { w.do(func(*world.World) {}) })
	default:
		w.alarm.Reset(next - now)
	}
}

// at is the time of the truth's.
func (w *World) at(t time.Duration) time.Time { return w.began.Add(t) }

// Strike lets something happen to the truth that lasts. The returned function ends it; it may be called more than once.
func (w *World) Strike(strike func(t *world.World) (lift func())) (lift func()) {
	var over func()
	w.do(func(t *world.World) { over = strike(t) })
	return func() {
		w.do(func(*world.World) {
			if over != nil {
				over()
			}
			over = nil
		})
	}
}

// Judged has another hear the truth, too, from now on. The world is locked meanwhile.
func (w *World) Judged(by func(t *world.World) world.Watcher) {
	w.do(func(t *world.World) { w.judge = by(t) })
}

// hostAddress is the own address of the host with the index: beside those of the guests, as a network of its own.
func hostAddress(index int) netip.Addr {
	return netip.AddrFrom4([4]byte{100, 64, byte(index >> 8), byte(index)}) //nolint:gosec // no world has so many
}

// hostAt returns the host that has the address as its own.
func (w *World) hostAt(address netip.Addr) (fleet.HostName, bool) {
	for i, host := range w.options.Hosts {
		if hostAddress(i) == address {
			return host, true
		}
	}
	return "", false
}

// Serve makes machines answer other checks, and further addresses beside them answer pings: those who watch may come
// to ask for something else. They still listen where they did.
func (w *World) Serve(checks []policy.Check, canaries []netip.Addr) {
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

// Open returns a handle on the world's provider for the client. The log of calls and some faults use its name.
func (w *World) Open(client string) *Provider {
	return &Provider{world: w, client: w.truth.Caller(client), closed: make(chan struct{})}
}

// Plant adds a machine that runs, has long booted and was not ordered from this provider by hale: something to adopt,
// or another one's. Host, ID, Name, Network, Metadata and Tags are taken from the instance, and its Mark, which may
// be zero.
func (w *World) Plant(i fleet.Instance) (err error) {
	w.do(func(t *world.World) {
		if err = w.vacant(i.ID, i.Host); err == nil && !t.Vacant(string(i.Host), i.Name) {
			err = fault.New(fault.Conflict, "simulated.plant", i.Name, errors.New("the name is taken"))
		}
		if err == nil {
			t.Plant(statusOf(i))
		}
	})
	return err
}

// vacant returns a Conflict when the id is taken, and Invalid for an unknown host.
func (w *World) vacant(id fleet.InstanceID, host fleet.HostName) error {
	if err := w.hostExists(host); err != nil {
		return err
	}
	if w.truth.VM(string(id)) != nil {
		return fault.New(fault.Conflict, "simulated.plant", string(id), errors.New("the id exists"))
	}
	return nil
}

func (w *World) hostExists(host fleet.HostName) error {
	if !slices.Contains(w.options.Hosts, host) {
		return fault.New(fault.Invalid, "simulated.host", string(host), errors.New("there is no such host"))
	}
	return nil
}

// identity is the host's own, the same for as long as the world exists.
func (w *World) identity(host fleet.HostName) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", w.options.Seed, host)
	return fmt.Sprintf("simulated-%016x", h.Sum64())
}

// onVM does something to what the host has of the instance, of any host if there is none of it there, and reports what
// came of it; false: there is no such instance.
func (w *World) onVM(id fleet.InstanceID, host fleet.HostName, do func(t *world.World,
	vm *world.VM) bool) (done bool) {
	w.do(func(t *world.World) {
		vm := t.Definition(string(id), string(host))
		if vm == nil {
			vm = t.VM(string(id))
		}
		done = vm != nil && do(t, vm)
	})
	return done
}

// Migrate moves a running guest to another host, as an administrator does. It reports false, and moves nothing, when
// the guest's name is taken there.
func (w *World) Migrate(id fleet.InstanceID, host fleet.HostName) bool {
	return w.onVM(id, "", func(t *world.World, vm *world.VM) bool { return t.Migrate(vm, string(host)) })
}

// Bear writes other metadata on a guest, as a person does, and tells no watcher.
func (w *World) Bear(id fleet.InstanceID, m fleet.Metadata) {
	w.onVM(id, "", func(t *world.World, vm *world.VM) bool { t.Bear(vm, string(m)); return true })
}

// Leave makes an instance that is off, behind everybody's back: its id, host, name and mark are taken from i. It
// reports false, and makes nothing, when the id or the name is taken.
func (w *World) Leave(i fleet.Instance) (left bool) {
	w.do(func(t *world.World) { left = w.vacant(i.ID, i.Host) == nil && t.Leave(statusOf(i)) })
	return left
}

// statusOf translates an instance for the truth, and instanceOf what the truth's provider says of one, unless a fault
// lets it lie.

func statusOf(i fleet.Instance) world.Status {
	return world.Status{
		ID: string(i.ID), Name: i.Name, Host: string(i.Host), Network: i.Network, Mark: markOf(i.Mark),
		Metadata: string(i.Metadata), Tags: string(i.Tags), Size: world.Size(i.Size),
	}
}

func instanceOf(s world.Status) fleet.Instance {
	i := fleet.Instance{
		ID: fleet.InstanceID(s.ID), Name: s.Name, Host: fleet.HostName(s.Host), Network: s.Network,
		Power: fleet.Power(s.Power),
		Stop:  fleet.Stop(s.Stop), Address: s.Address, Metadata: fleet.Metadata(s.Metadata),
		Tags: fleet.Tags(s.Tags), Transient: s.Transient, Size: fleet.Size(s.Size),
	}
	if !s.Mark.Unmarked {
		i.Mark = fleet.Mark{
			Installation: fleet.Installation(s.Mark.Installation), Fleet: fleet.Name(s.Mark.Fleet),
			Machine:    fleet.MachineName(s.Mark.Machine),
			Generation: fleet.Generation(s.Mark.Generation), Certified: s.Mark.Certified, Built: s.Mark.Built,
			Kept:     s.Mark.Kept,
			Instance: fleet.InstanceID(s.Mark.Instance),
		}.Of(i.ID)
	}
	return i
}

func markOf(m fleet.Mark) world.Mark {
	return world.Mark{
		Installation: string(m.Installation), Fleet: string(m.Fleet), Machine: string(m.Machine),
		Generation: uint64(m.Generation),
		Certified:  m.Certified, Built: m.Built, Kept: m.Kept, Instance: string(m.Instance),
		Unmarked: m == (fleet.Mark{}),
	}
}

// kindOf and endOf translate how a call ends: the same words, but for what stands between them.

func kindOf(e world.End) fault.Kind { return fault.Kind(strings.ReplaceAll(string(e), "-", " ")) }

func endOf(k fault.Kind) world.End { return world.End(strings.ReplaceAll(string(k), " ", "-")) }

// said returns what the provider says for what is so. The caller holds the world's lock.
func (w *World) said(op fleet.Op, i fleet.Instance) fleet.Instance {
	for _, l := range slices.Backward(w.lies) {
		if l.Instance == i.ID && (l.Op == "" || l.Op == op) {
			i.Power, i.Stop = l.Power, l.Stop
			break
		}
	}
	return i
}

// hostAnswer is what the listing says of the host, and unheard the error of one that does not answer the client.
func (w *World) hostAnswer(i int, client string) provider.HostAnswer {
	host := w.options.Hosts[i]
	a := provider.HostAnswer{Name: host, Place: w.options.Places[host], Disabled: w.truth.Disabled(string(host)),
		Independent: len(w.options.Hosts) > 1, Address: hostAddress(i)}
	if !w.truth.Reaches(client, string(host)) {
		a.Err = fault.New(fault.Transient, "simulated.list", string(host), errUnreachable)
	}
	return a
}
