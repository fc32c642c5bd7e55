package judge

import (
	"time"

	"hale/internal/core/policy"
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
func (j *Judge) cause(e script.Event) {
	least := deafLasts
	switch e.Verb {
	case verbs.IsCutOff, verbs.IsOutOfSight, verbs.IsParted:
		least = fateLasts
	case verbs.LosesPower, verbs.TakesHale, verbs.TurnedOff, verbs.GoesDark, verbs.IsSilent, verbs.Throttles,
		verbs.ListsNothing:
	case verbs.IsStopped, verbs.IsShutDown, verbs.IsPaused, verbs.IsRescued:
		least = j.spec.Repair.ExternalStopHold
		if j.spec.Repair.OnExternalStop == policy.ExternalStopHeal {
			return
		}
	default:
		return
	}
	if d, err := verbs.ParseDomain(e.Subject); err == nil && j.w.Members(d, j.IsOfFleet) == 0 {
		return
	}
	if e.For == 0 || e.For > least {
		j.score.Causes++
	}
}

// storms counts a cause where more machines are down at once than the brake lets pass, and lack more than a start.
func (j *Judge) storms() {
	if j.stormy || j.domains > 0 {
		return
	}
	n := 0
	for i := range j.outages {
		name := string(j.spec.Name.Machine(i + 1))
		if j.outages[i].open && !j.truth.Personal(name) && j.w.Needs(j.w.Current(name)) != world.NeedsPower {
			n++
		}
	}
	if n > j.brakeLimit() {
		j.stormy = true
		j.score.Causes++
	}
}

// locks counts a locked machine that does not serve as a cause, once for each lock on it.
func (j *Judge) locks(o *outage) {
	if !o.locked {
		o.locked = true
		j.score.Causes++
	}
}

// spoils counts a bad template as a cause when something is still to be built from it some time later.
func (j *Judge) spoils() {
	if j.spoiled {
		return
	}
	j.spoiled = true
	j.w.After(spoilLasts, func() {
		if j.spoiled {
			j.score.Causes++
		}
	})
}
