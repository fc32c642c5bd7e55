package survey

import (
	"fmt"
	"runtime"
	"slices"
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
	Runs    int    // 0: as many as it takes to play MachineDays
	// MachineDays are to be played at least, and by one run at least.
	MachineDays float64
	Horizon     time.Duration // of each run
	Gap         time.Duration // Forecast.MachineGap
	Rate        float64       // Forecast.Gap
	Rival       sim.Rival
	// Operator is as in Options. Default 1 h.
	Operator time.Duration
	// Vary gives each run another policy and another number of hosts, as Vary does by its seed.
	Vary bool
	// Unbrakes is as in Options.
	Unbrakes bool
	// Sized gives each run a policy of sizes and a load, as Sized and Borne do by its seed.
	Sized bool
	// Pooled puts each run's machines behind a load balancer, as Pooled and PoolTroubles do by its seed.
	Pooled bool
	// Hooked gives each run hooks, as Hooked does by its seed.
	Hooked bool
	// Rolled gives each run a policy of other templates, and spares, as Rolled does by its seed.
	Rolled bool
	// Preceded has another fleet come before each run's, which does not always serve.
	Preceded bool
	// Maintained has hosts be held that their provider's people want to be empty now and then.
	Maintained bool
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
	burden := sim.Burden{}
	if s.Sized {
		spec = script.Sized(spec, seed)
		burden = sim.Burden{Load: script.Borne(spec, seed, s.Horizon), Capacity: script.Capacity,
			Measures: script.Measures()}
	}
	var also []script.Event
	if s.Pooled {
		spec = script.Pooled(spec, seed)
		also = script.PoolTroubles(spec, seed, s.Horizon)
	}
	if s.Hooked {
		spec = script.Hooked(spec, seed)
	}
	if s.Rolled {
		spec = script.Rolled(spec, seed)
	}
	if s.Preceded {
		spec = script.Preceded(spec)
		also = script.Merge(also, script.PrecedingTroubles(spec, seed, s.Horizon))
	}
	if s.Maintained {
		spec = script.Maintained(spec, seed)
		also = script.Merge(also, script.Maintenances(hosts, seed, s.Horizon))
	}
	f := script.Forecast{Seed: seed, Kinds: s.Kinds, Horizon: s.Horizon, MachineGap: s.Gap, Gap: s.Rate}
	return sim.Options{
		Spec: spec, Hosts: hosts, Servers: s.Servers, Seed: seed, Horizon: s.Horizon, Operator: operator,
		Rival: s.Rival, Burden: burden,
		Plan: script.Merge(f.Draw(spec, hosts, s.Servers), also), Unbrakes: s.Unbrakes,
	}
}

// Run plays the runs, several at a time; the sum does not depend on how many.
func (s Dose) Run() (Reckoning, error) {
	p := playing{Dose: s, done: make(chan played)}
	for at := 0; !p.enough(); {
		for ; p.running < runtime.GOMAXPROCS(0) && (s.Runs == 0 || at < s.Runs); at++ {
			p.begin(at)
		}
		p.await()
	}
	for p.running > 0 { // what was begun meanwhile counts for nothing
		<-p.done
		p.running--
	}
	p.runs.Wait()
	return p.sum, p.err
}

// playing is a dose while it is played.
type playing struct {
	Dose
	done    chan played
	runs    sync.WaitGroup
	running int
	ahead   []played // those that ended before one with a lower seed
	taken   int      // how many of the runs are in the sum
	sum     Reckoning
	err     error
}

// played is how the run with the index went.
type played struct {
	index  int
	result sim.Result
	err    error
}

// enough reports whether no further run belongs to the sum.
func (p *playing) enough() bool {
	switch {
	case p.err != nil:
		return true
	case p.taken == 0:
		return false
	case p.Runs > 0:
		return p.taken == p.Runs
	}
	return p.sum.Score.MachineDays >= p.MachineDays
}

func (p *playing) begin(index int) {
	p.running++
	p.runs.Go(func() {
		r, err := sim.Run(p.Options(index))
		p.done <- played{index, r, err}
	})
}

// await waits for a run to end, and adds up those whose turn it is: they count in the order of their seeds.
func (p *playing) await() {
	p.ahead = append(p.ahead, <-p.done)
	p.running--
	for !p.enough() {
		i := slices.IndexFunc(p.ahead, func(a played) bool { return a.index == p.taken })
		if i < 0 {
			return
		}
		p.add(p.ahead[i])
		p.ahead = slices.Delete(p.ahead, i, i+1)
	}
}

func (p *playing) add(a played) {
	p.taken++
	seed := p.Seed + uint64(max(a.index, 0))
	if a.err != nil {
		p.err = fmt.Errorf("run with seed %d: %w", seed, a.err)
		return
	}
	p.sum.Score.Add(a.result.Score)
	for _, v := range a.result.Violations {
		if len(p.sum.Found) < max(p.Keep, 20) {
			p.sum.Found = append(p.sum.Found, Found{Seed: seed, Violation: v})
		}
	}
}
