package provider

import (
	"context"
	"slices"

	"hale/internal/defect"
	"hale/internal/fault"
	"hale/internal/fleet"
)

// Guarded returns the provider as one that does not panic, and tells the witness when the one behind it does: a
// question that panicked has no answer (fault.Transient), and an order has an unknown outcome. What it can do is what
// the one behind can.
func Guarded(p Provider, told defect.Witness) Provider { return &guarded{p, told} }

type guarded struct {
	behind Provider
	told   defect.Witness
}

// question is deferred by what changes nothing.
func (g *guarded) question(op string, ref Ref, err *error) {
	if p := defect.Of(recover()); p != nil {
		g.told.Note("", op, p)
		*err = fault.New(fault.Transient, "provider."+op, string(ref.ID), p)
	}
}

// order is deferred by what may have changed something.
func (g *guarded) order(op string, ref Ref, err *error) {
	if p := defect.Of(recover()); p != nil {
		g.told.Note("", op, p)
		*err = fault.New(fault.UnknownOutcome, "provider."+op, string(ref.ID), p)
	}
}

// Has implements Chooser.
func (g *guarded) Has(ability string) (has bool) {
	defer g.told.Catch("", "has", nil)
	all := Abilities()
	i := slices.IndexFunc(all, func(a Ability) bool { return a.Name == ability })
	return i >= 0 && all[i].Of(g.behind)
}

// Identity implements Reader.
func (g *guarded) Identity(ctx context.Context) (ids map[fleet.HostName]string, err error) {
	defer g.question("identity", Ref{}, &err)
	return g.behind.Identity(ctx)
}

// List implements Reader.
func (g *guarded) List(ctx context.Context) (l Listing, err error) {
	defer g.question("list", Ref{}, &err)
	return g.behind.List(ctx)
}

// Get implements Reader.
func (g *guarded) Get(ctx context.Context, ref Ref) (i fleet.Instance, err error) {
	defer g.question("get", ref, &err)
	return g.behind.Get(ctx, ref)
}

// Start implements Power.
func (g *guarded) Start(ctx context.Context, ref Ref) (err error) {
	defer g.order("start", ref, &err)
	return g.behind.Start(ctx, ref)
}

// Reboot implements Power.
func (g *guarded) Reboot(ctx context.Context, ref Ref) (err error) {
	defer g.order("reboot", ref, &err)
	return g.behind.Reboot(ctx, ref)
}

// PowerOff implements Power.
func (g *guarded) PowerOff(ctx context.Context, ref Ref) (err error) {
	defer g.order("power-off", ref, &err)
	return g.behind.PowerOff(ctx, ref)
}

// Create implements Builder.
func (g *guarded) Create(ctx context.Context, order Order) (err error) {
	defer g.order("create", order.Ref, &err)
	return g.behind.Create(ctx, order)
}

// Delete implements Builder.
func (g *guarded) Delete(ctx context.Context, ref Ref) (err error) {
	defer g.order("delete", ref, &err)
	return g.behind.Delete(ctx, ref)
}

// Certify implements Builder.
func (g *guarded) Certify(ctx context.Context, ref Ref) (err error) {
	defer g.order("certify", ref, &err)
	return g.behind.Certify(ctx, ref)
}

// Close implements Provider.
func (g *guarded) Close() (err error) {
	defer g.order("close", Ref{}, &err)
	return g.behind.Close()
}

// Resume implements Resumer.
func (g *guarded) Resume(ctx context.Context, ref Ref) (err error) {
	defer g.order("resume", ref, &err)
	if able, ok := g.behind.(Resumer); ok {
		return able.Resume(ctx, ref)
	}
	return absent("resume", ref)
}

// RebootSoft implements SoftRebooter.
func (g *guarded) RebootSoft(ctx context.Context, ref Ref) (err error) {
	defer g.order("reboot-soft", ref, &err)
	if able, ok := g.behind.(SoftRebooter); ok {
		return able.RebootSoft(ctx, ref)
	}
	return absent("reboot-soft", ref)
}

// Rebuild implements Rebuilder.
func (g *guarded) Rebuild(ctx context.Context, order Order) (err error) {
	defer g.order("rebuild", order.Ref, &err)
	if able, ok := g.behind.(Rebuilder); ok {
		return able.Rebuild(ctx, order)
	}
	return absent("rebuild", order.Ref)
}

// Evacuate implements Evacuator.
func (g *guarded) Evacuate(ctx context.Context, ref Ref) (err error) {
	defer g.order("evacuate", ref, &err)
	if able, ok := g.behind.(Evacuator); ok {
		return able.Evacuate(ctx, ref)
	}
	return absent("evacuate", ref)
}

// Migrate implements Migrator.
func (g *guarded) Migrate(ctx context.Context, ref Ref) (err error) {
	defer g.order("migrate", ref, &err)
	if able, ok := g.behind.(Migrator); ok {
		return able.Migrate(ctx, ref)
	}
	return absent("migrate", ref)
}

// Rescue implements Rescuer.
func (g *guarded) Rescue(ctx context.Context, ref Ref) (err error) {
	defer g.order("rescue", ref, &err)
	if able, ok := g.behind.(Rescuer); ok {
		return able.Rescue(ctx, ref)
	}
	return absent("rescue", ref)
}

// Keep implements Keeper.
func (g *guarded) Keep(ctx context.Context, ref Ref, name string) (err error) {
	defer g.order("keep", ref, &err)
	if able, ok := g.behind.(Keeper); ok {
		return able.Keep(ctx, ref, name)
	}
	return absent("keep", ref)
}

// Restore implements Keeper.
func (g *guarded) Restore(ctx context.Context, ref Ref, name string) (err error) {
	defer g.order("restore", ref, &err)
	if able, ok := g.behind.(Keeper); ok {
		return able.Restore(ctx, ref, name)
	}
	return absent("restore", ref)
}

// Snapshot implements Snapshotter.
func (g *guarded) Snapshot(ctx context.Context, ref Ref, name fleet.SnapshotName) (c fleet.Copy, err error) {
	defer g.order("snapshot", ref, &err)
	if able, ok := g.behind.(Snapshotter); ok {
		return able.Snapshot(ctx, ref, name)
	}
	return fleet.Copy{}, absent("snapshot", ref)
}

// DropSnapshot implements Snapshotter.
func (g *guarded) DropSnapshot(ctx context.Context, name fleet.SnapshotName) (err error) {
	defer g.order("drop-snapshot", Ref{}, &err)
	if able, ok := g.behind.(Snapshotter); ok {
		return able.DropSnapshot(ctx, name)
	}
	return absent("drop-snapshot", Ref{})
}

// Meter implements MeterReader.
func (g *guarded) Meter(ctx context.Context, ref Ref) (m Meter, err error) {
	defer g.question("meter", ref, &err)
	if able, ok := g.behind.(MeterReader); ok {
		return able.Meter(ctx, ref)
	}
	return "", absent("meter", ref)
}

// PingGuest implements GuestPinger.
func (g *guarded) PingGuest(ctx context.Context, ref Ref) (err error) {
	defer g.question("ping-guest", ref, &err)
	if able, ok := g.behind.(GuestPinger); ok {
		return able.PingGuest(ctx, ref)
	}
	return absent("ping-guest", ref)
}

// Console implements ConsoleReader.
func (g *guarded) Console(ctx context.Context, ref Ref, limit int) (said []byte, err error) {
	defer g.question("console", ref, &err)
	if able, ok := g.behind.(ConsoleReader); ok {
		return able.Console(ctx, ref, limit)
	}
	return nil, absent("console", ref)
}

// Screenshot implements Screenshooter.
func (g *guarded) Screenshot(ctx context.Context, ref Ref, limit int) (p Picture, err error) {
	defer g.question("screenshot", ref, &err)
	if able, ok := g.behind.(Screenshooter); ok {
		return able.Screenshot(ctx, ref, limit)
	}
	return Picture{}, absent("screenshot", ref)
}

// Rehearse implements Rehearser.
func (g *guarded) Rehearse(ctx context.Context, order Order) (err error) {
	defer g.question("rehearse", order.Ref, &err)
	if able, ok := g.behind.(Rehearser); ok {
		return able.Rehearse(ctx, order)
	}
	return absent("rehearse", order.Ref)
}

// Starts implements StartReader.
func (g *guarded) Starts(ctx context.Context, of fleet.Installation) (noted map[fleet.HostName][]fleet.StartName, err error) {
	defer g.question("starts", Ref{}, &err)
	if able, ok := g.behind.(StartReader); ok {
		return able.Starts(ctx, of)
	}
	return nil, absent("starts", Ref{})
}

// NoteStart implements StartNoter.
func (g *guarded) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) (err error) {
	defer g.order("note-start", Ref{}, &err)
	if able, ok := g.behind.(StartNoter); ok {
		return able.NoteStart(ctx, of, name)
	}
	return absent("note-start", Ref{})
}

// ForgetStart implements StartNoter.
func (g *guarded) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) (err error) {
	defer g.order("forget-start", Ref{}, &err)
	if able, ok := g.behind.(StartNoter); ok {
		return able.ForgetStart(ctx, of, name)
	}
	return absent("forget-start", Ref{})
}

// GuardedWatcher returns the watcher as one that does not panic: Watch returns what panicked as an error.
func GuardedWatcher(w Watcher, told defect.Witness) Watcher {
	if w == nil {
		return nil
	}
	return guardedWatcher{w, told}
}

type guardedWatcher struct {
	behind Watcher
	told   defect.Witness
}

// Watch implements Watcher.
func (g guardedWatcher) Watch(ctx context.Context, changed func(Event)) (err error) {
	defer g.told.Catch("", "watch", func(p *defect.Panic) { err = fault.New(fault.Transient, "provider.watch", "", p) })
	return g.behind.Watch(ctx, changed)
}
