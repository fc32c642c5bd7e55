package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// rung is what a step of the ladder does. Each has a file of its own, with its operation; what it may take away is its
// row in fleet (fleet.StepKind).
type rung interface {
	// op is the operation that the step needs the provider to have; empty: none.
	op(step policy.Step) fleet.Op
	// applies says why the step does not apply to the machine as it stands; empty when it applies.
	applies(m *belief.Machine, spec *policy.Spec, step policy.Step) fleet.Reason
	// leaves says why the step is not for the machine, as its host stands; empty when it is.
	leaves(disabled, dead bool) fleet.Reason
}

// rungs has the steps. Each lies in a file of its own.
var rungs = map[fleet.StepKind]rung{
	fleet.StepStart:      start{},
	fleet.StepResume:     resume{},
	fleet.StepReboot:     reboot{},
	fleet.StepRun:        run{},
	fleet.StepRebuild:    rebuild{},
	fleet.StepRecreate:   recreate{},
	fleet.StepEvacuate:   evacuate{},
	fleet.StepMigrate:    migrate{},
	fleet.StepRescue:     rescue{},
	fleet.StepSnapshot:   snapshot{},
	fleet.StepPage:       toPerson{},
	fleet.StepQuarantine: toPerson{},
}

func rungOf(k fleet.StepKind) rung {
	if r, known := rungs[k]; known {
		return r
	}
	return toPerson{}
}

// operations has what the ends of each call mean. Each lies in the file of its step.
var operations = map[fleet.Op]operation{
	fleet.OpStart:        starting{},
	fleet.OpResume:       starting{},
	fleet.OpReboot:       rebooting{},
	fleet.OpSoftReboot:   rebooting{},
	fleet.OpRun:          running{},
	fleet.OpRebuild:      rebuilding{},
	fleet.OpEvacuate:     moving{},
	fleet.OpMigrate:      moving{},
	fleet.OpRescue:       rescuing{},
	fleet.OpCreate:       creating{},
	fleet.OpPowerOff:     poweringOff{},
	fleet.OpDelete:       deleting{},
	fleet.OpCertify:      certifying{},
	fleet.OpKeep:         keeping{},
	fleet.OpRestore:      restoring{},
	fleet.OpSnapshot:     copying{},
	fleet.OpDropSnapshot: dropping{},
	fleet.OpFence:        fencing{},
}

func operationOf(op fleet.Op) operation {
	if o, known := operations[op]; known {
		return o
	}
	return nothing{}
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

func (toPerson) op(policy.Step) fleet.Op { return "" }

func (toPerson) applies(*belief.Machine, *policy.Spec, policy.Step) fleet.Reason { return "" }
