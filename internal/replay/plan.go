package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hale/internal/fleet"
	"hale/internal/sim"
)

// lead is how long nothing happens at first, so that the simulated hale has seen every machine.
const lead = 10 * time.Minute

// plan makes simulated events of what was recorded.
type plan struct {
	name   fleet.Name // of the fleet that it happens to
	size   int
	origin time.Time
	end    time.Time
	events []sim.Event
	of     map[*Incident]int // the place of each incident's event
	unfit  []string
}

func newPlan(h *history, spec fleet.Spec, from, to time.Time) *plan {
	p := &plan{name: spec.Name, size: spec.Size, origin: from, end: to, of: map[*Incident]int{}}
	beyond := map[string]bool{}
	for _, i := range h.incidents {
		n, ok := fleet.MachineName(i.Machine).Ordinal()
		if !ok || n > p.size {
			beyond[i.Machine] = true
			continue
		}
		p.of[i] = len(p.events)
		p.events = append(p.events, p.event(i, n))
	}
	if len(beyond) > 0 {
		p.unfit = append(p.unfit, fmt.Sprintf("%d machines of the journal are beyond the fleet's size, %d", len(beyond), p.size))
	}
	for _, s := range h.provider {
		p.shared(s, "provider", sim.IsSilent, "")
	}
	for _, s := range h.isolated {
		p.shared(s, "all", sim.IsOutOfSight, "hale-1")
	}
	return p
}

func (p *plan) at(t time.Time) time.Duration { return lead + t.Sub(p.origin) }

func (p *plan) shared(s span, subject string, verb sim.Verb, arg string) {
	to := s.to
	if to.IsZero() {
		to = p.end
	}
	p.events = append(p.events, sim.Event{At: p.at(s.from), Subject: subject, Verb: verb, Arg: arg, For: max(to.Sub(s.from), time.Second)})
}

// event is what happens to the machine in the simulated world.
func (p *plan) event(i *Incident, n int) sim.Event {
	e := sim.Event{At: p.at(i.From), Subject: string(p.name.Machine(n))}
	e.Verb = i.verb()
	if over := i.over(); !over.IsZero() {
		e.For = max(over.Sub(i.From), time.Second)
	}
	return e
}

// verb is the fault that shows as the incident did, and that what was tried cures and does not cure.
func (i *Incident) verb() sim.Verb {
	switch i.Cause {
	case fleet.CauseStopped:
		return sim.IsStopped
	case fleet.CauseShutdown:
		return sim.IsShutDown
	case fleet.CausePaused:
		return sim.IsPaused
	case fleet.CauseSuspended:
		return sim.Suspends
	case fleet.CauseIOError:
		return sim.DiskFull
	case fleet.CauseRescued:
		return sim.IsRescued
	case fleet.CauseCrashed:
		return sim.Crashes
	case fleet.CauseOff:
		return sim.ShutsDown
	case fleet.CauseGone:
		return sim.Vanishes
	case fleet.CausePanic, fleet.CauseError:
		return sim.Panics
	case fleet.CauseNone, fleet.CauseChecks, fleet.CauseMissing, fleet.CauseBuild, fleet.CauseBlind, fleet.CauseOrdered, fleet.CauseDisabled:
	}
	if slices.Contains(i.failed, fleet.StepReboot) || slices.Contains(i.failed, fleet.StepRecreate) {
		return sim.LosesDisk // a reset did not help
	}
	switch i.result {
	case fleet.ResultRefused:
		return sim.StopsApp
	case fleet.ResultStatus, fleet.ResultBody, fleet.ResultProtocol, fleet.ResultTLS, fleet.ResultExit:
		return sim.Fails503
	case fleet.ResultUnreachable:
		return sim.LosesNet
	default:
	}
	if i.Nature == Transient {
		return sim.IsSlow
	}
	return sim.Hangs
}

// run sets the simulated run up.
func (p *plan) run(o *sim.Options) {
	o.Plan = slices.Clone(p.events)
	slices.SortStableFunc(o.Plan, func(a, b sim.Event) int { return cmp.Compare(a.At, b.At) })
	o.Horizon = p.at(p.end) + time.Second
	o.Calm = 6 * time.Hour
}
