package guard_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
)

// Under a parent incident nothing is begun but what cannot harm: to start what is off, and to build what is gone; or,
// when the policy says so and its time has come, to build elsewhere.
func TestWhatAParentHolds(t *testing.T) {
	t.Parallel()
	rack := fleet.Domain{Kind: fleet.DomainRack, Name: "r1"}
	for name, c := range map[string]struct {
		spoil  func(*belief.Machine, *guard.Situation)
		step   fleet.StepKind
		reason fleet.Reason
	}{
		"silent machines are not rebooted": {step: fleet.StepReboot, reason: fleet.ReasonSharedFate},
		"nor recreated":                    {step: fleet.StepRecreate, reason: fleet.ReasonSharedFate},
		"nor anything else":                {step: "", reason: fleet.ReasonSharedFate},
		"another parent's machine": {step: fleet.StepReboot, reason: "",
			spoil: func(m *belief.Machine, _ *guard.Situation) {
				m.Incident.Parent = "web/p7"
			}},
		"an incident of its own": {step: fleet.StepReboot, reason: "", spoil: func(m *belief.Machine,
			_ *guard.Situation) {
			m.Incident.Parent = ""
		}},
		"what is off is started": {step: fleet.StepStart, reason: "", spoil: func(m *belief.Machine,
			_ *guard.Situation) {
			m.Health.Cause = belief.CauseOff
		}},
		"what is off is not destroyed": {step: fleet.StepRecreate, reason: fleet.ReasonSharedFate,
			spoil: func(m *belief.Machine, _ *guard.Situation) {
				m.Health.Cause = belief.CauseOff
			}},
		"what panicked is reset": {step: fleet.StepReboot, reason: "", spoil: func(m *belief.Machine,
			_ *guard.Situation) {
			m.Health.Cause = belief.CausePanic
		}},
		"what is gone is built": {step: fleet.StepRecreate, reason: "", spoil: func(m *belief.Machine,
			_ *guard.Situation) {
			m.Health.Cause = belief.CauseGone
		}},
		"no evacuation a moment too early": {step: fleet.StepRecreate, reason: fleet.ReasonSharedFate,
			spoil: func(_ *belief.Machine, s *guard.Situation) {
				s.Spec.SharedFate.Then = policy.FateEvacuate
				s.Now.Mono--
			}},
		"an evacuation when it is due": {step: fleet.StepRecreate, reason: "",
			spoil: func(_ *belief.Machine, s *guard.Situation) {
				s.Spec.SharedFate.Then = policy.FateEvacuate
			}},
		"an evacuation reboots nothing": {step: fleet.StepReboot, reason: fleet.ReasonSharedFate,
			spoil: func(_ *belief.Machine, s *guard.Situation) {
				s.Spec.SharedFate.Then = policy.FateEvacuate
			}},
		"an evacuation with nowhere to go": {step: fleet.StepRecreate, reason: fleet.ReasonSharedFate,
			spoil: func(_ *belief.Machine, s *guard.Situation) {
				s.Spec.SharedFate.Then = policy.FateEvacuate
				s.Hosts[1].Up = false
			}},
		"an evacuation from the network that all share": {step: fleet.StepRecreate, reason: fleet.ReasonSharedFate,
			spoil: func(_ *belief.Machine, s *guard.Situation) {
				s.Spec.SharedFate.Then = policy.FateEvacuate
				s.Whole.Parents[0].Domain = fleet.Domain{Kind: fleet.DomainNetwork, Name: "default"}
			}},
		"an evacuation from a storage that another host may share": {step: fleet.StepRecreate,
			reason: fleet.ReasonSharedFate, spoil: func(_ *belief.Machine, s *guard.Situation) {
				s.Spec.SharedFate.Then = policy.FateEvacuate
				s.Whole.Parents[0].Domain = fleet.Domain{Kind: fleet.DomainStorage, Name: "nas1"}
			}},
		"an evacuation to a host with another storage": {step: fleet.StepRecreate, reason: "",
			spoil: func(_ *belief.Machine, s *guard.Situation) {
				s.Spec.SharedFate.Then = policy.FateEvacuate
				s.Whole.Parents[0].Domain = fleet.Domain{Kind: fleet.DomainStorage, Name: "nas1"}
				s.Hosts[1].Place.Storage = "nas2"
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := sick(), quiet()
			s.Spec.SharedFate = policy.SharedFate{Then: policy.FatePage, AtLeast: 3, Wait: 10 * time.Minute}
			s.Hosts[0].Place.Rack = "r1"
			s.Whole.Parents = []belief.Parent{{ID: "web/p1", Domain: rack, Since: s.Now.Mono.Add(-10 * time.Minute)}}
			m.Incident.Parent = "web/p1"
			if c.spoil != nil {
				c.spoil(&m, &s)
			}
			if got := guard.SharedFate(&m, &s, c.step); got != c.reason {
				t.Errorf("held for %q, want %q", got, c.reason)
			}
		})
	}
}
