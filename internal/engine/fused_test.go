package engine_test

import (
	"context"
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/engine"
	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/notify"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state"
)

// fusedStore is the store behind a fuse.
type fusedStore struct {
	state.Store
	fuse *fuse
	late state.Store // of nobody: what was on its way
}

// Commit implements state.Store.
func (s fusedStore) Commit(ctx context.Context, txn state.Txn) (rev int64, err error) {
	err = s.fuse.through(ctx, sortWrite, written(txn), deed{
		now: func(ctx context.Context) error {
			rev, err = s.Store.Commit(ctx, txn)
			return err
		},
		late: func(ctx context.Context) { _, _ = s.late.Commit(ctx, txn) },
	})
	return rev, err
}

// Grant implements state.Store.
func (s fusedStore) Grant(ctx context.Context, ttl time.Duration) (state.Lease, error) {
	l, err := s.Store.Grant(ctx, ttl)
	return fusedLease{l, s.fuse}, err
}

// fusedLease is given back by the living only.
type fusedLease struct {
	state.Lease
	fuse *fuse
}

// Revoke implements state.Lease.
func (l fusedLease) Revoke(ctx context.Context) error {
	if l.fuse.spent() {
		return fault.New(fault.UnknownOutcome, "fuse.revoke", "", nil)
	}
	return l.Lease.Revoke(ctx)
}

// written names a write by what it says: its records, or else its keys.
func written(txn state.Txn) string {
	var said []string
	add := func(word string) {
		if !slices.Contains(said, word) {
			said = append(said, word)
		}
	}
	for _, w := range txn.Then {
		var r fleet.Record
		if strings.HasPrefix(w.Key, "journal/") && json.Unmarshal(w.Value, &r) == nil {
			add(strings.TrimSpace(string(r.Kind) + " " + string(r.Op)))
		}
	}
	if len(said) > 0 {
		return strings.Join(said, ", ")
	}
	for _, w := range txn.Then {
		family, _, _ := strings.Cut(w.Key, "/")
		if family == "fleets" {
			family = strings.Split(w.Key, "/")[2]
		}
		add(family)
	}
	return strings.Join(said, ", ")
}

// fusedProvider is a provider behind a fuse.
type fusedProvider struct {
	*simulated.Provider
	fuse *fuse
	late *simulated.Provider // of nobody: what was on its way
}

func (p fusedProvider) carry(ctx context.Context, op fleet.Op, do func(ctx context.Context, p *simulated.Provider) error) error {
	return p.fuse.through(ctx, sortCall, string(op), deed{
		now:  func(ctx context.Context) error { return do(ctx, p.Provider) },
		late: func(ctx context.Context) { _ = do(ctx, p.late) },
	})
}

// ask carries a question.
func (p fusedProvider) ask(ctx context.Context, op fleet.Op, do func(ctx context.Context) error) error {
	return p.fuse.through(ctx, sortQuestion, string(op), deed{now: do})
}

// Get implements provider.Reader.
func (p fusedProvider) Get(ctx context.Context, ref provider.Ref) (i fleet.Instance, err error) {
	err = p.ask(ctx, simulated.OpGet, func(ctx context.Context) error {
		i, err = p.Provider.Get(ctx, ref)
		return err
	})
	return i, err
}

// Console implements provider.ConsoleReader.
func (p fusedProvider) Console(ctx context.Context, ref provider.Ref, limit int) (said []byte, err error) {
	err = p.ask(ctx, simulated.OpConsole, func(ctx context.Context) error {
		said, err = p.Provider.Console(ctx, ref, limit)
		return err
	})
	return said, err
}

// Screenshot implements provider.Screenshooter.
func (p fusedProvider) Screenshot(ctx context.Context, ref provider.Ref, limit int) (shot provider.Picture, err error) {
	err = p.ask(ctx, simulated.OpScreenshot, func(ctx context.Context) error {
		shot, err = p.Provider.Screenshot(ctx, ref, limit)
		return err
	})
	return shot, err
}

// Start implements provider.Power.
func (p fusedProvider) Start(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpStart, func(ctx context.Context, p *simulated.Provider) error { return p.Start(ctx, ref) })
}

// Reboot implements provider.Power.
func (p fusedProvider) Reboot(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpReboot, func(ctx context.Context, p *simulated.Provider) error { return p.Reboot(ctx, ref) })
}

// PowerOff implements provider.Power.
func (p fusedProvider) PowerOff(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpPowerOff, func(ctx context.Context, p *simulated.Provider) error { return p.PowerOff(ctx, ref) })
}

// Resume implements provider.Resumer.
func (p fusedProvider) Resume(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpResume, func(ctx context.Context, p *simulated.Provider) error { return p.Resume(ctx, ref) })
}

// RebootSoft implements provider.SoftRebooter.
func (p fusedProvider) RebootSoft(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpSoftReboot, func(ctx context.Context, p *simulated.Provider) error { return p.RebootSoft(ctx, ref) })
}

// Evacuate implements provider.Evacuator.
func (p fusedProvider) Evacuate(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpEvacuate, func(ctx context.Context, p *simulated.Provider) error { return p.Evacuate(ctx, ref) })
}

// Migrate implements provider.Migrator.
func (p fusedProvider) Migrate(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpMigrate, func(ctx context.Context, p *simulated.Provider) error { return p.Migrate(ctx, ref) })
}

// Rebuild implements provider.Rebuilder.
func (p fusedProvider) Rebuild(ctx context.Context, o provider.Order) error {
	return p.carry(ctx, fleet.OpRebuild, func(ctx context.Context, p *simulated.Provider) error { return p.Rebuild(ctx, o) })
}

// Keep implements provider.Keeper.
func (p fusedProvider) Keep(ctx context.Context, ref provider.Ref, name string) error {
	return p.carry(ctx, fleet.OpKeep, func(ctx context.Context, p *simulated.Provider) error { return p.Keep(ctx, ref, name) })
}

// Restore implements provider.Keeper.
func (p fusedProvider) Restore(ctx context.Context, ref provider.Ref, name string) error {
	return p.carry(ctx, fleet.OpRestore, func(ctx context.Context, p *simulated.Provider) error { return p.Restore(ctx, ref, name) })
}

// NoteStart implements provider.StartNoter.
func (p fusedProvider) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return p.carry(ctx, simulated.OpNoteStart, func(ctx context.Context, p *simulated.Provider) error { return p.NoteStart(ctx, of, name) })
}

// ForgetStart implements provider.StartNoter.
func (p fusedProvider) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	return p.carry(ctx, simulated.OpForgetStart, func(ctx context.Context, p *simulated.Provider) error { return p.ForgetStart(ctx, of, name) })
}

// Rescue implements provider.Rescuer.
func (p fusedProvider) Rescue(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpRescue, func(ctx context.Context, p *simulated.Provider) error { return p.Rescue(ctx, ref) })
}

// Snapshot implements provider.Snapshotter.
func (p fusedProvider) Snapshot(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	made := make(chan fleet.Copy, 2) // one comes late, and is read by nobody
	err := p.carry(ctx, fleet.OpSnapshot, func(ctx context.Context, p *simulated.Provider) error {
		c, err := p.Snapshot(ctx, ref, name)
		if err == nil {
			made <- c
		}
		return err
	})
	if err != nil {
		return fleet.Copy{}, err
	}
	return <-made, nil
}

// DropSnapshot implements provider.Snapshotter.
func (p fusedProvider) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	return p.carry(ctx, fleet.OpDropSnapshot, func(ctx context.Context, p *simulated.Provider) error { return p.DropSnapshot(ctx, name) })
}

// Create implements provider.Builder.
func (p fusedProvider) Create(ctx context.Context, o provider.Order) error {
	return p.carry(ctx, fleet.OpCreate, func(ctx context.Context, p *simulated.Provider) error { return p.Create(ctx, o) })
}

// Delete implements provider.Builder.
func (p fusedProvider) Delete(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpDelete, func(ctx context.Context, p *simulated.Provider) error { return p.Delete(ctx, ref) })
}

// Certify implements provider.Builder.
func (p fusedProvider) Certify(ctx context.Context, ref provider.Ref) error {
	return p.carry(ctx, fleet.OpCertify, func(ctx context.Context, p *simulated.Provider) error { return p.Certify(ctx, ref) })
}

// fusedRunner executes commands behind a fuse.
type fusedRunner struct {
	program.Runner
	fuse *fuse
	late program.Runner
}

// Run implements program.Runner.
func (r fusedRunner) Run(ctx context.Context, job program.Job) (result program.Result, err error) {
	err = r.fuse.through(ctx, sortCall, string(fleet.OpRun), deed{
		now: func(ctx context.Context) error {
			result, err = r.Runner.Run(ctx, job)
			return err
		},
		late: func(ctx context.Context) { _, _ = r.late.Run(ctx, job) },
	})
	return result, err
}

// fusedFencer fences hosts behind a fuse.
type fusedFencer struct {
	engine.Fencer
	fuse *fuse
}

// Fence implements engine.Fencer.
func (f fusedFencer) Fence(ctx context.Context, host fleet.HostName, try int) (done engine.Fenced, err error) {
	err = f.fuse.through(ctx, sortCall, string(fleet.OpFence), deed{
		now: func(ctx context.Context) error {
			done, err = f.Fencer.Fence(ctx, host, try)
			return err
		},
		late: func(ctx context.Context) { _, _ = f.Fencer.Fence(ctx, host, try) },
	})
	return done, err
}

// find puts targets behind the fuse.
func (f *fuse) find(target func(fleet.TargetName) notify.Target) func(fleet.TargetName) notify.Target {
	if target == nil {
		return nil
	}
	return func(name fleet.TargetName) notify.Target {
		if t := target(name); t != nil {
			return fusedTarget{t, f}
		}
		return nil
	}
}

// fusedTarget takes messages behind a fuse.
type fusedTarget struct {
	notify.Target
	fuse *fuse
}

// Send implements notify.Target.
func (t fusedTarget) Send(ctx context.Context, m notify.Message) (a notify.Answer, err error) {
	err = t.fuse.through(ctx, sortMessage, "send", deed{
		now: func(ctx context.Context) error {
			a, err = t.Target.Send(ctx, m)
			return err
		},
		late: func(ctx context.Context) { _, _ = t.Target.Send(ctx, m) },
	})
	return a, err
}

// Whatever the simulated provider learns to change goes through the fuse, too.
func TestTheFuseKnowsEveryCall(t *testing.T) {
	t.Parallel()
	harmless := []string{"Identity", "List", "Meter", "PingGuest", "Rehearse", "Starts", "Watch"} // they change nothing and recur by themselves
	whole, part := reflect.TypeFor[*simulated.Provider](), reflect.TypeFor[fusedProvider]()
	for m := range whole.Methods() {
		if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() || slices.Contains(harmless, m.Name) {
			continue
		}
		fused, _ := part.MethodByName(m.Name)
		if file, _ := runtime.FuncForPC(fused.Func.Pointer()).FileLine(fused.Func.Pointer()); !strings.HasSuffix(file, "fused_test.go") {
			t.Errorf("%s passes by the fuse", m.Name)
		}
	}
}
