package vsphere_test

import (
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

func copyOf(o provider.Blueprint) fleet.SnapshotName {
	return fleet.SnapshotName{Installation: o.Mark.Installation, Machine: o.Mark.Machine, Host: o.Host, ID: "r1"}
}

// Whichever order of a copy takes effect without an answer, the same order again ends with one copy, which is whole,
// and its removal with none.
func TestAnAnswerLostAtAnyStepOfACopyLeavesOne(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"CloneVM_Task", "Rename_Task"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b, p, o := built(t)
			name := copyOf(o)
			b.SilenceAfter(step)
			_, err := p.Snapshot(soon(t), o.Ref, name)
			refused(t, "a copy", err, fault.UnknownOutcome)
			b.VCenter.Thaw()
			made, err := p.Snapshot(t.Context(), o.Ref, name)
			must(t, err)
			if n := b.Copies(t, name); n != 1 {
				t.Errorf("%d copies", n)
			}
			if n := b.CopiedBoots(t, name, made); n != 1 {
				t.Errorf("the copy was booted from %d times", n)
			}
			b.SilenceAfter("Destroy_Task")
			refused(t, "its removal", p.DropSnapshot(soon(t), name), fault.UnknownOutcome)
			b.VCenter.Thaw()
			must(t, p.DropSnapshot(t.Context(), name))
			if n := b.Copies(t, name); n != 0 {
				t.Errorf("%d copies are left", n)
			}
		})
	}
}

// A copy is no instance: List leaves it out, it has no mark, and the machine's kept disk is not in it.
func TestACopyIsNoInstance(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	made, err := p.Snapshot(t.Context(), o.Ref, copyOf(o))
	must(t, err)
	l, err := p.List(t.Context())
	must(t, err)
	if len(l.Instances) != 1 || l.Instances[0].ID != o.ID {
		t.Errorf("listed are %+v", l.Instances)
	}
	copied := b.IDOf(t, made.Where)
	_, err = p.Get(t.Context(), provider.Ref{ID: fleet.InstanceID(copied), Host: o.Host})
	refused(t, "get of the copy", err, fault.NotFound)
	if mark := b.Extra(t, copied, "hale.mark"); mark != "" {
		t.Errorf("it bears the mark %s", mark)
	}
	if disks := b.Disks(t, copied); len(disks) != 1 {
		t.Errorf("it has %v", disks)
	}
	if disks := b.Disks(t, string(o.ID)); len(disks) != 2 {
		t.Errorf("the instance has %v", disks)
	}
}

// A foreign machine with a copy's name is left alone, and the order fails.
func TestWhatIsCalledLikeACopyIsLeftAlone(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	name := copyOf(o)
	made, err := p.Snapshot(t.Context(), o.Ref, name)
	must(t, err)
	must(t, p.DropSnapshot(t.Context(), name))
	b.Clone(t, o.Name, made.Where, string(o.Host))
	_, err = p.Snapshot(t.Context(), o.Ref, name)
	refused(t, "a copy", err, fault.Conflict)
	refused(t, "its removal", p.DropSnapshot(t.Context(), name), fault.Conflict)
	if b.Machines()[made.Where] != 1 {
		t.Error("the foreign machine is gone")
	}
	other := name
	other.Installation = "i2"
	must(t, p.DropSnapshot(t.Context(), other)) // another one's name is another
}
