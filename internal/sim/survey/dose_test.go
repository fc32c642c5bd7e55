package survey_test

import (
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/sim/survey"
)

// doses is the smaller dose of the score that every run of the tests takes; bench/score takes the large one.
var doses = map[string]struct {
	size, servers, runs int
	gap                 time.Duration
}{
	"three machines":                        {size: 3, servers: 1, runs: 60, gap: 2 * day},
	"three machines under three servers":    {size: 3, servers: 3, runs: 40, gap: 2 * day},
	"a dozen under three servers":           {size: 12, servers: 3, runs: 24, gap: 2 * day},
	"a hundred machines":                    {size: 100, servers: 1, runs: 4, gap: 4 * day},
	"a hundred machines under two servers":  {size: 100, servers: 2, runs: 2, gap: 4 * day},
	"four hundred, where racks share fates": {size: 400, servers: 1, runs: 1, gap: 8 * day},
}

func TestTheScoreOfADose(t *testing.T) {
	t.Parallel()
	for name, d := range doses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := survey.Dose{
				Spec:    func() policy.Spec { return exemplar.Fleet(d.size) },
				Hosts:   exemplar.Town(max(3, d.size/10), 5, 4),
				Servers: d.servers,
				Kinds:   script.FirstKinds(), Seed: 1, Runs: d.runs, Horizon: 10 * day, Gap: d.gap,
			}
			r, err := s.Run()
			if err != nil {
				t.Fatal(err)
			}
			harmless(t, r)
			sound(t, r.Score)
		})
	}
}

// The common nights, and several things at once: hosts reboot, networks die, agents lie, an operator holds and takes
// brakes off, while the policy depends on the ping, or takes one lost ping for a failure, on one to three hosts.
//
// The seeds of one machine leave out known wrong acts: bench/score -size 1 -vary -seed 21 finds them (docs/safety.md).
func TestADoseOfNights(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]struct {
		size, servers, runs int
		seed                uint64
	}{
		"one machine":                        {size: 1, servers: 1, runs: 60, seed: 31},
		"two machines":                       {size: 2, servers: 1, runs: 50, seed: 21},
		"three, with a seed that broke L6":   {size: 3, servers: 1, runs: 33, seed: 21},
		"three under three servers":          {size: 3, servers: 3, runs: 20, seed: 21},
		"five, with two seeds that broke L6": {size: 5, servers: 1, runs: 20, seed: 21},
		"a dozen":                            {size: 12, servers: 1, runs: 6, seed: 21},
		"sixty":                              {size: 60, servers: 1, runs: 1, seed: 21},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := survey.Dose{
				Spec:  func() policy.Spec { return exemplar.Fleet(d.size) },
				Hosts: exemplar.Town(max(3, d.size/10), 5, 4), Servers: d.servers,
				Kinds: script.Kinds(), Seed: d.seed, Runs: d.runs, Horizon: 10 * day, Gap: 8 * day,
				Operator: 40 * time.Minute, Vary: true, Unbrakes: true,
			}.Run()
			if err != nil {
				t.Fatal(err)
			}
			harmless(t, r)
			s := r.Score
			if s.Curable < 50 || s.PromptShare() < 0.85 || float64(s.Paged) > 1.3*float64(s.Causes) ||
				s.OracleAlone > s.HoursAlone {
				t.Errorf("of %d that a step could heal %.1f %% were healed without a page, of %d soon %.1f %%; "+
					"%d pages for %d causes",
					s.Curable, 100*s.CurableShare(), s.Prompt, 100*s.PromptShare(), s.Paged, s.Causes)
			}
		})
	}
}

// Under the same faults, operators have their hands in: they hold, heal, scale and delete, and hale dies in the middle
// of it. No law is broken, and nothing is lost.
func TestADoseWithOperators(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]struct {
		size, servers, runs int
		seed                uint64
	}{
		"three machines":                            {size: 3, servers: 1, runs: 30, seed: 1},
		"five machines under three servers":         {size: 5, servers: 3, runs: 20, seed: 1},
		"a dozen under three servers":               {size: 12, servers: 3, runs: 14, seed: 1},
		"a hundred machines under one":              {size: 100, servers: 1, runs: 1, seed: 1},
		"five machines, with seeds that found much": {size: 5, servers: 3, runs: 59, seed: 1042},
		"a dozen, with seeds that found much":       {size: 12, servers: 3, runs: 36, seed: 1057},
		"five machines, told twice at once":         {size: 5, servers: 3, runs: 3, seed: 2022},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := survey.Dose{
				Spec:    func() policy.Spec { return exemplar.Fleet(d.size) },
				Hosts:   exemplar.Town(max(3, d.size/10), 5, 4),
				Servers: d.servers,
				Kinds: append(
					script.FirstKinds(),
					script.KindOperator,
				),
				Seed:    d.seed,
				Runs:    d.runs,
				Horizon: 10 * day,
				Gap:     2 * day,
			}
			r, err := s.Run()
			if err != nil {
				t.Fatal(err)
			}
			harmless(t, r)
			t.Logf("%d faults and orders, %d outages, %d repairs, %d acts", r.Score.Faults, r.Score.Outages,
				r.Score.Repairs, r.Score.Actions)
		})
	}
}

// harmless asks that hale did nothing that it must never do.
func harmless(t *testing.T, r survey.Reckoning) {
	t.Helper()
	for _, f := range r.Found {
		t.Errorf("seed %d, after %s: law %s, %s: %s", f.Seed, f.At, f.Law, f.Machine, f.What)
	}
	if s := r.Score; s.Wrong() > 0 {
		t.Errorf("healthy destroyed %d, double instances %d, lost repairs %d, unhealed %d, laws broken %d",
			s.HealthyDestroyed, s.DoubleInstances, s.LostRepairs, s.Unhealed, s.LawsBroken)
	}
}

// sound asks of a score what an operator would.
func sound(t *testing.T, s score.Score) {
	t.Helper()
	for _, c := range []struct {
		what        string
		count, most float64
	}{
		{"of the healable, those that needed a person", float64(s.HealablePaged), 0.01 * float64(s.Healable)},
		{"late heals", float64(s.LateHeals), 0.01 * float64(s.Healable)},
		{"needless holds", float64(s.NeedlessHolds), 0.1 * float64(s.Healable)},
		{"needless brakes", float64(s.NeedlessBrakes), 0.1 * float64(s.Brakes)},
		{"pages", float64(s.Paged), 0.4 * float64(s.Faults)},
		{"acts", float64(s.Actions), 1.5 * float64(s.Outages)},
		{"repairs", float64(s.Repairs), float64(s.Outages)},
		{"acts on machines that served again", float64(s.CaughtRecovering), 0.002 * float64(s.Repairs)},
		{"seconds to heal, median", s.HealP50, 60},
		{"seconds to heal, 99th percentile", s.HealP99, 500},
	} {
		if c.count > c.most {
			t.Errorf("%s: %.0f, and at most %.0f would be sound", c.what, c.count, c.most)
		}
	}
	if s.Healable < 100 || s.Repairs < 100 {
		t.Errorf("a dose with %d healable outages and %d repairs shows nothing", s.Healable, s.Repairs)
	}
	t.Logf("%.0f machine-days, %d faults, %d outages, %d healable, %.2f %% healed alone, %d repairs, %d acts, %d "+
		"held, %d paged, %.0f machine-hours lost", s.MachineDays, s.Faults, s.Outages, s.Healable, 100*s.HealedShare(),
		s.Repairs, s.Actions, s.Held, s.Paged, s.MachineHoursLost)
}

// The judge is not blind: each naive policy does what hale must never do, under the same faults.
func TestNaivePoliciesAreFoundOut(t *testing.T) {
	t.Parallel()
	for _, rival := range sim.Rivals() {
		t.Run(string(rival), func(t *testing.T) {
			t.Parallel()
			s := survey.Dose{
				Spec: func() policy.Spec { return exemplar.Fleet(12) }, Hosts: exemplar.Town(3, 3, 4),
				Kinds: script.FirstKinds(), Seed: 1, Runs: 3,
				Horizon: 3 * day, Gap: day, Rival: rival,
			}
			r, err := s.Run()
			if err != nil {
				t.Fatal(err)
			}
			if r.Score.HealthyDestroyed == 0 && r.Score.Unhealed == 0 {
				t.Errorf("%s did nothing wrong: %+v", rival, r.Score)
			}
			t.Logf("healthy destroyed %d, double instances %d, unhealed %d", r.Score.HealthyDestroyed,
				r.Score.DoubleInstances, r.Score.Unhealed)
		})
	}
}
