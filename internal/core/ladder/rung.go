package ladder

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// rung is when a step of the ladder fits. What its operation does lies in the file of that name in package repair; what
// it may take away is its row in fleet (fleet.StepKind).
type rung interface {
	// op is the operation that the step needs the provider to have; empty: none.
	op(step policy.Step) fleet.Op
	// applies says why the step does not apply to the machine as it stands; empty when it applies.
	applies(m *belief.Machine, spec *policy.Spec, step policy.Step) fleet.Reason
	// leaves says why the step is not for the machine, as its host stands; empty when it is.
	leaves(disabled, dead bool) fleet.Reason
}

// rungs has the steps.
var rungs = map[fleet.StepKind]rung{
	fleet.StepStart:      start{},
	fleet.StepResume:     resume{},
	fleet.StepReboot:     reboot{},
	fleet.StepRun:        run{},
	fleet.StepRebuild:    rebuild{},
	fleet.StepRevert:     revert{},
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

// IsToPerson reports whether the step only calls a person.
func IsToPerson(k fleet.StepKind) bool { return rungOf(k) == toPerson{} }

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
