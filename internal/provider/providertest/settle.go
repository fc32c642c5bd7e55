package providertest

import (
	"fmt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// running brings the instance to run, from whatever state.
func running(e *exam, o provider.Blueprint, _ int) {
	e.Helper()
	e.await("it to run", func() (string, bool) {
		seen := e.get(o.Ref)
		if seen.Power == fleet.PowerOff {
			return fmt.Sprint("start: ", e.p.Start(e.ctx(), o.Ref)), false
		}
		return string(seen.Power), seen.Power == fleet.PowerRunning
	})
}

// stopped brings it to be off.
func stopped(e *exam, o provider.Blueprint, round int) {
	e.Helper()
	running(e, o, round)
	e.off(o.Ref)
}

func paused(e *exam, o provider.Blueprint, round int) {
	running(e, o, round)
	ability[Pauser](e.T, e.h).Pause(e.T, o.ID)
	e.awaitPower(o.Ref, fleet.PowerPaused)
}

func keptAside(e *exam, o provider.Blueprint, round int) {
	stopped(e, o, round)
	e.do("keep", has[provider.Keeper](e).Keep(e.ctx(), o.Ref, o.Name))
}

// again makes the call until it succeeds.
func (e *exam) again(what string, call func() error) {
	e.Helper()
	e.await(what+" again", func() (string, bool) {
		err := call()
		return fmt.Sprint(err), err == nil
	})
}

func settledCertify(e *exam, o provider.Blueprint, _ int) {
	e.again("certify", func() error { return e.p.Certify(e.ctx(), o.Ref) })
	o.Mark.Certified = true
	e.same("mark", o.Mark, e.get(o.Ref).Mark)
}

// settledReboot: a reboot may be cut off between off and on, where the same reboot again finds it.
func settledReboot(e *exam, o provider.Blueprint, _ int) {
	e.await("the end of a reboot", func() (string, bool) {
		seen := e.get(o.Ref)
		if seen.Power == fleet.PowerOff {
			return fmt.Sprint("reboot: ", e.p.Reboot(e.ctx(), o.Ref)), false
		}
		return string(seen.Power), seen.Power == fleet.PowerRunning
	})
}

func settledPowerOff(e *exam, o provider.Blueprint, _ int) {
	e.again("power off", func() error { return e.p.PowerOff(e.ctx(), o.Ref) })
	e.awaitPower(o.Ref, fleet.PowerOff)
}

func settledStart(e *exam, o provider.Blueprint, _ int) {
	e.again("start", func() error { return e.p.Start(e.ctx(), o.Ref) })
	e.awaitPower(o.Ref, fleet.PowerRunning)
}

func settledResume(e *exam, o provider.Blueprint, _ int) {
	e.again("resume", func() error { return has[provider.Resumer](e).Resume(e.ctx(), o.Ref) })
	e.awaitPower(o.Ref, fleet.PowerRunning)
}

// settledSoftReboot: the guest was asked, and it is not asked again.
func settledSoftReboot(e *exam, o provider.Blueprint, _ int) {
	e.awaitPower(o.Ref, fleet.PowerRunning)
}

// settledRebuild: it runs by now, and then another rebuild is a conflict; or it is off, and another rebuild is due.
func settledRebuild(e *exam, o provider.Blueprint, _ int) {
	able := has[provider.Rebuilder](e)
	e.await("the end of a rebuild", func() (string, bool) {
		err := able.Rebuild(e.ctx(), o)
		return fmt.Sprint(err), fault.Is(err, fault.Conflict) && e.get(o.Ref).Power == fleet.PowerRunning
	})
}

func settledKeep(e *exam, o provider.Blueprint, _ int) {
	able := has[provider.Keeper](e)
	e.again("keep", func() error { return able.Keep(e.ctx(), o.Ref, o.Name) })
	if seen := e.get(o.Ref); seen.Name == o.Name || !seen.Mark.Kept || seen.Power != fleet.PowerOff {
		e.Errorf("put aside it is %+v", seen)
	}
	e.again("restore", func() error { return able.Restore(e.ctx(), o.Ref, o.Name) })
}

func settledRestore(e *exam, o provider.Blueprint, _ int) {
	e.again("restore", func() error { return has[provider.Keeper](e).Restore(e.ctx(), o.Ref, o.Name) })
	if seen := e.get(o.Ref); seen.Name != o.Name || seen.Mark.Kept || seen.Power != fleet.PowerOff {
		e.Errorf("brought back it is %+v", seen)
	}
}

// roundID names the copy of a round.
func roundID(op fleet.Op, round int) fleet.SnapshotID {
	return fleet.SnapshotID(fmt.Sprintf("%c%d", op[0], round))
}

// toBeCopied is an instance that runs, with a copy that is removed in the end, if it is made.
func toBeCopied(e *exam, o provider.Blueprint, round int) {
	running(e, o, round)
	e.copyName(o, roundID(fleet.OpSnapshot, round))
}

func settledSnapshot(e *exam, o provider.Blueprint, round int) {
	able, name := has[provider.Snapshotter](e), copyNamed(o, roundID(fleet.OpSnapshot, round))
	e.again("snapshot", func() error { _, err := able.Snapshot(e.ctx(), o.Ref, name); return err })
	if disk, ok := e.h.(CopyTeller); ok {
		made := disk.Copies(e.T, name)
		e.again("snapshot, once more", func() error { _, err := able.Snapshot(e.ctx(), o.Ref, name); return err })
		e.same("what there is of the copy", made, disk.Copies(e.T, name))
	}
	e.again("removal", func() error { return able.DropSnapshot(e.ctx(), name) })
	e.noCopy(name)
}

// toBePutBack is an instance that is off, with a copy that the round puts back.
func toBePutBack(e *exam, o provider.Blueprint, round int) {
	running(e, o, round)
	_, err := has[provider.Snapshotter](e).Snapshot(e.ctx(), o.Ref, e.copyName(o, roundID(fleet.OpRevert, round)))
	e.do("snapshot", err)
	e.off(o.Ref)
}

// settledRevert: it runs by now, and then the same again is a conflict; or it is off, and the same again is due.
func settledRevert(e *exam, o provider.Blueprint, round int) {
	able, name := has[provider.Reverter](e), copyNamed(o, roundID(fleet.OpRevert, round))
	e.await("the end of a revert", func() (string, bool) {
		err := able.Revert(e.ctx(), o.Ref, name)
		return fmt.Sprint(err), fault.Is(err, fault.Conflict) && e.get(o.Ref).Power == fleet.PowerRunning
	})
	e.do("removal of the copy", has[provider.Snapshotter](e).DropSnapshot(e.ctx(), name))
}

// copied makes the copy that the round removes.
func copied(e *exam, o provider.Blueprint, round int) {
	running(e, o, round)
	_, err := has[provider.Snapshotter](e).Snapshot(e.ctx(), o.Ref, e.copyName(o, roundID(fleet.OpDropSnapshot, round)))
	e.do("snapshot", err)
}

func settledDropSnapshot(e *exam, o provider.Blueprint, round int) {
	name := copyNamed(o, roundID(fleet.OpDropSnapshot, round))
	e.again("removal", func() error { return has[provider.Snapshotter](e).DropSnapshot(e.ctx(), name) })
	e.noCopy(name)
}

func (e *exam) noCopy(name fleet.SnapshotName) {
	e.Helper()
	if disk, ok := e.h.(CopyTeller); ok {
		e.same("what is left of the copy", 0, disk.Copies(e.T, name))
	}
}
