package sim

import (
	"bytes"
	"os"
	"testing"
	"time"

	"hale/internal/fleet"
	"hale/internal/sim/world"
)

// web is a fleet as in the guide.
func web(size int) fleet.Spec {
	return fleet.Spec{
		Name: "web", Provider: "lab", Size: size, Mode: fleet.ModeAct,
		Checks: []fleet.Check{
			{Name: "alive", Kind: fleet.CheckPing, Every: 10 * time.Second, Timeout: 2 * time.Second, DownAfter: 3, UpAfter: 2},
			{Name: "page", Kind: fleet.CheckHTTP, Every: 10 * time.Second, Timeout: 2 * time.Second, DownAfter: 3, UpAfter: 2, Port: 80},
		},
		UnhealthyWhen: fleet.Condition{Op: fleet.OpAny, Of: []fleet.Condition{
			{Op: fleet.OpTerm, Term: "alive"}, {Op: fleet.OpTerm, Term: "page"},
		}},
		Repair: fleet.RepairPolicy{
			Steps: []fleet.Step{
				{Kind: fleet.StepStart, Timeout: 30 * time.Second, VerifyWithin: 3 * time.Minute},
				{Kind: fleet.StepReboot, Timeout: 30 * time.Second, VerifyWithin: 3 * time.Minute},
				{Kind: fleet.StepRecreate, Timeout: time.Minute, VerifyWithin: 5 * time.Minute, OnDeleteFailure: fleet.DeleteFailureStop},
			},
			Fence: fleet.Fence{Proof: fleet.ProofConfirmedOff}, Attempts: 3, AttemptsIn: time.Hour, Backoff: 30 * time.Second,
			OnExternalStop: fleet.ExternalStopHoldThenPage, ExternalStopHold: 15 * time.Minute,
		},
		Template: fleet.Template{Disks: []fleet.Disk{{Name: "root", Ephemeral: true}}},
		Limits:   fleet.Limits{InRepair: max(1, size/20), InBuild: max(2, size/10), Brake: fleet.BrakePolicy{AtLeast: 2, Percent: 20, ReleaseAfter: 5 * time.Minute}},
		Grace:    3 * time.Minute, BuildWithin: 10 * time.Minute, BlindAfter: 10 * time.Minute,
	}
}

func TestFirst(t *testing.T) {
	var b bytes.Buffer
	r, err := Run(Options{Spec: web(3), Seed: 1, Horizon: time.Hour, Calm: time.Hour, Trace: &b, Operator: time.Hour,
		Hosts: []world.Host{{Name: "h1"}, {Name: "h2"}},
		Plan: []Event{
			{At: 10 * time.Minute, Subject: "web-2", Verb: Crashes},
			{At: 20 * time.Minute, Subject: "web-1", Verb: Hangs},
			{At: 30 * time.Minute, Subject: "web-3", Verb: LosesDisk},
			{At: 55 * time.Minute, Subject: "web-3", Verb: StopsApp},
		}})
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.Write(b.Bytes())
	t.Logf("%+v", r)
}
