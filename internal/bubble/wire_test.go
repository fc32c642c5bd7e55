package bubble

import (
	"context"
	"strings"
	"testing"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
	"hale/internal/tenure"
)

// lateSuffix marks, in the provider's log, what was held up between the reading of the lease and the sending.
const lateSuffix = ", held up"

func heldUp(client string) bool { return strings.HasSuffix(client, lateSuffix) }

// wire is what lies between a server and its provider: what is on its way arrives, whatever becomes of its sender, and a
// disruptive call can be held up right before it is sent.
type wire struct {
	provider.Provider
	late   provider.Provider // for what was held up
	server *server
}

// carry sends a changing call.
func (w wire) carry(ctx context.Context, op fleet.Op, id fleet.InstanceID, do func(context.Context, provider.Provider) error) error {
	far, limit := w.Provider, fleet.BuildCallLimit
	if end, ok := ctx.Deadline(); ok {
		limit = time.Until(end)
	}
	if left := w.server.remaining(); op.Disruptive() && left <= limit+tenure.Margin {
		w.server.room.t.Errorf("L7: %s of %s by %s may take %v, and its lease has %v left", op, id, w.server.name, limit, left)
	}
	held := w.server.takePause(op)
	answer := make(chan error, 1)
	// It ends with its limit, after what holds it up.
	go func() {
		ctx := context.WithoutCancel(ctx)
		if held > 0 {
			pause(ctx, held)
			far = w.late
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		answer <- do(ctx, far)
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fault.New(fault.UnknownOutcome, "wire."+string(op), string(id), ctx.Err())
	}
}

// Start implements provider.Power.
func (w wire) Start(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpStart, ref.ID, func(ctx context.Context, p provider.Provider) error { return p.Start(ctx, ref) })
}

// Reboot implements provider.Power.
func (w wire) Reboot(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpReboot, ref.ID, func(ctx context.Context, p provider.Provider) error { return p.Reboot(ctx, ref) })
}

// Keep implements provider.Keeper.
func (w wire) Keep(ctx context.Context, ref provider.Ref, name string) error {
	return w.carry(ctx, fleet.OpKeep, ref.ID, func(ctx context.Context, p provider.Provider) error {
		return p.(provider.Keeper).Keep(ctx, ref, name)
	})
}

// Restore implements provider.Keeper.
func (w wire) Restore(ctx context.Context, ref provider.Ref, name string) error {
	return w.carry(ctx, fleet.OpRestore, ref.ID, func(ctx context.Context, p provider.Provider) error {
		return p.(provider.Keeper).Restore(ctx, ref, name)
	})
}

// Snapshot implements provider.Snapshotter.
func (w wire) Snapshot(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	var made fleet.Copy
	err := w.carry(ctx, fleet.OpSnapshot, ref.ID, func(ctx context.Context, p provider.Provider) (err error) {
		made, err = p.(provider.Snapshotter).Snapshot(ctx, ref, name)
		return err
	})
	if err != nil {
		return fleet.Copy{}, err // what is still on its way may write made
	}
	return made, nil
}

// DropSnapshot implements provider.Snapshotter.
func (w wire) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	return w.carry(ctx, fleet.OpDropSnapshot, fleet.InstanceID(name.ID), func(ctx context.Context, p provider.Provider) error {
		return p.(provider.Snapshotter).DropSnapshot(ctx, name)
	})
}

// Resume implements provider.Resumer.
func (w wire) Resume(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpResume, ref.ID, func(ctx context.Context, p provider.Provider) error {
		return p.(provider.Resumer).Resume(ctx, ref)
	})
}

// Rescue implements provider.Rescuer.
func (w wire) Rescue(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpRescue, ref.ID, func(ctx context.Context, p provider.Provider) error {
		return p.(provider.Rescuer).Rescue(ctx, ref)
	})
}

// RebootSoft implements provider.SoftRebooter.
func (w wire) RebootSoft(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpSoftReboot, ref.ID, func(ctx context.Context, p provider.Provider) error {
		return p.(provider.SoftRebooter).RebootSoft(ctx, ref)
	})
}

// Rebuild implements provider.Rebuilder.
func (w wire) Rebuild(ctx context.Context, order provider.Order) error {
	return w.carry(ctx, fleet.OpRebuild, order.ID, func(ctx context.Context, p provider.Provider) error {
		return p.(provider.Rebuilder).Rebuild(ctx, order)
	})
}

// Evacuate implements provider.Evacuator.
func (w wire) Evacuate(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpEvacuate, ref.ID, func(ctx context.Context, p provider.Provider) error {
		return p.(provider.Evacuator).Evacuate(ctx, ref)
	})
}

// Migrate implements provider.Migrator.
func (w wire) Migrate(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpMigrate, ref.ID, func(ctx context.Context, p provider.Provider) error {
		return p.(provider.Migrator).Migrate(ctx, ref)
	})
}

// Meter implements provider.MeterReader.
func (w wire) Meter(ctx context.Context, ref provider.Ref) (provider.Meter, error) {
	return w.Provider.(provider.MeterReader).Meter(ctx, ref)
}

// PingGuest implements provider.GuestPinger.
func (w wire) PingGuest(ctx context.Context, ref provider.Ref) error {
	return w.Provider.(provider.GuestPinger).PingGuest(ctx, ref)
}

// Console implements provider.ConsoleReader.
func (w wire) Console(ctx context.Context, ref provider.Ref, limit int) ([]byte, error) {
	return w.Provider.(provider.ConsoleReader).Console(ctx, ref, limit)
}

// Screenshot implements provider.Screenshooter.
func (w wire) Screenshot(ctx context.Context, ref provider.Ref, limit int) (provider.Picture, error) {
	return w.Provider.(provider.Screenshooter).Screenshot(ctx, ref, limit)
}

// Rehearse implements provider.Rehearser.
func (w wire) Rehearse(ctx context.Context, order provider.Order) error {
	return w.Provider.(provider.Rehearser).Rehearse(ctx, order)
}

// Starts implements provider.StartReader.
func (w wire) Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	return w.Provider.(provider.StartReader).Starts(ctx, of)
}

// NoteStart implements provider.StartNoter.
func (w wire) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return w.Provider.(provider.StartNoter).NoteStart(ctx, of, name)
}

// ForgetStart implements provider.StartNoter.
func (w wire) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return w.Provider.(provider.StartNoter).ForgetStart(ctx, of, name)
}

// What the simulated provider can do, it can do over the wire.
func TestTheWireHidesNothing(t *testing.T) {
	t.Parallel()
	for _, a := range provider.Abilities() {
		if !a.Of(wire{}) {
			t.Errorf("%s is hidden", a.Name)
		}
	}
}

// PowerOff implements provider.Power.
func (w wire) PowerOff(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpPowerOff, ref.ID, func(ctx context.Context, p provider.Provider) error { return p.PowerOff(ctx, ref) })
}

// Create implements provider.Builder.
func (w wire) Create(ctx context.Context, order provider.Order) error {
	return w.carry(ctx, fleet.OpCreate, order.ID, func(ctx context.Context, p provider.Provider) error { return p.Create(ctx, order) })
}

// Delete implements provider.Builder.
func (w wire) Delete(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpDelete, ref.ID, func(ctx context.Context, p provider.Provider) error { return p.Delete(ctx, ref) })
}

// Certify implements provider.Builder.
func (w wire) Certify(ctx context.Context, ref provider.Ref) error {
	return w.carry(ctx, fleet.OpCertify, ref.ID, func(ctx context.Context, p provider.Provider) error { return p.Certify(ctx, ref) })
}
