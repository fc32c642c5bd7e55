package ladder

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// start is the step that powers on what is off.
type start struct{ staying }

func (start) op(policy.Step) fleet.Op { return fleet.OpStart }

func (start) applies(m *belief.Machine, _ *policy.Spec, _ policy.Step) fleet.Reason {
	switch {
	case missing(m):
		return fleet.ReasonNoInstance
	case m.Health.Cause.Off():
		return ""
	}
	return fleet.ReasonNotOff
}

// resume is the step that lets go on what stands still with its memory.
type resume struct{ staying }

func (resume) op(policy.Step) fleet.Op { return fleet.OpResume }

func (resume) applies(m *belief.Machine, _ *policy.Spec, _ policy.Step) fleet.Reason {
	cause := m.Health.Cause
	switch {
	case missing(m):
		return fleet.ReasonNoInstance
	case cause == belief.CauseIOError:
		return fleet.ReasonIOError
	case cause == belief.CauseRescued:
		return fleet.ReasonRescued
	case cause.Halted():
		return ""
	}
	return fleet.ReasonNotPaused
}

// reboot is the step that resets what runs, by the provider or by the guest itself.
type reboot struct{ staying }

func (reboot) op(step policy.Step) fleet.Op {
	if step.Mode == policy.RebootSoft {
		return fleet.OpSoftReboot
	}
	return fleet.OpReboot
}

func (reboot) applies(m *belief.Machine, _ *policy.Spec, _ policy.Step) fleet.Reason { return idle(m) }

// run is the step that runs a command on hale's side.
type run struct{ staying }

func (run) op(policy.Step) fleet.Op { return fleet.OpRun }

func (run) applies(m *belief.Machine, _ *policy.Spec, step policy.Step) fleet.Reason {
	if r := idle(m); r != "" {
		return r
	}
	if !m.Address.IsValid() && step.Run.Asks("{ip}") {
		return fleet.ReasonNoAddress
	}
	return ""
}

// rebuild is the step that gives the same instance a new disk.
type rebuild struct{ staying }

func (rebuild) op(policy.Step) fleet.Op { return fleet.OpRebuild }

func (rebuild) applies(m *belief.Machine, spec *policy.Spec, step policy.Step) fleet.Reason {
	if missing(m) {
		return fleet.ReasonNoInstance
	}
	return replaceable(m, spec, step)
}

// revert is the step that gives the same instance the disks of a copy. A person orders it.
type revert struct{ staying }

func (revert) op(policy.Step) fleet.Op { return fleet.OpRevert }

func (revert) applies(m *belief.Machine, spec *policy.Spec, step policy.Step) fleet.Reason {
	why := rescue{}.applies(m, spec, step)
	if why == "" && m.Current.Irreplaceable {
		return fleet.ReasonIrreplaceable
	}
	return why
}

// recreate is the step that builds a new instance in the place of the old one.
type recreate struct{ anywhere }

func (recreate) op(policy.Step) fleet.Op { return fleet.OpCreate }

func (recreate) applies(m *belief.Machine, spec *policy.Spec, step policy.Step) fleet.Reason {
	return replaceable(m, spec, step)
}

// evacuate is the step away from a host that does not answer.
type evacuate struct{}

func (evacuate) op(policy.Step) fleet.Op { return fleet.OpEvacuate }

func (evacuate) applies(m *belief.Machine, spec *policy.Spec, step policy.Step) fleet.Reason {
	return rebuild{}.applies(m, spec, step)
}

func (evacuate) leaves(_, dead bool) fleet.Reason {
	if !dead {
		return fleet.ReasonHostUp
	}
	return ""
}

// migrate is the step away from a host that is disabled.
type migrate struct{}

func (migrate) op(policy.Step) fleet.Op { return fleet.OpMigrate }

func (migrate) applies(m *belief.Machine, _ *policy.Spec, _ policy.Step) fleet.Reason { return idle(m) }

func (migrate) leaves(disabled, _ bool) fleet.Reason {
	if !disabled {
		return fleet.ReasonHostEnabled
	}
	return ""
}

// rescue is the step that lets a person repair the instance.
type rescue struct{ staying }

func (rescue) op(policy.Step) fleet.Op { return fleet.OpRescue }

func (rescue) applies(m *belief.Machine, _ *policy.Spec, _ policy.Step) fleet.Reason {
	switch {
	case missing(m):
		return fleet.ReasonNoInstance
	case m.Health.Cause.Halted():
		return fleet.ReasonHalted
	}
	return ""
}

// snapshot is the step that copies the disks.
type snapshot struct{ anywhere }

func (snapshot) op(policy.Step) fleet.Op { return fleet.OpSnapshot }

// applies says why there is nothing to copy, or why it must not be.
func (snapshot) applies(m *belief.Machine, _ *policy.Spec, _ policy.Step) fleet.Reason {
	switch {
	case missing(m):
		return fleet.ReasonNoInstance
	case m.Health.Cause == belief.CauseIOError: // its storage is full, or broken
		return fleet.ReasonIOError
	case m.Copied():
		return fleet.ReasonSnapshotThere
	}
	return ""
}
