package simulated

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/sim/world"
)

// Provider is one client's handle on a world.
type Provider struct {
	world  *World
	client *world.Client
	close  sync.Once
	closed chan struct{}
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Watcher  = (*Provider)(nil)

	_ provider.Resumer      = (*Provider)(nil)
	_ provider.Rescuer      = (*Provider)(nil)
	_ provider.SoftRebooter = (*Provider)(nil)
	_ provider.Keeper       = (*Provider)(nil)
	_ provider.Snapshotter  = (*Provider)(nil)
	_ provider.Rebuilder    = (*Provider)(nil)
	_ provider.Adjuster     = (*Provider)(nil)
	_ provider.Reverter     = (*Provider)(nil)
	_ provider.Rehearser    = (*Provider)(nil)
	_ provider.GuestPinger  = (*Provider)(nil)
	_ provider.MeterReader  = (*Provider)(nil)
	_ provider.UsageReader  = (*Provider)(nil)
	_ provider.Evacuator    = (*Provider)(nil)
	_ provider.Migrator     = (*Provider)(nil)

	_ provider.ConsoleReader = (*Provider)(nil)
	_ provider.Screenshooter = (*Provider)(nil)
	_ provider.StartReader   = (*Provider)(nil)
	_ provider.StartNoter    = (*Provider)(nil)
)

var (
	errUnreachable = errors.New("unreachable")
	errForeign     = errors.New("it bears another mark")
)

// Close implements provider.Provider. The world goes on.
func (p *Provider) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// ofAllHosts reports whether the call goes to every host: those that do not answer are left out.
func ofAllHosts(op fleet.Op) bool {
	return op == provider.OpIdentity || op == provider.OpList || op == provider.OpUsage || ofNotes(op)
}

// ofNotes reports whether the call is about the notes of hale's starts.
func ofNotes(op fleet.Op) bool {
	return op == provider.OpStarts || op == provider.OpNoteStart || op == provider.OpForgetStart
}

// read carries a question to the world and the answer back. ask runs with the world locked.
func (p *Provider) read(ctx context.Context, op fleet.Op, ref provider.Ref,
	ask func(t *world.World) world.End) error {
	// Notes are asked for right before other calls; the world's latency is the time of those.
	call := world.Call{Op: world.Op(op), ID: string(ref.ID), Host: string(ref.Host), Mark: markOf(ref.Mark),
		Swift: ofNotes(op)}
	lost := fault.Transient
	if op == provider.OpNoteStart || op == provider.OpForgetStart {
		lost = fault.UnknownOutcome
	}
	return p.send(ctx, call, lost, func(t *world.World, answer func(world.End)) func() {
		return world.Ask(p.client, call, world.Patient, func(_ struct{}, e world.End) { answer(e) },
			func() (struct{}, world.End) {
				if t.Cut(p.client.Name) || !ofAllHosts(op) && !t.Reaches(p.client.Name, string(ref.Host)) {
					return struct{}{}, world.Transient
				}
				return struct{}{}, ask(t)
			})
	})
}

// change carries an order to the world and the answer back. Once the order was sent, whatever ends the wait for the
// answer leaves its outcome unknown. more says what the order is beside its reference.
func (p *Provider) change(ctx context.Context, op fleet.Op, ref provider.Ref, more func(c *world.Call)) error {
	call := world.Call{
		Op: world.Op(op), ID: string(ref.ID), Host: string(ref.Host), Mark: markOf(ref.Mark), Adopted: ref.Adopted,
		ForGood: ref.ForGood, Asks: true,
	}
	for _, h := range ref.Excused {
		call.Excused = append(call.Excused, string(h))
	}
	if more != nil {
		more(&call)
	}
	if ref.Adopted && ref.Mark != (fleet.Mark{}) {
		return fault.New(fault.Conflict, "simulated."+string(op), string(ref.ID), errForeign)
	}
	return p.send(ctx, call, fault.UnknownOutcome, func(_ *world.World, answer func(world.End)) func() {
		return p.client.Send(call, world.Patient, answer)
	})
}

// send sends a call and waits for its answer, as long as there is a context and a handle. lost says what it is without
// an answer.
func (p *Provider) send(ctx context.Context, call world.Call, lost fault.Kind,
	send func(t *world.World, answer func(world.End)) (giveUp func())) error {
	op := fleet.Op(call.Op)
	fail := func(kind fault.Kind, err error) error { return fault.New(kind, "simulated."+string(op), call.ID, err) }
	if err := p.over(ctx); err != nil {
		return fail(fault.Transient, err)
	}
	if !ofAllHosts(op) {
		if err := p.world.hostExists(fleet.HostName(call.Host)); err != nil {
			return fail(fault.Invalid, errors.Unwrap(err))
		}
	}
	var giveUp func()
	ended := make(chan error, 1)
	p.world.do(func(t *world.World) {
		giveUp = send(t, func(e world.End) {
			if e == world.Done {
				ended <- nil
				return
			}
			ended <- fail(kindOf(e), p.why(e, &call))
		})
	})
	select { // an answer that is there counts, whatever else has ended
	case err := <-ended:
		return err
	default:
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	case <-p.closed:
	}
	p.world.do(func(*world.World) { giveUp() })
	return fail(lost, p.over(ctx))
}

// why says why a call ended so, as far as that can be seen. The caller holds the world's lock.
func (p *Provider) why(e world.End, call *world.Call) error {
	t := p.world.truth
	vm := t.Definition(call.ID, call.Host)
	var silent []string
	for _, host := range p.world.options.Hosts {
		switch h := string(host); {
		case !t.Reaches(p.client.Name, h):
			silent = append(silent, h)
		case e == world.Conflict && h != call.Host && (t.Definition(call.ID, h) != nil || !t.Vacant(h, call.Name)):
			return fmt.Errorf("host %s has it, too, or its name", h)
		}
	}
	switch {
	case e == world.Transient && len(silent) > 0:
		return fmt.Errorf("%s did not answer, and may have it, too", strings.Join(silent, " and "))
	case e != world.Conflict || vm == nil:
		return nil
	case vm.Mark.Generation != call.Mark.Generation:
		return errForeign
	}
	return fmt.Errorf("it is %s %s", vm.Power, vm.Stop)
}

// Identity implements provider.Reader.
func (p *Provider) Identity(ctx context.Context) (map[fleet.HostName]string, error) {
	ids := map[fleet.HostName]string{}
	err := p.onHosts(ctx, provider.OpIdentity, func(t *world.World, host fleet.HostName) {
		if ids[host] = p.world.identity(host); t.Supplanted(string(host)) {
			ids[host] = "other-than-" + ids[host]
		}
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// onHosts lets something happen on each host that answers.
func (p *Provider) onHosts(ctx context.Context, op fleet.Op, do func(t *world.World, host fleet.HostName)) error {
	err := p.read(ctx, op, provider.Ref{}, func(t *world.World) world.End {
		end := world.Transient
		for _, host := range p.world.options.Hosts {
			if t.Reaches(p.client.Name, string(host)) {
				do(t, host)
				end = world.Done
			}
		}
		return end
	})
	if err == nil {
		p.waitForAll(ctx)
	}
	return err
}

// waitForAll takes the caller's time while a host hangs.
func (p *Provider) waitForAll(ctx context.Context) {
	p.world.mu.Lock()
	hangs := p.world.hanging > 0
	p.world.mu.Unlock()
	if _, bounded := ctx.Deadline(); bounded && hangs {
		<-ctx.Done()
	}
}

// List implements provider.Reader. Instances are sorted by host, name and id.
func (p *Provider) List(ctx context.Context) (provider.Listing, error) {
	var l provider.Listing
	err := p.read(ctx, provider.OpList, provider.Ref{}, func(*world.World) world.End {
		for i := range p.world.options.Hosts {
			l.Hosts = append(l.Hosts, p.world.hostAnswer(i, p.client.Name))
		}
		for _, s := range p.client.Survey() {
			l.Instances = append(l.Instances, p.world.said(provider.OpList, instanceOf(s)))
		}
		if !slices.ContainsFunc(l.Hosts, func(a provider.HostAnswer) bool { return a.Err == nil }) {
			return world.Transient
		}
		return world.Done
	})
	if err != nil {
		return provider.Listing{}, err
	}
	p.waitForAll(ctx)
	return l, nil
}

// Get implements provider.Reader.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (fleet.Instance, error) {
	var seen fleet.Instance
	err := p.readVM(ctx, provider.OpGet, ref, func(vm *world.VM) world.End {
		seen = p.world.said(provider.OpGet, instanceOf(vm.Status))
		return world.Done
	})
	return seen, err
}

// readVM asks something about one instance.
func (p *Provider) readVM(ctx context.Context, op fleet.Op, ref provider.Ref,
	ask func(vm *world.VM) world.End) error {
	return p.read(ctx, op, ref, func(t *world.World) world.End {
		vm := t.Definition(string(ref.ID), string(ref.Host))
		if vm == nil || t.Supplanted(string(ref.Host)) {
			return world.NotFound
		}
		return ask(vm)
	})
}

// Start implements provider.Power. A paused instance goes on; the remains of a crashed one, and what was put aside,
// are a Conflict.
func (p *Provider) Start(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpStart, ref, nil)
}

// Resume implements provider.Resumer.
func (p *Provider) Resume(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpResume, ref, nil)
}

// RebootSoft implements provider.SoftRebooter. A guest that hangs, or never came up, does not listen.
func (p *Provider) RebootSoft(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpSoftReboot, ref, nil)
}

// Reboot implements provider.Power. An instance that is off is a Conflict.
func (p *Provider) Reboot(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpReboot, ref, nil)
}

// PowerOff implements provider.Power.
func (p *Provider) PowerOff(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpPowerOff, ref, nil)
}

// Create implements provider.Builder. Of the template the network, the size, the metadata, the tags and the kept disks
// are looked at, and the image is remembered.
func (p *Provider) Create(ctx context.Context, order provider.Blueprint) error {
	order.Mark.Instance = order.ID
	return p.change(ctx, fleet.OpCreate, order.Ref, func(c *world.Call) {
		t := order.Template
		c.Name, c.Made, c.Network, c.Image = order.Name, order.Made, t.Network, t.Image
		bears(c, &t)
		for _, d := range t.Disks {
			if d.Attached() {
				c.Disks = append(c.Disks, d.Name)
			}
		}
	})
}

// bears says what an instance of the template has and bears.
func bears(c *world.Call, t *policy.Template) {
	c.Size, c.Metadata, c.Tags = world.Size(t.Size()), string(t.Metadata), string(t.Tags)
}

// Adjust implements provider.Adjuster.
func (p *Provider) Adjust(ctx context.Context, order provider.Blueprint) error {
	return p.change(ctx, fleet.OpAdjust, order.Ref, func(c *world.Call) { bears(c, &order.Template) })
}

// Rebuild implements provider.Rebuilder.
func (p *Provider) Rebuild(ctx context.Context, order provider.Blueprint) error {
	return p.change(ctx, fleet.OpRebuild, order.Ref, nil)
}

// Rehearse implements provider.Rehearser. A simulated machine needs nothing but a name.
func (p *Provider) Rehearse(ctx context.Context, order provider.Blueprint) error {
	return p.read(ctx, provider.OpRehearse, order.Ref, func(t *world.World) world.End {
		if !t.Vacant(string(order.Host), order.Name) {
			return world.Conflict
		}
		return world.Done
	})
}

// Delete implements provider.Builder.
func (p *Provider) Delete(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpDelete, ref, nil)
}

// Certify implements provider.Builder.
func (p *Provider) Certify(ctx context.Context, ref provider.Ref) error {
	ref.Adopted = false // it has no mark to be written on
	return p.change(ctx, fleet.OpCertify, ref, nil)
}

// Keep implements provider.Keeper.
func (p *Provider) Keep(ctx context.Context, ref provider.Ref, name string) error {
	return p.change(ctx, fleet.OpKeep, ref, func(c *world.Call) { c.Name = name })
}

// Restore implements provider.Keeper.
func (p *Provider) Restore(ctx context.Context, ref provider.Ref, name string) error {
	return p.change(ctx, fleet.OpRestore, ref, func(c *world.Call) { c.Name = name })
}

// Evacuate implements provider.Evacuator. The guest begins anew, on the host with the fewest.
func (p *Provider) Evacuate(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpEvacuate, ref, nil)
}

// Migrate implements provider.Migrator.
func (p *Provider) Migrate(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpMigrate, ref, nil)
}

// Rescue implements provider.Rescuer. Unrescued ends it.
func (p *Provider) Rescue(ctx context.Context, ref provider.Ref) error {
	return p.change(ctx, fleet.OpRescue, ref, nil)
}

// snapshotBytes is what each copy takes.
const snapshotBytes = 1 << 20

// Snapshot implements provider.Snapshotter.
func (p *Provider) Snapshot(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	if name.Host != ref.Host {
		return fleet.Copy{}, fault.New(fault.Invalid, "simulated.snapshot", string(ref.ID),
			fmt.Errorf("a copy on host %q", name.Host))
	}
	if err := p.change(ctx, fleet.OpSnapshot, ref,
		func(c *world.Call) { c.Snapshot = snapshotID(name) }); err != nil {
		return fleet.Copy{}, err
	}
	return fleet.Copy{Where: fmt.Sprintf("%s.%s.snapshot", name.Machine, name.ID), Bytes: snapshotBytes}, nil
}

// DropSnapshot implements provider.Snapshotter.
func (p *Provider) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	ref := provider.Ref{ID: fleet.InstanceID(name.ID), Host: name.Host, Mark: fleet.Mark{Machine: name.Machine}}
	return p.change(ctx, fleet.OpDropSnapshot, ref, func(c *world.Call) { c.Snapshot = snapshotID(name) })
}

// Revert implements provider.Reverter.
func (p *Provider) Revert(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) error {
	return p.change(ctx, fleet.OpRevert, ref, func(c *world.Call) { c.Snapshot = snapshotID(name) })
}

var errNoAgent = errors.New("the guest's agent does not answer")

// PingGuest implements provider.GuestPinger. The agent answers as long as the guest lives, whatever its network does.
// Where it does not, the answer comes when ctx ends.
func (p *Provider) PingGuest(ctx context.Context, ref provider.Ref) error {
	answers := false
	err := p.readVM(ctx, provider.OpPingGuest, ref, func(vm *world.VM) world.End {
		answers = vm.AnswersAgent() && !p.world.failsKind(vm, policy.CheckAgent)
		return world.Done
	})
	if err != nil || answers {
		return err
	}
	select {
	case <-ctx.Done():
	case <-p.closed:
	}
	return fault.New(fault.Conflict, "simulated."+string(provider.OpPingGuest), string(ref.ID), errNoAgent)
}

// Meter implements provider.MeterReader. The processors of a guest that hangs spin; those of one that has halted stand
// still.
func (p *Provider) Meter(ctx context.Context, ref provider.Ref) (provider.Meter, error) {
	var m provider.Meter
	err := p.readVM(ctx, provider.OpMeter, ref, func(vm *world.VM) world.End {
		switch {
		case vm.Power != world.Running:
			return world.Conflict
		case vm.StandsStill():
			m = "halted"
		default:
			m = provider.Meter(time.Now().String())
		}
		return world.Done
	})
	return m, err
}

// Usage implements provider.UsageReader. A guest that serves uses as much of its processors as its share of the world's
// load takes, at least a tenth; one that hangs uses all, one that has halted none.
func (p *Provider) Usage(ctx context.Context, refs []provider.Ref) (map[fleet.InstanceID]provider.Usage, error) {
	found := map[fleet.InstanceID]provider.Usage{}
	err := p.onHosts(ctx, provider.OpUsage, func(t *world.World, host fleet.HostName) {
		for _, ref := range refs {
			vm := t.Definition(string(ref.ID), string(host))
			if vm == nil || vm.Power != world.Running || t.Supplanted(string(host)) {
				continue
			}
			found[ref.ID] = provider.Usage{At: time.Now(), Of: map[policy.Usage]provider.Amount{
				policy.UsageCPU: {Value: t.Busy(vm)}, policy.UsageMemory: {Value: usualMemory},
			}}
		}
	})
	return found, err
}

// usualMemory is how much of its memory a guest uses, in percent.
const usualMemory = 25

// Starts implements provider.StartReader. Each host keeps notes of its own.
func (p *Provider) Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	found := make(map[fleet.HostName][]fleet.StartName)
	err := p.onHosts(ctx, provider.OpStarts, func(t *world.World, host fleet.HostName) {
		found[host] = startsOf(t.OnHost(string(host), string(of)))
	})
	return found, err
}

// NoteStart implements provider.StartNoter. Notes are no instance's, so that they are not among the world's calls.
func (p *Provider) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	if _, err := fleet.ParseStart(string(name)); err != nil {
		return fault.New(fault.Invalid, "simulated.note-start", string(name), err)
	}
	return p.onHosts(ctx, provider.OpNoteStart, func(t *world.World, host fleet.HostName) {
		t.NoteOn(string(host),
			string(of), string(name))
	})
}

// ForgetStart implements provider.StartNoter.
func (p *Provider) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return p.onHosts(ctx, provider.OpForgetStart, func(t *world.World, host fleet.HostName) {
		t.ForgetOn(string(host),
			string(of), string(name))
	})
}

// Noted returns the starts of the installation that hosts have been told of, each once, oldest first.
func (w *World) Noted(of fleet.Installation) (names []fleet.StartName) {
	w.do(func(t *world.World) {
		for _, host := range w.options.Hosts {
			names = union(names, startsOf(t.OnHost(string(host), string(of))))
		}
	})
	slices.SortFunc(names, fleet.StartName.Compare)
	return names
}

func startsOf(notes []string) []fleet.StartName {
	var names []fleet.StartName
	for _, n := range notes {
		names = append(names, fleet.StartName(n))
	}
	slices.SortFunc(names, fleet.StartName.Compare)
	return names
}

// over reports why the handle cannot send: its context or the handle itself ended.
func (p *Provider) over(ctx context.Context) error {
	select {
	case <-p.closed:
		return net.ErrClosed
	default:
		return ctx.Err()
	}
}

// wait lets the time pass. It ends early, with the reason, with the context or the handle.
func (p *Provider) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
	case <-p.closed:
	}
	return p.over(ctx)
}
