package sim

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// What a person need not know of before it has lasted for so long.
const (
	fateLasts  = 2 * time.Minute  // machines that are out of reach together
	deafLasts  = 5 * time.Minute  // hosts and providers that carry out nothing
	spoilLasts = 10 * time.Minute // a template from which nothing comes up, while something is to be built
)

// cause counts what only a person can end, or is to know of, once for each: a domain that is out of reach, dark or
// without power, and a provider that carries out nothing, for longer than one waits for such a thing; and what a person
// stopped, and did not start again in the time that the policy gives them. Counted where they become clear are the
// failure of more machines at once than the brake lets pass, unless all that they lack is a start (storms); a bad
// template from which a machine is to be built (spoils); and what makes two of one machine (dawn). What lasts shorter,
// what a step cures, and what has no machine of the fleet is no cause.
func (j *judge) cause(e script.Event) {
	least := deafLasts
	switch e.Verb {
	case verbs.IsCutOff, verbs.IsOutOfSight, verbs.IsParted:
		least = fateLasts
	case verbs.LosesPower, verbs.TakesHale, verbs.TurnedOff, verbs.GoesDark, verbs.IsSilent, verbs.Throttles,
		verbs.ListsNothing:
	case verbs.IsStopped, verbs.IsShutDown, verbs.IsPaused, verbs.IsRescued:
		least = j.s.spec.Repair.ExternalStopHold
		if j.s.spec.Repair.OnExternalStop == fleet.ExternalStopHeal {
			return
		}
	default:
		return
	}
	if d, err := verbs.ParseDomain(e.Subject); err == nil && j.s.w.Members(d, j.isOfFleet) == 0 {
		return
	}
	if e.For == 0 || e.For > least {
		j.s.score.Causes++
	}
}

// storms counts a cause where more machines are down at once than the brake lets pass, and lack more than a start.
func (j *judge) storms() {
	if j.stormy || j.domains > 0 {
		return
	}
	n := 0
	for i := range j.outages {
		name := string(j.s.spec.Name.Machine(i + 1))
		if j.outages[i].open && !j.truth.Personal(name) && j.s.w.Needs(j.s.w.Current(name)) != world.NeedsPower {
			n++
		}
	}
	if n > j.brakeLimit() {
		j.stormy = true
		j.s.score.Causes++
	}
}

// locks counts a locked machine that does not serve as a cause, once for each lock on it.
func (j *judge) locks(o *outage) {
	if !o.locked {
		o.locked = true
		j.s.score.Causes++
	}
}

// spoils counts a bad template as a cause when something is still to be built from it some time later.
func (j *judge) spoils() {
	if j.spoiled {
		return
	}
	j.spoiled = true
	j.s.w.After(spoilLasts, func() {
		if j.spoiled {
			j.s.score.Causes++
		}
	})
}
