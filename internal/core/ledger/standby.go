package ledger

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/round"
	"hale/internal/core/spares"
)

// calmBefore is how long all machines that serve, and the spare, are well before the spare is turned off: what was just
// healed, or built, may fail again.
const calmBefore = 5 * time.Minute

// StandBy says which spares are to be turned off, and which machines that were turned off as spares are to be turned
// on: those that serve by now, as many as machines that cannot serve, and all while another template goes through the
// fleet.
func StandBy(r *round.Round) {
	l, wanted := r.Sit.Whole.Ledger, r.S.Wanted
	if wanted == nil || l == nil || spares.Withheld(&r.Sit) != "" || !wanted.Spares.Off && !anyRests(r) {
		return
	}
	all := candidates(r, l, func(i int) *belief.Machine { return &r.S.Machines[i].Machine })
	lacking := 0
	for i := range all {
		switch o := &all[i]; {
		case !o.Spare && o.Fitness == spares.Lost:
			lacking++
		case o.Spare && o.Fitness > spares.Resting:
			lacking-- // it is on its way, or can take a place now
		}
	}
	awake := !wanted.Spares.Off || l.Update.Goes()
	for i := range all {
		o := &all[i]
		at, known := r.Ordered(o.Machine)
		switch {
		case !known || o.Fitness != spares.Resting:
		case !o.Spare, awake, lacking > 0:
			r.Rises = append(r.Rises, o.Machine)
			r.Open(at)
			if o.Spare {
				lacking--
			}
		}
	}
	if awake || len(r.Rises) > 0 || !calm(r, all) {
		return
	}
	for i := range all {
		if o := &all[i]; o.Spare && o.Fitness == spares.Ready {
			r.Rests = append(r.Rests, o.Machine)
			if at, known := r.Ordered(o.Machine); known {
				r.Open(at)
			}
		}
	}
}

// calm reports whether all machines that serve are well, and have been so for some time, as have the spares that are on.
func calm(r *round.Round, all []spares.One) bool {
	for i := range all {
		o := &all[i]
		if o.Spare && o.Fitness != spares.Ready {
			continue
		}
		at, known := r.Ordered(o.Machine)
		if !known || o.Fitness != spares.Ready ||
			!r.S.Now.Due(r.S.Machines[at].Machine.Health.SinceMono.Add(calmBefore)) {
			return false
		}
	}
	return true
}

// anyRests reports whether a machine is turned off as a spare.
func anyRests(r *round.Round) bool {
	for i := range r.S.Machines {
		if r.S.Machines[i].Machine.Health.Cause == belief.CauseSpareOff {
			return true
		}
	}
	return false
}
