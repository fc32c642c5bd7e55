package repair_test

import (
	"slices"
	"strings"
	"testing"

	"hale/internal/core/fleet"
	"hale/internal/core/repair"
)

// L2: a step is taken only where it fits what ails the machine; what stands still with its memory is never reset or
// replaced.
func TestWhichStepsFitEachCause(t *testing.T) {
	t.Parallel()
	for cause, want := range map[fleet.Cause]string{
		fleet.CauseChecks:    "reboot run rebuild recreate evacuate migrate rescue snapshot",
		fleet.CauseOff:       "start rebuild recreate evacuate rescue snapshot",
		fleet.CauseStopped:   "start rebuild recreate evacuate rescue snapshot",
		fleet.CauseShutdown:  "start rebuild recreate evacuate rescue snapshot",
		fleet.CauseCrashed:   "start rebuild recreate evacuate rescue snapshot",
		fleet.CausePanic:     "reboot run rebuild recreate evacuate migrate rescue snapshot",
		fleet.CauseError:     "reboot run rebuild recreate evacuate migrate rescue snapshot",
		fleet.CauseGone:      "recreate",
		fleet.CausePaused:    "resume snapshot",
		fleet.CauseSuspended: "resume snapshot",
		fleet.CauseIOError:   "",
		fleet.CauseRescued:   "snapshot",
	} {
		m := newStage(t).m
		m.Health.Cause = cause
		var fit []string
		for _, kind := range fleet.Steps() {
			if kind == fleet.StepPage || kind == fleet.StepQuarantine {
				continue // they fit whatever the cause
			}
			if repair.Precondition(&m, &fleet.Spec{}, ladder[kind]) == "" {
				fit = append(fit, string(kind))
			}
		}
		slices.Sort(fit)
		wanted := strings.Fields(want)
		if slices.Sort(wanted); !slices.Equal(fit, wanted) {
			t.Errorf("%s: %q, want %q", cause, fit, wanted)
		}
	}
}

// L2: nothing takes the place of an instance that is neither certified nor an expired build, nor of one that must be
// kept, nor of a disk that would be lost.
func TestWhatMayNotBeReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*fleet.Machine, *fleet.Spec, *fleet.Step)
		want  fleet.Reason
	}{
		"certified": {func(*fleet.Machine, *fleet.Spec, *fleet.Step) {}, ""},
		"not certified": {func(m *fleet.Machine, _ *fleet.Spec, _ *fleet.Step) { m.Current.Certified = false },
			fleet.ReasonNotCertified},
		"an expired build": {func(m *fleet.Machine, _ *fleet.Spec, _ *fleet.Step) {
			m.Current.Certified, m.Current.Expired = false, true
		}, ""},
		"adopted, to be kept": {func(m *fleet.Machine, _ *fleet.Spec, _ *fleet.Step) {
			m.Current.Adopted,
				m.Current.Irreplaceable = true, true
		},
			fleet.ReasonIrreplaceable},
		"a disk that is kept": {func(_ *fleet.Machine, s *fleet.Spec,
			_ *fleet.Step) {
			s.Template.Disks = []fleet.Disk{{Name: "data"}}
		},
			fleet.ReasonDiskKept},
		"a disk that goes with what is put aside": {func(_ *fleet.Machine, s *fleet.Spec, step *fleet.Step) {
			s.Template.Disks, step.KeepOld = []fleet.Disk{{Name: "data"}}, 1
		}, ""},
		"paused": {func(m *fleet.Machine, _ *fleet.Spec, _ *fleet.Step) { m.Health.Cause = fleet.CausePaused },
			fleet.ReasonHalted},
	} {
		for _, kind := range []fleet.StepKind{fleet.StepRecreate, fleet.StepRebuild, fleet.StepEvacuate} {
			st, step := newStage(t), ladder[kind]
			c.spoil(&st.m, &st.s.Spec, &step)
			if got := repair.Precondition(&st.m, &st.s.Spec, step); got != c.want {
				t.Errorf("%s of what is %s: %q, want %q", kind, name, got, c.want)
			}
		}
	}
}
