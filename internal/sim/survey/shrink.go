package survey

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/sim"
	"hale/internal/sim/judge"
	"hale/internal/sim/script"
)

// Shrunk is what is left of a run that breaks a law when everything that the breach does not need is taken out of it.
type Shrunk struct {
	Options   sim.Options // without history and trace
	Violation judge.Violation
	Plays     int // how many runs it took
	// Whole says that nothing more could be taken out; else there was no time for that.
	Whole bool
}

// Shrink looks for the least that still breaks the law that the run broke in the violation: events are left out by
// halves, quarters and so on down to single ones, what lasts is made shorter, and what is left is moved together.
// Removing an event changes what chance does to the others, so the result is one that cannot be made smaller by one
// step, not the smallest there is. It stops when stop, which is asked before each run, says so; nil: never.
func Shrink(o sim.Options, broke judge.Violation, stop func() bool) Shrunk {
	o.History, o.Trace = nil, nil
	s := &shrinker{best: Shrunk{Options: o, Violation: broke, Whole: true}, law: broke.Law, stop: stop}
	s.try(s.cut(o, broke))
	s.guess()
	for range 4 { // each pass may let the next one find more
		before := len(s.best.Options.Plan)
		s.thin()
		if len(s.best.Options.Plan) == before {
			break
		}
	}
	s.shorten()
	s.gather()
	s.fewerServers()
	s.thin()
	return s.best
}

type shrinker struct {
	best Shrunk
	law  string
	stop func() bool
}

// try plays the run, and keeps it when it breaks the same law.
func (s *shrinker) try(o sim.Options) bool {
	if s.stop != nil && s.stop() {
		s.best.Whole = false
		return false
	}
	s.best.Plays++
	r, err := sim.Run(o)
	if err != nil {
		return false
	}
	i := slices.IndexFunc(r.Violations, func(v judge.Violation) bool { return v.Law == s.law })
	if i < 0 {
		return false
	}
	s.best.Options, s.best.Violation = s.cut(o, r.Violations[i]), r.Violations[i]
	return true
}

// cut ends the run where the law is broken: what happens afterwards cannot matter.
func (*shrinker) cut(o sim.Options, v judge.Violation) sim.Options {
	o.Plan = slices.DeleteFunc(slices.Clone(o.Plan), func(e script.Event) bool { return e.At > v.At })
	o.Horizon, o.Calm = v.At.Truncate(time.Second)+time.Second, time.Minute
	return o
}

// with returns the best run so far with another plan.
func (s *shrinker) with(plan []script.Event) sim.Options {
	o := s.best.Options
	o.Plan = plan
	return o
}

// guess tries what is likely: what happened to the machine, or to many, shortly before.
func (s *shrinker) guess() {
	v := s.best.Violation
	for _, lately := range []time.Duration{time.Hour, 24 * time.Hour, v.At} {
		for _, others := range []bool{false, true} {
			plan := slices.DeleteFunc(slices.Clone(s.best.Options.Plan), func(e script.Event) bool {
				return e.At < v.At-lately || !others && e.OfMachine() && e.Subject != v.Machine
			})
			if len(plan) < len(s.best.Options.Plan) && s.try(s.with(plan)) {
				return
			}
		}
	}
}

// thin leaves out ever smaller parts of the plan, as long as the law still breaks.
func (s *shrinker) thin() {
	for size := len(s.best.Options.Plan) / 2; size >= 1; size /= 2 {
		for from := 0; from < len(s.best.Options.Plan); {
			plan := s.best.Options.Plan
			less := slices.Concat(plan[:from], plan[min(from+size, len(plan)):])
			if !s.try(s.with(less)) {
				from += size
			}
		}
	}
}

// shorten makes what lasts shorter, by halves and to whole minutes.
func (s *shrinker) shorten() {
	for i := 0; i < len(s.best.Options.Plan); i++ {
		for n := 0; n < 12; n++ {
			e := s.best.Options.Plan[i]
			if e.For <= time.Second || !s.replace(i, func(e *script.Event) {
				e.For = max((e.For / 2).Round(time.Second),
					time.Second)
			}) {
				break
			}
		}
		s.replace(i, func(e *script.Event) {
			if e.For > time.Minute {
				e.For = e.For.Round(time.Minute)
			}
		})
	}
}

// replace tries the plan with one event changed.
func (s *shrinker) replace(i int, change func(*script.Event)) bool {
	if i >= len(s.best.Options.Plan) {
		return false
	}
	plan := slices.Clone(s.best.Options.Plan)
	was := plan[i]
	change(&plan[i])
	return plan[i] != was && plan[i].Check() == nil && s.try(s.with(plan))
}

// early is when the first event may happen: hale has seen every machine by then.
const early = 10 * time.Minute

// gather moves the events together: first the whole plan to the beginning, then each gap, by halves.
func (s *shrinker) gather() {
	for i := 0; i < len(s.best.Options.Plan); i++ {
		for range 20 {
			plan := slices.Clone(s.best.Options.Plan)
			if i >= len(plan) {
				return
			}
			before := time.Duration(0)
			least := early
			if i > 0 {
				before, least = plan[i-1].At, time.Second
			}
			gap := plan[i].At - before
			less := max((gap / 2).Round(time.Second), least)
			if i == 0 {
				less = early // at once, or not at all
			}
			if less >= gap {
				break
			}
			for k := i; k < len(plan); k++ {
				plan[k].At -= gap - less
			}
			if !s.try(s.later(plan, gap-less)) {
				break
			}
		}
	}
	s.roundTimes()
}

// later returns the best run with a plan that was moved by so much. It needs no longer than before.
func (s *shrinker) later(plan []script.Event, by time.Duration) sim.Options {
	o := s.with(plan)
	o.Horizon = max(o.Horizon-by, time.Second) + 2*time.Minute // chance may need a moment more
	return o
}

// roundTimes writes the times as people do.
func (s *shrinker) roundTimes() {
	for _, grain := range []time.Duration{time.Minute, time.Second} {
		plan := slices.Clone(s.best.Options.Plan)
		for i := range plan {
			plan[i].At = plan[i].At.Round(grain)
		}
		slices.SortStableFunc(plan, func(a, b script.Event) int { return cmp.Compare(a.At, b.At) })
		if !slices.Equal(plan, s.best.Options.Plan) && s.try(s.later(plan, 0)) {
			return
		}
	}
}

// fewerServers tries the run with one server.
func (s *shrinker) fewerServers() {
	if o := s.best.Options; o.Servers > 1 {
		o.Servers = 1
		if sim.Check(o) == nil {
			s.try(o)
		}
	}
}
