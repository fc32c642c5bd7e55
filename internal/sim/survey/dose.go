package survey

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/judge"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
)

// Dose is many runs that differ in their seeds: the score of a policy, not of a day.
type Dose struct {
	Spec    func() policy.Spec
	Hosts   []world.Host
	Servers int
	Kinds   []script.Kind
	Seed    uint64 // of the first run; each further one has the next
	Runs    int
	Horizon time.Duration // of each run
	Gap     time.Duration // Forecast.MachineGap
	Rate    float64       // Forecast.Gap
	Rival   sim.Rival
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
	judge.Violation
}

// Reckoning is what a survey came to.
type Reckoning struct {
	Score score.Score
	Found []Found
}

// Options returns the run with the index, to be played again by itself.
func (s Dose) Options(i int) sim.Options {
	spec, seed := s.Spec(), s.Seed+uint64(max(i, 0))
	operator := s.Operator
	if operator == 0 {
		operator = time.Hour
	}
	hosts := s.Hosts
	if s.Vary {
		spec, hosts = script.Vary(spec, hosts, seed)
	}
	f := script.Forecast{Seed: seed, Kinds: s.Kinds, Horizon: s.Horizon, MachineGap: s.Gap, Gap: s.Rate}
	return sim.Options{
		Spec: spec, Hosts: hosts, Servers: s.Servers, Seed: seed, Horizon: s.Horizon, Operator: operator,
		Rival: s.Rival,
		Plan:  f.Draw(spec, hosts, s.Servers), Unbrakes: s.Unbrakes,
	}
}

// Run plays the runs, several at a time; the sum does not depend on how many.
func (s Dose) Run() (Reckoning, error) {
	results, errs := make([]sim.Result, s.Runs), make([]error, s.Runs)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(s.Runs, 1)) {
		wg.Go(func() {
			for i := range next {
				results[i], errs[i] = sim.Run(s.Options(i))
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
