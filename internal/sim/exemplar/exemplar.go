package exemplar

import (
	"fmt"
	"strconv"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/world"
)

// Town returns hosts in racks, rooms, zones and networks: each rack has a network of its own, and rooms are spread over
// three zones.
func Town(hosts, perRack, racksPerRoom int) []world.Host {
	var out []world.Host
	for i := range hosts {
		rack := i / max(perRack, 1)
		room := rack / max(racksPerRoom, 1)
		out = append(out, world.Host{
			Name: fmt.Sprintf("h%03d", i+1), Rack: "r" + strconv.Itoa(rack+1), Room: "m" + strconv.Itoa(room+1),
			Zone: "z" + strconv.Itoa(room%3+1), Network: "n" + strconv.Itoa(rack+1),
		})
	}
	return out
}

// Fleet is the fleet that the published score is about: checks every 10 s, the whole ladder, the default limits.
func Fleet(size int) policy.Spec {
	const checkEvery = 10 * time.Second
	return policy.Spec{
		Name: "web", Provider: "lab", Size: size, Mode: policy.ModeAct,
		Checks: []policy.Check{
			{Name: "alive", Kind: policy.CheckPing, Every: checkEvery, Timeout: 2 * time.Second, DownAfter: 3,
				UpAfter: 2},
			{Name: "page", Kind: policy.CheckHTTP, Every: checkEvery, Timeout: 2 * time.Second, DownAfter: 3,
				UpAfter: 2,
				Port:    80},
		},
		UnhealthyWhen: policy.Condition{Op: policy.OpAny, Of: []policy.Condition{
			{Op: policy.OpTerm, Term: "alive"}, {Op: policy.OpTerm, Term: "page"},
		}},
		Repair: policy.Repair{
			Steps: []policy.Step{
				{Kind: fleet.StepStart, Timeout: 30 * time.Second, VerifyWithin: 3 * time.Minute},
				{Kind: fleet.StepReboot, Timeout: 30 * time.Second, VerifyWithin: 3 * time.Minute,
					Mode: policy.RebootHard},
				{Kind: fleet.StepRecreate, Timeout: time.Minute, VerifyWithin: 5 * time.Minute,
					OnDeleteFailure: policy.DeleteFailureStop},
			},
			Fence: fleet.Fence{Proof: fleet.ProofConfirmedOff}, Attempts: 3, AttemptsIn: time.Hour,
			Backoff:        30 * time.Second,
			OnExternalStop: policy.ExternalStopHoldThenPage, ExternalStopHold: 15 * time.Minute,
		},
		SharedFate: policy.SharedFate{Then: policy.FatePage, AtLeast: 3, Wait: 10 * time.Minute},
		Template:   policy.Template{Disks: []policy.Disk{{Name: "root", Ephemeral: true}}},
		Limits: policy.Limits{
			InRepair: max(1, size/20), InBuild: max(2, size/10),
			Brake: policy.Brake{AtLeast: 2, Percent: 20, ReleaseAfter: 5 * time.Minute},
		},
		Grace: 3 * time.Minute, BuildWithin: 10 * time.Minute, BlindAfter: 10 * time.Minute,
	}
}

// Defaults is the exemplar with the times that a configuration has which says nothing of them: the score of the new
// plans is what an operator gets who wrote ten lines. Its limits grow with the fleet, as the exemplar's do.
func Defaults(size int) policy.Spec {
	const every, wait = 5 * time.Second, time.Minute
	s := Fleet(size)
	for i := range s.Checks {
		s.Checks[i].Every, s.Checks[i].Timeout = every, time.Second
	}
	for i := range s.Repair.Steps {
		step := &s.Repair.Steps[i]
		if step.Kind.Builds() {
			step.Timeout, step.VerifyWithin = 2*time.Minute, 0 // it is built within BuildWithin
			continue
		}
		step.Timeout, step.VerifyWithin = 30*time.Second, wait
	}
	s.Repair.Backoff = 10 * time.Second
	s.Limits.Brake.ReleaseAfter = 30 * time.Second
	s.Grace, s.BuildWithin, s.BlindAfter = wait, 5*wait, 5*wait
	return s
}
