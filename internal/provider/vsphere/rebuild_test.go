package vsphere_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/testbed/vcsim"
)

// roots are the files of root disks, wherever they lie.
func (b bench) roots(t *testing.T) int {
	t.Helper()
	return len(b.Files(t, "")) - len(b.Files(t, "hale-disks")) - len(b.Disks(t, b.IDOf(t, vcsim.Template)))
}

// Whichever order of a rebuild takes effect without an answer, the next rebuild ends it: one instance, one root disk,
// which is new, and the machine's kept disk as it was. Nothing is left over when the instance goes.
func TestAnAnswerLostAtAnyStepOfARebuildLeavesOneDisk(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		"ReconfigVM_Task", "DeleteVirtualDisk_Task", "CopyVirtualDisk_Task", "PowerOnVM_Task",
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b, p, o := built(t)
			must(t, p.Reboot(t.Context(), o.Ref))
			off(t, p, o.Ref)
			b.SilenceAfter(step)
			refused(t, "rebuild", p.Rebuild(soon(t), o), fault.UnknownOutcome)
			b.VCenter.Thaw()
			for err := p.Rebuild(t.Context(), o); !fault.Is(err, fault.Conflict); err = p.Rebuild(t.Context(), o) {
				if err != nil && !fault.Is(err, fault.Transient) {
					t.Fatal(err)
				}
			}
			seen, err := p.Get(t.Context(), o.Ref)
			must(t, err)
			if seen.Power != fleet.PowerRunning || seen.Mark != o.Mark || b.VCenter.DiskBoots(t, string(o.ID)) != 1 {
				t.Errorf("it is %+v, and its disk was booted from %d times", seen, b.VCenter.DiskBoots(t, string(o.ID)))
			}
			if n := b.roots(t); n != 1 {
				t.Errorf("%d root disks: %v", n, b.Files(t, ""))
			}
			if diff := cmp.Diff([]string{"web-1.data.vmdk"}, b.Files(t, "hale-disks")); diff != "" {
				t.Errorf("kept disks: %s", diff)
			}
			off(t, p, o.Ref)
			must(t, p.Delete(t.Context(), o.Ref))
			if n := b.roots(t); n != 0 {
				t.Errorf("left are %v", b.Files(t, ""))
			}
		})
	}
}

// What an unfinished rebuild copied goes with the instance, which has another disk.
func TestWhatARebuildCopiedInVainGoesWithTheInstance(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	off(t, p, o.Ref)
	b.SilenceAfter("CopyVirtualDisk_Task")
	refused(t, "rebuild", p.Rebuild(soon(t), o), fault.UnknownOutcome)
	b.VCenter.Thaw()
	if n := b.roots(t); n != 2 {
		t.Fatalf("%d root disks: %v", n, b.Files(t, ""))
	}
	// when vCenter is told to destroy the machine: a real one leaves in its folder what it does not have
	before := make(chan []string, 1)
	b.Before("Destroy_Task", func() { before <- b.Files(t, string(o.Mark.Machine)) })
	must(t, p.Delete(t.Context(), o.Ref))
	if left := <-before; len(left) != 1 || b.roots(t) != 0 {
		t.Errorf("left are %v, and in the end %v", left, b.Files(t, ""))
	}
}

// A rebuild on an old look is refused: another client's change to the machine stays, and so does its disk.
func TestARebuildDoesNotRestOnAnOldLook(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	off(t, p, o.Ref)
	before := b.Disks(t, string(o.ID))
	b.Before("CopyVirtualDisk_Task", func() {
		b.Do(t, string(o.ID), func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) {
			return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: "a note"})
		})
	})
	refused(t, "rebuild", p.Rebuild(t.Context(), o), fault.Transient)
	if diff := cmp.Diff(before, b.Disks(t, string(o.ID))); diff != "" {
		t.Errorf("its disks: %s", diff)
	}
	must(t, p.Rebuild(t.Context(), o))
}

// A copy that took longer than the call waited is taken up by the next one, and not begun anew; one of another template
// is not.
func TestACopyThatTookLongerIsTakenUp(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	off(t, p, o.Ref)
	must(t, p.Rebuild(t.Context(), o)) // so that there is something to be written over
	off(t, p, o.Ref)
	for name, changed := range map[string]bool{"the same template": false, "a template that was changed": true} {
		before := b.Calls("CopyVirtualDisk_Task")
		swaps := 0
		b.Each("ReconfigVM_Task", func() types.BaseMethodFault {
			if swaps++; swaps == 2 { // the first one writes down which task it is
				return &types.TaskInProgress{}
			}
			return nil
		})
		refused(t, "rebuild", p.Rebuild(t.Context(), o), fault.Transient)
		b.Each("", nil)
		if changed {
			b.Set(t, b.IDOf(t, vcsim.Template), "config.changeVersion", "another")
		}
		must(t, p.Rebuild(t.Context(), o))
		if n := b.Calls("CopyVirtualDisk_Task") - before; n != map[bool]int{false: 1, true: 2}[changed] {
			t.Errorf("%s: copied %d times", name, n)
		}
		off(t, p, o.Ref)
	}
	if n := b.roots(t); n != 1 {
		t.Errorf("%d root disks: %v", n, b.Files(t, ""))
	}
}
