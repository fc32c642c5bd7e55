package repair

import "hale/internal/fleet"

// rung is what a step of the ladder does. Each has a file of its own, with its operation; what it may take away is its
// row in fleet (fleet.StepKind).
type rung interface {
	// op is the operation that the step needs the provider to have; empty: none.
	op(step fleet.Step) fleet.Op
	// applies says why the step does not apply to the machine as it stands; empty when it applies.
	applies(m *fleet.Machine, spec *fleet.Spec, step fleet.Step) fleet.Reason
	// leaves says why the step is not for the machine, as its host stands; empty when it is.
	leaves(disabled, dead bool) fleet.Reason
}

func rungOf(k fleet.StepKind) rung {
	switch k {
	case fleet.StepStart:
		return start{}
	case fleet.StepResume:
		return resume{}
	case fleet.StepReboot:
		return reboot{}
	case fleet.StepRun:
		return run{}
	case fleet.StepRebuild:
		return rebuild{}
	case fleet.StepRecreate:
		return recreate{}
	case fleet.StepEvacuate:
		return evacuate{}
	case fleet.StepMigrate:
		return migrate{}
	case fleet.StepRescue:
		return rescue{}
	case fleet.StepSnapshot:
		return snapshot{}
	case fleet.StepPage, fleet.StepQuarantine:
	}
	return toPerson{}
}

// staying is a step after which the machine is where it was: of no use on a host that is to be left.
type staying struct{}

func (staying) leaves(disabled, _ bool) fleet.Reason {
	if disabled {
		return fleet.ReasonHostDisabled
	}
	return ""
}

// anywhere is a step that fits wherever the machine is.
type anywhere struct{}

func (anywhere) leaves(_, _ bool) fleet.Reason { return "" }

// toPerson are the steps page and quarantine: whatever there is.
type toPerson struct{ anywhere }

func (toPerson) op(fleet.Step) fleet.Op { return "" }

func (toPerson) applies(*fleet.Machine, *fleet.Spec, fleet.Step) fleet.Reason { return "" }
