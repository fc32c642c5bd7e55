package sim

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/world"
)

// Survey is many runs that differ in their seeds: the score of a policy, not of a day.
type Survey struct {
	Spec    func() fleet.Spec
	Hosts   []world.Host
	Servers int
	Kinds   []Kind
	Seed    uint64 // of the first run; each further one has the next
	Runs    int
	Horizon time.Duration // of each run
	Gap     time.Duration // Forecast.MachineGap
	Rate    float64       // Forecast.Gap
	Rival   Rival
	// Operator is as in Options. Default 1 h.
	Operator time.Duration
	// Vary gives each run another policy and another number of hosts, as Vary does by its seed.
	Vary bool
	// Unbrakes is as in Options.
	Unbrakes bool
	// Keep is how many violations are kept. Default 20.
	Keep int
}

// Found is a violation and the run in which it happened.
type Found struct {
	Seed uint64
	Violation
}

// Reckoning is what a survey came to.
type Reckoning struct {
	Score Score
	Found []Found
}

// Options returns the run with the index, to be played again by itself.
func (s Survey) Options(i int) Options {
	spec, seed := s.Spec(), s.Seed+uint64(max(i, 0))
	operator := s.Operator
	if operator == 0 {
		operator = time.Hour
	}
	hosts := s.Hosts
	if s.Vary {
		spec, hosts = Vary(spec, hosts, seed)
	}
	f := Forecast{Seed: seed, Kinds: s.Kinds, Horizon: s.Horizon, MachineGap: s.Gap, Gap: s.Rate}
	return Options{
		Spec: spec, Hosts: hosts, Servers: s.Servers, Seed: seed, Horizon: s.Horizon, Operator: operator,
		Rival: s.Rival,
		Plan:  f.Draw(spec, hosts, s.Servers), Unbrakes: s.Unbrakes,
	}
}

// Run plays the runs, several at a time; the sum does not depend on how many.
func (s Survey) Run() (Reckoning, error) {
	results, errs := make([]Result, s.Runs), make([]error, s.Runs)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(s.Runs, 1)) {
		wg.Go(func() {
			for i := range next {
				results[i], errs[i] = Run(s.Options(i))
			}
		})
	}
	for i := range s.Runs {
		next <- i
	}
	close(next)
	wg.Wait()
	var out Reckoning
	for i, r := range results {
		if errs[i] != nil {
			return out, fmt.Errorf("run with seed %d: %w", s.Seed+uint64(i), errs[i])
		}
		out.Score.Add(r.Score)
		for _, v := range r.Violations {
			if len(out.Found) < max(s.Keep, 20) {
				out.Found = append(out.Found, Found{Seed: s.Seed + uint64(i), Violation: v})
			}
		}
	}
	return out, nil
}

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

// Exemplar is the fleet that the published score is about: checks every 10 s, the whole ladder, the default limits.
func Exemplar(size int) fleet.Spec {
	const checkEvery = 10 * time.Second
	return fleet.Spec{
		Name: "web", Provider: "lab", Size: size, Mode: fleet.ModeAct,
		Checks: []fleet.Check{
			{Name: "alive", Kind: fleet.CheckPing, Every: checkEvery, Timeout: 2 * time.Second, DownAfter: 3,
				UpAfter: 2},
			{Name: "page", Kind: fleet.CheckHTTP, Every: checkEvery, Timeout: 2 * time.Second, DownAfter: 3, UpAfter: 2,
				Port: 80},
		},
		UnhealthyWhen: fleet.Condition{Op: fleet.OpAny, Of: []fleet.Condition{
			{Op: fleet.OpTerm, Term: "alive"}, {Op: fleet.OpTerm, Term: "page"},
		}},
		Repair: fleet.RepairPolicy{
			Steps: []fleet.Step{
				{Kind: fleet.StepStart, Timeout: 30 * time.Second, VerifyWithin: 3 * time.Minute},
				{Kind: fleet.StepReboot, Timeout: 30 * time.Second, VerifyWithin: 3 * time.Minute,
					Mode: fleet.RebootHard},
				{Kind: fleet.StepRecreate, Timeout: time.Minute, VerifyWithin: 5 * time.Minute,
					OnDeleteFailure: fleet.DeleteFailureStop},
			},
			Fence: fleet.Fence{Proof: fleet.ProofConfirmedOff}, Attempts: 3, AttemptsIn: time.Hour,
			Backoff:        30 * time.Second,
			OnExternalStop: fleet.ExternalStopHoldThenPage, ExternalStopHold: 15 * time.Minute,
		},
		SharedFate: fleet.SharedFate{Then: fleet.FatePage, AtLeast: 3, Wait: 10 * time.Minute},
		Template:   fleet.Template{Disks: []fleet.Disk{{Name: "root", Ephemeral: true}}},
		Limits: fleet.Limits{
			InRepair: max(1, size/20), InBuild: max(2, size/10),
			Brake: fleet.BrakePolicy{AtLeast: 2, Percent: 20, ReleaseAfter: 5 * time.Minute},
		},
		Grace: 3 * time.Minute, BuildWithin: 10 * time.Minute, BlindAfter: 10 * time.Minute,
	}
}
