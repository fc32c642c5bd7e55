package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// starting is the operation of the steps start and resume.
type starting struct{ onTheSpot }

func (starting) took(i fleet.Instance) bool { return i.Power == fleet.PowerRunning }

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
