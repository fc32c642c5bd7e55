package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
)

// lead is how long nothing happens at first, so that the simulated hale has seen every machine.
const lead = 10 * time.Minute

// plan makes simulated events of what was recorded.
type plan struct {
	name   fleet.Name // of the fleet that it happens to
	size   int
	origin time.Time
	end    time.Time
	events []script.Event
	of     map[*Incident]int // the place of each incident's event
	unfit  []string
}

func newPlan(h *history, spec policy.Spec, from, to time.Time) *plan {
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
		p.unfit = append(p.unfit,
			fmt.Sprintf("%d machines of the journal are beyond the fleet's size, %d", len(beyond), p.size))
	}
	for _, s := range h.provider {
		p.shared(s, "provider", verbs.IsSilent, "")
	}
	for _, s := range h.isolated {
		p.shared(s, "all", verbs.IsOutOfSight, "hale-1")
	}
	return p
}

func (p *plan) at(t time.Time) time.Duration { return lead + t.Sub(p.origin) }

func (p *plan) shared(s span, subject string, verb script.Verb, arg string) {
	to := s.to
	if to.IsZero() {
		to = p.end
	}
	p.events = append(p.events, script.Event{
		At: p.at(s.from), Subject: subject, Verb: verb, Arg: arg, For: max(to.Sub(s.from), time.Second),
	})
}

// event is what happens to the machine in the simulated world.
func (p *plan) event(i *Incident, n int) script.Event {
	e := script.Event{At: p.at(i.From), Subject: string(p.name.Machine(n))}
	e.Verb = i.verb()
	if over := i.over(); !over.IsZero() {
		e.For = max(over.Sub(i.From), time.Second)
	}
	return e
}

// verb is the fault that shows as the incident did, and that what was tried cures and does not cure.
func (i *Incident) verb() script.Verb {
	switch i.Cause {
	case belief.CauseStopped:
		return verbs.IsStopped
	case belief.CauseShutdown:
		return verbs.IsShutDown
	case belief.CausePaused:
		return verbs.IsPaused
	case belief.CauseSuspended:
		return verbs.Suspends
	case belief.CauseIOError:
		return verbs.DiskFull
	case belief.CauseRescued:
		return verbs.IsRescued
	case belief.CauseCrashed:
		return verbs.Crashes
	case belief.CauseOff:
		return verbs.ShutsDown
	case belief.CauseGone:
		return verbs.Vanishes
	case belief.CausePanic, belief.CauseError:
		return verbs.Panics
	case belief.CauseNone, belief.CauseChecks, belief.CauseMissing, belief.CauseBuild, belief.CauseBlind,
		belief.CauseOrdered, belief.CauseDisabled, belief.CauseParked, belief.CauseSpareOff, belief.CauseMarked:
	}
	if slices.Contains(i.failed, fleet.StepReboot) || slices.Contains(i.failed, fleet.StepRecreate) {
		return verbs.LosesDisk // a reset did not help
	}
	switch i.result {
	case fleet.ResultRefused:
		return verbs.StopsApp
	case fleet.ResultStatus, fleet.ResultBody, fleet.ResultProtocol, fleet.ResultTLS, fleet.ResultExit:
		return verbs.Fails503
	case fleet.ResultUnreachable:
		return verbs.LosesNet
	default:
	}
	if i.Nature == Transient {
		return verbs.IsSlow
	}
	return verbs.Hangs
}

// run sets the simulated run up.
func (p *plan) run(o *sim.Options) {
	o.Plan = slices.Clone(p.events)
	slices.SortStableFunc(o.Plan, func(a, b script.Event) int { return cmp.Compare(a.At, b.At) })
	o.Horizon = p.at(p.end) + time.Second
	o.Calm = 6 * time.Hour
}
