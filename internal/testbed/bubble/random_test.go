package bubble

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
)

// The environment can choose the runs: BUBBLE_RUNS of them (one if not said), from the seed BUBBLE_SEED on.
const (
	envSeed = "BUBBLE_SEED"
	envRuns = "BUBBLE_RUNS"
)

// firstSeed and usualRuns are those that are always played.
const (
	firstSeed = 1
	usualRuns = 16
)

// horizon is how long faults begin in a drawn run: the safety phase.
const horizon = 2 * time.Hour

// TestAnythingCanHappenAndThenAllIsWell draws faults of every kind, two hours long, against three to five machines
// under one to three servers. Whatever happens, no law is broken; and when all faults are lifted, every machine is well
// within the time that the policy may take.
func TestAnythingCanHappenAndThenAllIsWell(t *testing.T) {
	t.Parallel()
	first, runs := number(t, envSeed, firstSeed), number(t, envRuns, usualRuns)
	if os.Getenv(envSeed) != "" {
		runs = number(t, envRuns, 1)
	}
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			t.Logf("%s=%d", envSeed, seed)
			o := draw(seed)
			enter(t, o, func(r *room) {
				// One vantage alone cannot tell a machine that only it does not see from a dead one, as long as they
				// are so few that neither brake nor doubt comes up; and of those that fell out of sight, some may be
				// counted otherwise.
				r.blindly = true
				for _, e := range o.Plan {
					r.schedule(e)
				}
				r.pass(horizon, nil)
				r.liftAll()
				r.restore(r.patience() + 2*o.Operator)
				r.judge.finish()
				for _, b := range r.judge.broke {
					r.t.Errorf("after %v: %s", b.at, b.what)
				}
				r.t.Logf("%d events in %v: %+v", len(o.Plan), r.now(), r.judge.tally)
			})
		})
	}
}

// restore has every machine be well in time, or in quarantine with a page: a person who was told of too many failures
// comes again and again and starts what they find. What is gone while the brake is on stays gone: only letting the
// brake go would have it built.
func (r *room) restore(within time.Duration) {
	r.t.Helper()
	gone := func(n int) bool {
		_, exists := r.instance(r.spec.Name.Machine(n))
		return !exists
	}
	restored := func(n int) bool {
		m, _ := r.machine(n)
		return r.healthy(n) || m.Quarantine != nil && m.Incident.Paged || r.judge.braked && gone(n)
	}
	var come func()
	come = func() {
		for n := 1; n <= r.spec.Size && r.judge.braked; n++ {
			r.judge.mend(n)
		}
		r.after(r.o.Operator, come)
	}
	come()
	if r.pass(r.now()+within, func() bool { return r.each(restored) && (!r.judge.braked || r.some(gone)) }) {
		return
	}
	for n := 1; n <= r.spec.Size; n++ {
		if m, known := r.machine(n); !restored(n) {
			r.t.Errorf(
				"%v after all faults were lifted %s is %s, serves %v, waiting %q, repair %+v (known %v, brake %v)",
				within,
				r.spec.Name.Machine(n),
				m.Health.Verdict,
				r.serves(n),
				m.Waiting,
				m.Repair,
				known,
				r.judge.braked,
			)
		}
	}
}

// number reads a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// draw sets a run up, of what the bubble can play.
func draw(seed uint64) sim.Options {
	size := 3 + int(seed%3)
	o := sim.Options{
		Spec: exemplar.Fleet(size), Hosts: exemplar.Town(3, 2, 1), Servers: 1 + 2*int(seed%2), Seed: seed, Horizon: horizon,
		Operator: 20 * time.Minute,
	}
	f := script.Forecast{Seed: seed, Kinds: script.FirstKinds(), Horizon: horizon, MachineGap: time.Hour, Gap: 1. / 48}
	for _, e := range f.Draw(o.Spec, o.Hosts, o.Servers) {
		if onlySimulator[e.Verb] == "" {
			o.Plan = append(o.Plan, e)
		}
	}
	return o
}

// liftAll ends every fault that lasts, starts every server that does not run, and takes the rest of the plan from the
// agenda (what a person has been called for stays on it).
func (r *room) liftAll() {
	r.judge.note("all faults are lifted")
	for number := 1; number <= r.lasting; number++ {
		r.lift(number)
	}
	for _, s := range r.servers {
		s.mu.Lock()
		s.pauseFor, s.dieIn, s.thaw = 0, 0, time.Time{}
		s.mu.Unlock()
		r.revive(s)
	}
}
