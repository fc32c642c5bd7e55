package spares

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// Fitness is how fit a machine is to serve, the fittest last.
type Fitness int

// The degrees.
const (
	Lost    Fitness = iota // it cannot serve
	Resting                // hale turned it off, and it can serve once it is started
	Unsure                 // it may
	Ready                  // it is known to be well
)

// Fit returns how fit the machine is to serve.
func Fit(m *belief.Machine, s *guard.Situation) Fitness {
	failing := m.Health.Verdict == belief.VerdictUnhealthy && m.Incident != nil && !m.Incident.Blind() &&
		m.Health.Cause != belief.CauseDisabled // its host is to be emptied, and it serves as ever until it leaves
	parked := m.Health.Cause == belief.CauseParked // no failure, and it serves no one
	rests := m.Health.Cause == belief.CauseSpareOff
	switch {
	case m.Current.None(), m.Quarantine != nil, failing, parked, m.Repair.Away():
		return Lost
	case rests && m.Repair == nil && m.Incident == nil:
		return Resting
	case m.Health.Verdict != belief.VerdictHealthy, !m.Current.Certified, m.Current.Raw, !m.Address.IsValid(),
		m.Repair != nil, m.Incident != nil, m.Contest != nil, m.Elsewhere != nil, guard.HoldOn(m, s) != nil,
		m.HasChore(s.Now):
		return Unsure
	}
	return Ready
}

// Withheld says why no machine changes its role now, whatever it looks like; empty: it may. The brake is no reason: a
// well machine that takes a place destroys nothing.
func Withheld(s *guard.Situation) fleet.Reason {
	switch r := guard.AnyCall(s); {
	case r != "":
		return r
	case s.Whole.Doubt.Reason != "":
		return s.Whole.Doubt.Reason
	case !s.Now.Due(s.SteadyAt):
		return fleet.ReasonAmnesty
	}
	return ""
}

// One is a machine of the fleet that stays.
type One struct {
	Machine fleet.MachineName
	Spare   bool
	Fitness Fitness
	// Renewed says that it is as a rollout wants it, and Relieved that one that is so is to take its place, since it is
	// to be changed next.
	Renewed, Relieved bool
}

// Need is how many machines are to serve, and how many are to stand by.
type Need struct{ Serving, Spares int }

// Handover is a machine that serves from now on, or one that stands by from now on, or both: the one takes the other's
// place.
type Handover struct{ Serves, StandsBy fleet.MachineName }

// Assign changes the roles of machines, in the order of their numbers, where there is need, and returns what it
// changed.
func Assign(all []One, need Need) []Handover {
	var out []Handover
	for {
		spares, serving := 0, 0
		for i := range all {
			if all[i].Spare {
				spares++
			} else {
				serving++
			}
		}
		h := Handover{}
		switch up, down := fittest(all), weakest(all); {
		case serving < need.Serving && up >= 0:
			all[up].Spare, h.Serves = false, all[up].Machine
		case serving > need.Serving && spares < need.Spares && down >= 0:
			all[down].Spare, h.StandsBy = true, all[down].Machine
		case up >= 0 && down >= 0 && all[up].Fitness == Ready && all[down].Fitness == Lost:
			h = exchange(all, up, down)
		default:
			if up, down = successor(all), relieved(all); up < 0 || down < 0 {
				return out
			}
			h = exchange(all, up, down)
		}
		out = append(out, h)
	}
}

// exchange has the one machine serve in the place of the other.
func exchange(all []One, up, down int) Handover {
	all[up].Spare, all[down].Spare = false, true
	return Handover{Serves: all[up].Machine, StandsBy: all[down].Machine}
}

// successor returns the spare that takes the place of a machine that is to be changed, and relieved that machine; -1:
// there is none.
func successor(all []One) int {
	return slices.IndexFunc(all, func(o One) bool { return o.Spare && o.Renewed && o.Fitness == Ready })
}

func relieved(all []One) int {
	return slices.IndexFunc(all, func(o One) bool { return !o.Spare && o.Relieved && !o.Renewed })
}

// fittest returns the spare that takes a place next: of the fittest the first; -1: there is none.
func fittest(all []One) int {
	best := -1
	for i := range all {
		if all[i].Spare && (best < 0 || all[i].Fitness > all[best].Fitness) {
			best = i
		}
	}
	return best
}

// weakest returns the machine that gives its place away next: of those that are least fit the last; -1: there is none.
func weakest(all []One) int {
	worst := -1
	for i := range all {
		if !all[i].Spare && (worst < 0 || all[i].Fitness <= all[worst].Fitness) {
			worst = i
		}
	}
	return worst
}
