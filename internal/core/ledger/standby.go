package ledger

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/round"
	"hale/internal/core/spares"
)

// calmBefore is how long all machines that serve, and the spare, are well before the spare is turned off: what was just
// healed, or built, may fail again.
const calmBefore = 5 * time.Minute

// OpenSpares opens the spares that are to be off while none is needed: they are well, and nothing else may be heard of
// them.
func OpenSpares(r *round.Round) {
	l := r.S.Whole.Ledger
	if l == nil || r.S.Wanted == nil || !r.S.Wanted.Spares.Off {
		return
	}
	for _, name := range l.Spares {
		if at, known := r.Ordered(name); known {
			r.Open(at)
		}
	}
}

// StandBy says which spares are to be turned off, and which machines that were turned off as spares are to be turned
// on: those that serve by now, as many as machines that cannot serve, and all while another template goes through the
// fleet. It goes by what is believed of the machines, by their index.
func StandBy(r *round.Round, believed func(int) *belief.Machine) {
	l, wanted := r.Sit.Whole.Ledger, r.S.Wanted
	if wanted == nil || l == nil || spares.Withheld(&r.Sit) != "" || !wanted.Spares.Off && !anyRests(r) {
		return
	}
	all := candidates(r, l, believed)
	awake := !wanted.Spares.Off || l.Update.Goes()
	r.Rises = rises(all, awake)
	if awake || len(r.Rises) > 0 || !calm(r, all, believed) {
		return
	}
	for i := range all {
		if o := &all[i]; o.Spare && o.Fitness == spares.Ready {
			r.Rests = append(r.Rests, o.Machine)
		}
	}
}

// rises returns which of the machines that are off are to be turned on, where all are to be awake, or only as many as
// are needed.
func rises(all []spares.One, awake bool) (on []fleet.MachineName) {
	lacking := 0
	for i := range all {
		switch o := &all[i]; {
		case !o.Spare && o.Fitness == spares.Lost:
			lacking++
		case o.Spare && o.Fitness > spares.Resting:
			lacking-- // it is on its way, or can take a place now
		}
	}
	for i := range all {
		switch o := &all[i]; {
		case o.Fitness != spares.Resting:
		case !o.Spare, awake, lacking > 0:
			on = append(on, o.Machine)
			if o.Spare {
				lacking--
			}
		}
	}
	return on
}

// calm reports whether all machines that serve are well, and have been so for some time, as have the spares that are
// on.
func calm(r *round.Round, all []spares.One, believed func(int) *belief.Machine) bool {
	for i := range all {
		o := &all[i]
		if o.Spare && o.Fitness != spares.Ready {
			continue
		}
		at, known := r.Ordered(o.Machine)
		if !known || o.Fitness != spares.Ready ||
			!r.S.Now.Due(believed(at).Health.SinceMono.Add(calmBefore)) {
			return false
		}
	}
	return true
}

// anyRests reports whether a machine is turned off as a spare. None that is so is well, so that all of them are open.
func anyRests(r *round.Round) bool {
	return slices.ContainsFunc(r.S.Open, func(i int) bool {
		return r.S.Machines[i].Machine.Health.Cause == belief.CauseSpareOff
	})
}
