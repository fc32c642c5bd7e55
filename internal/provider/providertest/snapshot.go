package providertest

import (
	"context"
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// CopyTeller is a harness with a provider.Snapshotter, and guests with disks that count their boots.
type CopyTeller interface {
	DiskTeller
	// CopiedBoots returns the count in the copy, which it reads without the provider.
	CopiedBoots(t T, name fleet.SnapshotName, c fleet.Copy) int
	// Copies returns how much there is at the host of copies of the name, whole or not: files, or whatever they consist
	// of.
	Copies(t T, name fleet.SnapshotName) int
}

func copyNamed(o provider.Blueprint, id fleet.SnapshotID) fleet.SnapshotName {
	return fleet.SnapshotName{Installation: o.Mark.Installation, Machine: o.Mark.Machine, Host: o.Host, ID: id}
}

// copyName names a copy of the order's instance, which is removed at the end.
func (e *exam) copyName(o provider.Blueprint, id fleet.SnapshotID) fleet.SnapshotName {
	name := copyNamed(o, id)
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), e.h.Patience())
		defer cancel()
		e.await("the removal of the copy "+string(id), func() (string, bool) {
			err := has[provider.Snapshotter](e).DropSnapshot(ctx, name)
			return fmt.Sprint(err), err == nil
		})
	})
	return name
}

func disksAreCopied(t T, h Harness) {
	e := begin(t, h)
	order, able, disk := e.built(1), has[provider.Snapshotter](e), ability[CopyTeller](t, h)
	disk.DiskBoots(t, order.Ref)
	running, off, never := e.copyName(order, "r1"), e.copyName(order, "r2"), e.copyName(order, "r3")
	wrong := order.Ref
	wrong.Mark.Generation++
	_, err := able.Snapshot(e.ctx(), wrong, running)
	e.refused("a copy with a wrong mark", err, fault.Conflict)
	_, err = able.Snapshot(e.ctx(), e.order(2).Ref, running)
	e.refused("a copy of an absent instance", err, fault.NotFound)
	if n := disk.Copies(t, running); n != 0 {
		t.Errorf("what was refused left %d", n)
	}

	first, err := able.Snapshot(e.ctx(), order.Ref, running)
	e.do("a copy of a running instance", err)
	e.untouched(order)
	if first.Where == "" || first.Bytes == 0 {
		t.Errorf("the copy is %+v", first)
	}
	made := disk.Copies(t, running)
	again, err := able.Snapshot(e.ctx(), order.Ref, running)
	e.do("the same copy again", err)
	e.same("the copy", first, again)
	e.same("what there is of it", made, disk.Copies(t, running))

	e.do("reboot", e.p.Reboot(e.ctx(), order.Ref))
	e.await("the second boot from the disk", func() (string, bool) {
		n := disk.DiskBoots(t, order.Ref)
		return fmt.Sprint(n), n == 2
	})
	e.off(order.Ref)
	second, err := able.Snapshot(e.ctx(), order.Ref, off)
	e.do("a copy of an instance that is off", err)
	e.same("power", fleet.PowerOff, e.get(order.Ref).Power)
	e.do("start after the copies", e.p.Start(e.ctx(), order.Ref))
	e.awaitPower(order.Ref, fleet.PowerRunning)
	e.off(order.Ref)
	e.do("delete", e.p.Delete(e.ctx(), order.Ref))
	e.same("boots in the first copy", 1, disk.CopiedBoots(t, running, first))
	e.same("boots in the second copy", 2, disk.CopiedBoots(t, off, second))

	e.do("removal of the first copy", able.DropSnapshot(e.ctx(), running))
	e.do("removal of what is gone", able.DropSnapshot(e.ctx(), running))
	e.do("removal of what never was", able.DropSnapshot(e.ctx(), never))
	e.same("what is left of it", 0, disk.Copies(t, running))
	e.same("boots in the other copy", 2, disk.CopiedBoots(t, off, second))
}

// copyIsPutBack: an instance that is off gets the disks of a copy, as often as is asked, and is the same otherwise.
func copyIsPutBack(t T, h Harness) {
	e := begin(t, h)
	if e.lacks(fleet.OpRevert) {
		return
	}
	order, able, back := e.built(1), has[provider.Snapshotter](e), has[provider.Reverter](e)
	disk := ability[CopyTeller](t, h)
	disk.DiskBoots(t, order.Ref)
	name, never := e.copyName(order, "r1"), e.copyName(order, "r2")
	before := e.awaitInstance("an address", order.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })
	first, err := able.Snapshot(e.ctx(), order.Ref, name)
	e.do("a copy", err)
	made := disk.Copies(t, name)
	for range 2 {
		e.do("reboot", e.p.Reboot(e.ctx(), order.Ref))
	}
	e.refused("revert of what runs", back.Revert(e.ctx(), order.Ref, name), fault.Conflict)
	e.off(order.Ref)
	wrong := order.Ref
	wrong.Mark.Generation++
	e.refused("revert with a wrong mark", back.Revert(e.ctx(), wrong, name), fault.Conflict)
	e.refused("revert to what never was", back.Revert(e.ctx(), order.Ref, never), fault.Invalid)
	e.refused("revert of an absent instance", back.Revert(e.ctx(), e.order(2).Ref, name), fault.NotFound)
	e.same("power", fleet.PowerOff, e.get(order.Ref).Power)
	for _, call := range []string{"revert", "revert again"} {
		e.do(call, back.Revert(e.ctx(), order.Ref, name))
		seen := e.awaitInstance("it to run with an address", order.Ref, func(i fleet.Instance) bool {
			return i.Power == fleet.PowerRunning && i.Address.IsValid()
		})
		e.same("its address", before.Address, seen.Address)
		e.untouched(order)
		e.alone(order)
		if n := disk.DiskBoots(t, order.Ref); n != 2 {
			t.Errorf("%s: its disk was booted from %d times, and the one of the copy once before", call, n)
		}
		e.same("boots in the copy", 1, disk.CopiedBoots(t, name, first))
		e.same("what there is of the copy", made, disk.Copies(t, name))
		e.off(order.Ref)
	}
}

// frozenCopy: the answer is lost, and the copy is made all the same, or not. The same order again leads to one that is
// whole.
func frozenCopy(t T, h Harness) {
	e := begin(t, h)
	order, able, disk := e.built(1), has[provider.Snapshotter](e), ability[CopyTeller](t, h)
	disk.DiskBoots(t, order.Ref)
	name := e.copyName(order, "r1")
	var err error
	e.frozen(func(ctx context.Context) { _, err = able.Snapshot(ctx, order.Ref, name) })
	e.refused("a copy", err, fault.UnknownOutcome, fault.Transient)
	var c fleet.Copy
	e.await("the copy after the thaw", func() (string, bool) {
		c, err = able.Snapshot(e.ctx(), order.Ref, name)
		return fmt.Sprint(err), err == nil
	})
	e.same("boots in the copy", 1, disk.CopiedBoots(t, name, c))
	e.untouched(order)
	made := disk.Copies(t, name)
	_, err = able.Snapshot(e.ctx(), order.Ref, name)
	e.do("the same copy again", err)
	e.same("what there is of it", made, disk.Copies(t, name))
	e.frozen(func(ctx context.Context) { err = able.DropSnapshot(ctx, name) })
	e.refused("its removal", err, fault.UnknownOutcome, fault.Transient)
	e.await("its removal after the thaw", func() (string, bool) {
		err := able.DropSnapshot(e.ctx(), name)
		return fmt.Sprint(err), err == nil
	})
	e.same("what is left of it", 0, disk.Copies(t, name))
}
