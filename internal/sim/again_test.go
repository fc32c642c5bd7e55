package sim

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
)

// TestNothingIsDueBeforeTheNotedMoment plays nights, and judges again, at moments up to the one that the last decision
// noted: without news, what follows then is what would have followed at once.
func TestNothingIsDueBeforeTheNotedMoment(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]struct {
		size, servers, runs int
		kinds               []script.Kind
	}{
		"two machines":              {size: 2, servers: 1, runs: 8, kinds: script.Kinds()},
		"five":                      {size: 5, servers: 1, runs: 8, kinds: script.Kinds()},
		"five under three servers":  {size: 5, servers: 3, runs: 6, kinds: script.Kinds()},
		"a dozen":                   {size: 12, servers: 1, runs: 3, kinds: script.Kinds()},
		"sixty, and what is common": {size: 60, servers: 1, runs: 1, kinds: script.FirstKinds()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const horizon = 10 * 24 * time.Hour
			var runs sync.WaitGroup
			for i := range d.runs {
				runs.Go(func() {
					seed := 33 + uint64(max(i, 0))
					spec, hosts := script.Vary(exemplar.Fleet(d.size), exemplar.Town(max(3, d.size/10), 5, 4), seed)
					f := script.Forecast{Seed: seed, Kinds: d.kinds, Horizon: horizon, MachineGap: 8 * 24 * time.Hour}
					if _, err := Run(Options{
						Spec: spec, Hosts: hosts, Servers: d.servers, Seed: seed, Horizon: horizon,
						Operator: 40 * time.Minute, Plan: f.Draw(spec, hosts, d.servers), Unbrakes: true,
						settled: func(c *server) { judgeAhead(t, c) },
					}); err != nil {
						t.Error(err)
					}
				})
			}
			runs.Wait()
		})
	}
}

// judgeAhead judges what the server knows at several moments before the one at which it decides next.
func judgeAhead(t *testing.T, c *server) {
	t.Helper()
	now, next := c.now(), c.own.Next()
	if next == 0 {
		next = now.Mono.Add(24 * time.Hour)
	}
	if c.own.Dirty() || c.own.State().Acting == fleet.ReasonStoreFull || next <= now.Mono+1 {
		return
	}
	judged := func(at fleet.Instant) string {
		s := c.own.Situation(fleet.Now{Mono: at, Wall: now.Wall.Add(at.Sub(now.Mono))})
		return outcome(&s, decide.Decide(s))
	}
	at := judged(now.Mono + 1)
	for _, later := range []fleet.Instant{now.Mono + (next-now.Mono)/2, next - 1} {
		if then := judged(later); then != at || c.own.Dirty() {
			t.Errorf("seed %d at %s: looked at again in %s, but in %s follows %q, and not %q", c.s.options.Seed,
				c.s.w.Now(), next.Sub(now.Mono), later.Sub(now.Mono), then, at)
		}
	}
}

// outcome tells what follows from a decision, without its times.
func outcome(s *situation.Situation, d round.Decision) string {
	var b strings.Builder
	say := func(records []record.Record) {
		for _, rec := range records {
			fmt.Fprint(&b, rec.Kind, " ", rec.Reason, " ", rec.Step, "; ")
		}
	}
	say(d.Records)
	fmt.Fprint(&b, d.Brake.On(), d.Whole.Doubt.Reason, len(d.Whole.Parents), len(d.Whole.Holds), len(d.Orders))
	for i := range d.Machines {
		m := &d.Machines[i]
		was := &s.Machines[m.Index].Machine
		fmt.Fprint(&b, " ", m.Belief.Name, " ", m.Belief.Health.Verdict, m.Belief.Waiting, m.Ends(was), ": ")
		if m.Belief.Repair != nil {
			fmt.Fprint(&b, m.Belief.Repair.Phase, m.Belief.Repair.Look, m.Belief.Repair.Proof, " ")
		}
		say(m.Records)
		for _, a := range m.Actions {
			fmt.Fprint(&b, a.Kind, a.Intent.Op, "; ")
		}
	}
	return b.String()
}
