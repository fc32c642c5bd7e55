package repair_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/repair"
)

func TestBackoffDoublesUpToHalfAnHour(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 2: 20 * time.Second,
		3: 40 * time.Second, 20: 30 * time.Minute, 1000: 30 * time.Minute} {
		if got := repair.Backoff(10*time.Second, n); got != want {
			t.Errorf("after %d attempts %v, want %v", n, got, want)
		}
	}
}

// L2: only what bears our mark, was never certified, and is neither current nor being built may be taken for a remnant.
func TestWhatARemnantIs(t *testing.T) {
	t.Parallel()
	m := fleet.Machine{Name: "web-1", Generation: 3, Current: fleet.Incarnation{ID: "current", Generation: 2,
		Certified: true}, Repair: &fleet.Repair{Climb: fleet.Climb{Next: fleet.Incarnation{ID: "next", Generation: 3}}}}
	remnant := fleet.Instance{ID: "left", Mark: fleet.Mark{Installation: "ours", Fleet: "web", Machine: "web-1",
		Generation: 1}}
	if !repair.IsRemnant(m, remnant, "ours") {
		t.Fatal("a remnant was not recognised")
	}
	for name, spoil := range map[string]func(*fleet.Instance){
		"certified":                func(i *fleet.Instance) { i.Mark.Certified = true },
		"another installation's":   func(i *fleet.Instance) { i.Mark.Installation = "theirs" },
		"another machine's":        func(i *fleet.Instance) { i.Mark.Machine = "web-2" },
		"of an unknown generation": func(i *fleet.Instance) { i.Mark.Generation = 4 },
		"the current one":          func(i *fleet.Instance) { i.ID = "current" },
		"the one being built":      func(i *fleet.Instance) { i.ID = "next" },
		"without a mark":           func(i *fleet.Instance) { i.Mark = fleet.Mark{} },
	} {
		i := remnant
		spoil(&i)
		if repair.IsRemnant(m, i, "ours") {
			t.Errorf("%s: taken for a remnant", name)
		}
	}
	if repair.IsRemnant(m, fleet.Instance{ID: "left", Mark: fleet.Mark{Machine: "web-1", Generation: 1}}, "") {
		t.Error("without an installation everything unmarked would be a remnant")
	}
}

func TestWhichStepFitsTheCause(t *testing.T) {
	t.Parallel()
	spec := fleet.Spec{Repair: fleet.RepairPolicy{Steps: []fleet.Step{{Kind: fleet.StepStart}, {Kind: fleet.StepReboot},
		{Kind: fleet.StepRecreate}}}}
	current := fleet.Incarnation{ID: "a", Generation: 1, Certified: true}
	for cause, want := range map[fleet.Cause]fleet.StepKind{
		fleet.CauseOff: fleet.StepStart, fleet.CauseCrashed: fleet.StepStart, fleet.CauseStopped: fleet.StepStart,
		fleet.CauseChecks: fleet.StepReboot, fleet.CauseError: fleet.StepReboot, fleet.CausePanic: fleet.StepReboot,
		fleet.CauseGone: fleet.StepRecreate,
	} {
		m := fleet.Machine{Name: "web-1", Current: current, Health: fleet.Health{Cause: cause}}
		if got, ok := repair.FirstStep(&m, &guard.Situation{Spec: spec}); !ok || got != want {
			t.Errorf("%s: %s, want %s", cause, got, want)
		}
	}
	kept := spec
	kept.Template.Disks = []fleet.Disk{{Name: "root"}}
	gone := fleet.Machine{Name: "web-1", Current: current, Health: fleet.Health{Cause: fleet.CauseGone}}
	if _, ok := repair.FirstStep(&gone, &guard.Situation{Spec: kept}); ok {
		t.Error("a recreate would lose a kept disk")
	}
}

// Heartbeats with a token that all machines share can be another machine's word: they let a machine be reset, and
// destroy nothing alone.
func TestSharedHeartbeatsDestroyNothingAlone(t *testing.T) {
	t.Parallel()
	const down, failing, up = fleet.StandingDown, fleet.StandingFailing, fleet.StandingUp
	for name, c := range map[string]struct {
		beat, page fleet.Standing
		perMachine bool
		cause      fleet.Cause
		want       fleet.StepKind
	}{
		"the shared heartbeat alone":    {down, up, false, fleet.CauseChecks, fleet.StepPage},
		"and what is not known":         {down, fleet.StandingUnknown, false, fleet.CauseChecks, fleet.StepPage},
		"another check, too":            {down, down, false, fleet.CauseChecks, fleet.StepRecreate},
		"another check begins to fail":  {down, failing, false, fleet.CauseChecks, fleet.StepRecreate},
		"a token of its own":            {down, up, true, fleet.CauseChecks, fleet.StepRecreate},
		"another check alone":           {up, down, false, fleet.CauseChecks, fleet.StepRecreate},
		"the provider's word beside it": {down, up, false, fleet.CauseCrashed, fleet.StepRecreate},
	} {
		m := fleet.Machine{Name: "web-1", Current: fleet.Incarnation{ID: "a", Generation: 1, Certified: true},
			Health: fleet.Health{Cause: c.cause}}
		view := &fleet.View{Machine: m, Checks: []fleet.CheckState{{Check: "beat", Standing: c.beat},
			{Check: "page", Standing: c.page}}}
		s := &guard.Situation{View: view, Spec: fleet.Spec{
			Checks: []fleet.Check{
				{Name: "beat", Kind: fleet.CheckHeartbeat, Heartbeat: fleet.HeartbeatCheck{PerMachine: c.perMachine}},
				{Name: "page", Kind: fleet.CheckHTTP},
			},
			Repair: fleet.RepairPolicy{Steps: []fleet.Step{{Kind: fleet.StepRecreate}, {Kind: fleet.StepPage}}},
		}}
		if got, _ := repair.FirstStep(&m, s); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		s.Spec.Repair.Steps = []fleet.Step{{Kind: fleet.StepReboot}}
		if got, _ := repair.FirstStep(&m, s); c.cause == fleet.CauseChecks && got != fleet.StepReboot {
			t.Errorf("%s: it may not be reset: %s", name, got)
		}
	}
}

// A command waits for the provider after its look, and meanwhile what it is to be told was taken off the instance: it
// is not sent with something else in its place.
func TestACommandIsSentWithWhatIsKnownOnly(t *testing.T) {
	t.Parallel()
	for bears, why := range map[fleet.Metadata]fleet.Reason{"role=db\n": "", "": fleet.ReasonNoMetadata,
		"role=-oProxyCommand=x\n": fleet.ReasonUnfit} {
		sent := why == ""
		step := fleet.Step{Kind: fleet.StepRun, Run: fleet.Command{Args: []string{"apply", "{meta.role}", "{host}"}}}
		m := fleet.Machine{
			Name: "web-1", Current: fleet.Incarnation{ID: "a", Host: "h1", Generation: 1, Certified: true},
			Incident: &fleet.Incident{ID: "web-1/1"},
			Health:   fleet.Health{Verdict: fleet.VerdictSuspect, Cause: fleet.CauseChecks},
		}
		m.Repair = &fleet.Repair{
			ID:   "web-1/r1",
			Kind: fleet.RepairHeal,
			Climb: fleet.Climb{
				Step:  fleet.StepRun,
				Aim:   fleet.Aim{Target: m.Current, Finding: fleet.Finding{Confirmed: true}},
				Stage: fleet.Stage{Phase: fleet.PhaseAct},
			},
		}
		view := &fleet.View{Machine: m, Seen: []fleet.Sighting{{Asked: 1, Instance: fleet.Instance{ID: "a",
			Power: fleet.PowerRunning, Metadata: bears}}}}
		w := repair.Work{Chart: repair.Chart{M: &m, View: view, Situation: &guard.Situation{
			Spec: fleet.Spec{Repair: fleet.RepairPolicy{Steps: []fleet.Step{step, {Kind: fleet.StepPage}}}},
			Now:  fleet.Now{Mono: 10}, View: view,
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
		}}}
		w.Advance()
		var args []string
		for _, a := range w.Actions {
			args = append(args, a.Args...)
		}
		if (strings.Join(args, " ") == "apply db h1") != sent || !sent && len(args) > 0 {
			t.Errorf("bearing %q it is sent as %q", bears, args)
		}
		if r := w.Records[0]; !sent && (r.Reason != why || r.Detail != "{meta.role}") {
			t.Errorf("it is not said: %+v", r)
		}
	}
}
