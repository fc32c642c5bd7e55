// Command score plays hale's judgement, and the naive policies that it is compared with, in the simulated world, and
// prints what came of it as a table. The first line names the seed; equal flags give equal tables.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/sim/survey"
)

// dose is one part of the machine-days: fleets of a size, under a number of servers.
type dose struct {
	size, servers int
	share         float64 // of the machine-days, beside the other doses
}

// sort is what is particular about the fleets of a dose.
type sort struct {
	varied bool // policy and hosts vary with the seed
	fenced bool // hosts have power controllers, and machines can go on elsewhere
	sized  bool // the size moves under a load, up to the dose's, by a policy that varies with the seed
}

// part is a dose of a sort of fleets.
type part struct {
	dose
	sort
}

// parts are what the machine-days consist of: many small fleets, where each machine counts, and few large ones; fleets
// of today's plans; such with fences; and such with sizes that move. What is drawn for them goes by their places here.
func parts() []part {
	var out []part
	for _, all := range []struct {
		sort
		doses []dose
	}{
		{sort{}, []dose{{3, 1, 0.01}, {3, 3, 0.01}, {12, 1, 0.03}, {12, 3, 0.03}, {100, 1, 0.12}, {100, 3, 0.10},
			{1000, 1, 0.30}, {1000, 3, 0.20}}},
		{sort{varied: true}, []dose{{1, 1, 0.005}, {2, 1, 0.005}, {3, 1, 0.01}, {5, 3, 0.01}, {12, 1, 0.02},
			{60, 1, 0.05}, {200, 3, 0.1}}},
		{sort{fenced: true}, []dose{{12, 1, 0.01}, {60, 3, 0.03}}},
		{sort{varied: true, sized: true}, []dose{{3, 1, 0.001}, {6, 1, 0.004}, {6, 3, 0.004}, {12, 1, 0.01},
			{24, 3, 0.02}, {40, 1, 0.02}, {60, 3, 0.02}}},
		{sort{varied: true, fenced: true, sized: true}, []dose{{24, 1, 0.01}}},
	} {
		for _, d := range all.doses {
			out = append(out, part{d, all.sort})
		}
	}
	return out
}

// answers is the mean time after which the simulated operator comes who was paged: twenty minutes to an hour.
const answers = 40 * time.Minute

type flags struct {
	days    float64
	seed    uint64
	kinds   string
	rivals  bool
	size    int
	servers int
	only    uint64
	trace   string
	gap     time.Duration
	why     bool
	vary    bool
	sized   bool
	pooled  bool
	hooked  bool
	rolled  bool
	after   bool
	emptied bool
}

func main() {
	debug.SetGCPercent(2000) // what lives is a few megabytes a run, and what dies is much
	var f flags
	flag.Float64Var(&f.days, "machine-days", 100_000, "how many machine-days to play at least, for hale and for each "+
		"rival: the table says how many they were")
	flag.Uint64Var(&f.seed, "seed", 1, "the first run's seed")
	flag.StringVar(&f.kinds, "faults", "all", "kinds of faults, as storm,partition")
	flag.BoolVar(&f.rivals, "rivals", false, "play the naive policies, too")
	flag.IntVar(&f.size, "size", 0, "fleets of this size only")
	flag.IntVar(&f.servers, "servers", 1, "with -size: how many hale servers")
	flag.Uint64Var(&f.only, "only", 0, "play only the run with this seed, as a finding names it; what fleet that is "+
		"follows from -seed")
	flag.StringVar(&f.trace, "trace", "", "with -only or -size: write the first run's trace to this file")
	flag.DurationVar(&f.gap, "gap", 8*24*time.Hour, "mean time between two faults of one machine")
	flag.BoolVar(&f.why, "why", false, "say what the outages were put down to, and what the pages were about")
	flag.BoolVar(&f.vary, "vary", false, "with -size: let policy and hosts vary with the seed")
	flag.BoolVar(&f.hooked, "hooked", false, "fleets with hooks, which fail, too")
	flag.BoolVar(&f.pooled, "pooled", false, "fleets behind a load balancer that fails, too")
	flag.BoolVar(&f.sized, "sized", false, "only fleets with a size that moves, and with -size: such a fleet")
	flag.BoolVar(&f.rolled, "rolled", false, "only fleets through which other templates go, some with spares")
	flag.BoolVar(&f.after, "after", false, "fleets that come after another one, which does not always serve")
	flag.BoolVar(&f.emptied, "emptied", false, "hosts that their provider's people want to be empty, and are held "+
		"for that")
	flag.Parse()
	if err := run(f, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "score:", err)
		os.Exit(1)
	}
}

func run(f flags, out io.Writer) error {
	kinds, err := script.ParseKinds(f.kinds)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(out, format, args...) }
	say("seed %d, faults %s\n", f.seed, f.kinds)
	policies := []sim.Rival{""}
	if f.rivals {
		policies = append(policies, sim.Rivals()...)
	}
	wrong := 0
	for _, p := range policies {
		r, err := f.survey(kinds, p)
		if err != nil {
			return err
		}
		name := string(p)
		if p == "" {
			name, wrong = "hale", r.Score.Wrong()
		}
		row(say, name, r)
		if f.why {
			why(say, r.Score.Measure)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("hale did what it must never do, %d times", wrong)
	}
	return nil
}

func row(say func(string, ...any), name string, r survey.Reckoning) {
	s := r.Score
	say("\n%s: %.0f machine-days, %d runs, %d faults, %d outages, %d edges, %d decisions\n",
		name, s.MachineDays, s.Runs, s.Faults, s.Outages, s.Edges, s.Decisions)
	say("  healthy destroyed %d (%d more, unseen, by a person's order), double instances %d, lost repairs %d, "+
		"unhealed %d, laws broken %d\n", s.HealthyDestroyed, s.HealthyByOrder, s.DoubleInstances, s.LostRepairs,
		s.Unhealed, s.LawsBroken)
	say("  a step could heal %d, whatever held it: healed without a page %.3f %%; "+
		"of %d that it could within 5 min %.3f %%\n",
		s.Curable, 100*s.CurableShare(), s.Prompt, 100*s.PromptShare())
	say("  of %d that none could so soon: healed with no hand on the machine %.3f %%\n", s.Later, 100*s.UnaidedShare())
	say("  machine-hours lost beside the oracle's: %.1f and %.1f (%.2f) of those, "+
		"%.1f and %.1f (%.2f) of all outages\n",
		s.HoursAlone, s.OracleAlone, times(s.HoursAlone, s.OracleAlone), s.MachineHoursLost, s.OracleHours,
		times(s.MachineHoursLost, s.OracleHours))
	say("  causes that need a person %d, pages %d (%.2f for each); brake on for %.1f h\n", s.Causes, s.Paged,
		times(float64(s.Paged), float64(s.Causes)), s.BrakeHours)
	say("  not held by hale's brake, nor in a fault of host, network or provider: %d, "+
		"healed without a page of their own %.3f %%, late %d\n",
		s.Healable, 100*s.HealedShare(), s.LateHeals)
	say("  caught recovering %d, window acts %d\n", s.CaughtRecovering, s.WindowActs)
	say("  repairs %d, actions %d, held %d (needless %d), paged %d, brakes %d (needless %d), mended by a person %d\n",
		s.Repairs, s.Actions, s.Held, s.NeedlessHolds, s.Paged, s.Brakes, s.NeedlessBrakes, s.Visits)
	if s.MachineHours > 0 {
		say("  sizes that move: %.0f s under capacity, %.1f of %.1f machine-hours over, grew %d and shrank %d times, "+
			"shrank on missing metrics %d, below the least %d, built in vain %d\n", s.SecondsUnder, s.HoursOver,
			s.MachineHours, s.ScaledOut, s.ScaledIn, s.ScaledInBlind, s.BelowLeast, s.InVain)
	}
	nights(say, s.Nights)
	say("  healed after %.0f s (median), %.0f s (99th percentile)\n", s.HealP50, s.HealP99)
	for _, v := range r.Found {
		say("  seed %d: after %s law %s, %s: %s\n", v.Seed, v.At, v.Law, v.Machine, v.What)
	}
}

// why prints what the outages were put down to that a step could heal, and what the pages were about.
func why(say func(string, ...any), m score.Measure) {
	say("  %-32s %8s %8s %10s %10s %8s %12s\n", "a step could heal, struck by", "outages", "alone", "hours",
		"oracle's", "times", "longest, h")
	for _, k := range slices.Sorted(maps.Keys(m.Why)) {
		b := m.Why[k]
		say("  %-32s %8d %8d %10.2f %10.2f %8.2f %12.2f\n", k, b.Outages, b.Alone, b.AloneLost.Hours(),
			b.AloneOracle.Hours(),
			times(b.AloneLost.Hours(), b.AloneOracle.Hours()), b.Longest.Hours())
	}
	most := func(a, b score.Miss) int {
		x, y := m.Misses[a], m.Misses[b]
		return cmp.Or(y.Prompt-x.Prompt, y.Later-x.Later, cmp.Compare(a.Why, b.Why), cmp.Compare(a.Told, b.Told))
	}
	say("  %-32s %-26s %8s %8s\n", "a step could heal, struck by", "but a person was told", "promptly", "later")
	for _, k := range slices.SortedFunc(maps.Keys(m.Misses), most) {
		say("  %-32s %-26s %8d %8d\n", k.Why, k.Told, m.Misses[k].Prompt, m.Misses[k].Later)
	}
	for _, k := range slices.Sorted(maps.Keys(m.Pages)) {
		say("  pages: %-32s %8d\n", k, m.Pages[k])
	}
}

// times returns how many times the one is the other; 1 where both are none.
func times(a, b float64) float64 {
	if b == 0 && a == 0 {
		return 1
	}
	return a / b
}

// nights prints how those ended that could have made two instances of one.
func nights(say func(string, ...any), n score.Nights) {
	say("  %-24s %8s %10s %8s %8s %8s %8s %8s\n",
		"what could make two", "nights", "no effect", "calm", "healed", "paged", "open", "wrong")
	for i, v := range script.NightVerbs() {
		e := n[i]
		if e.Nights == 0 {
			continue // nothing draws it, or what was drawn has none
		}
		say("  %-24s %8d %10d %8d %8d %8d %8d %8d\n",
			strings.TrimPrefix(string(v), "'s "), e.Nights, e.NoEffect, e.Calm, e.Healed, e.Paged, e.Open, e.Wrong)
	}
}

// menu is what to play of the parts: all, those with sizes that move, or the one size that was asked for.
func (f flags) menu() []part {
	if f.size > 0 {
		return []part{{dose{f.size, f.servers, 1}, sort{varied: f.vary, sized: f.sized}}}
	}
	return slices.DeleteFunc(parts(), func(p part) bool {
		switch {
		case f.rolled && !p.rolls():
			return true
		case f.sized || f.rolled:
			return p.sized != f.sized
		}
		return false
	})
}

// rolls reports whether other templates may be taken through the fleets of the part: with one owner or several, and not
// of a thousand, where a change of all takes longer than the play.
func (p *part) rolls() bool { return !p.fenced && p.size <= 200 }

// survey plays the parts, each for its share of the machine-days, and at least one run of it.
func (f flags) survey(kinds []script.Kind, rival sim.Rival) (survey.Reckoning, error) {
	all, shares := f.menu(), 0.0
	for _, p := range all {
		shares += p.share
	}
	var total survey.Reckoning
	const seedsPerPart = 1_000_000
	for i, p := range all {
		s := f.dose(p, kinds, rival)
		s.Seed += uint64(i) * seedsPerPart
		s.MachineDays = f.days * p.share / shares
		if f.only != 0 {
			if f.only < s.Seed || f.only-s.Seed >= seedsPerPart {
				continue
			}
			s.Seed, s.Runs = f.only, 1
		}
		if f.trace != "" && (f.size > 0 || f.only != 0) {
			if err := f.write(s.Options(0)); err != nil {
				return total, err
			}
		}
		r, err := s.Run()
		if err != nil {
			return total, err
		}
		total.Score.Add(r.Score)
		total.Found = append(total.Found, r.Found...)
	}
	if total.Score.Runs == 0 {
		return total, fmt.Errorf("no run has the seed %d; they begin at %d", f.only, f.seed)
	}
	return total, nil
}

// dose returns the runs of the part.
func (f flags) dose(p part, kinds []script.Kind, rival sim.Rival) survey.Dose {
	const horizon = 10 * 24 * time.Hour
	s := survey.Dose{
		Spec:  func() policy.Spec { return exemplar.Defaults(p.size) },
		Hosts: exemplar.Town(max(3, p.size/10), 5, 4), Servers: p.servers, Kinds: kinds,
		Seed: f.seed, Horizon: horizon, Gap: f.gap, Rival: rival,
		Operator: answers, Unbrakes: true, Vary: p.varied, Sized: p.sized, Pooled: f.pooled, Hooked: f.hooked,
		Rolled: f.rolled, Preceded: f.after, Maintained: f.emptied,
	}
	if p.fenced {
		spec, hosts := script.Fenced(s.Spec(), s.Hosts)
		s.Spec, s.Hosts = func() policy.Spec { return spec }, hosts
	}
	if p.sized && f.kinds == "all" {
		s.Kinds = append(slices.Clone(kinds), script.KindOperator)
	}
	return s
}

func (f flags) write(o sim.Options) error {
	file, err := os.Create(f.trace)
	if err != nil {
		return err
	}
	o.Trace = file
	_, err = sim.Run(o)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}
