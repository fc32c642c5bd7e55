package law

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/sim/world"
)

// Left works out once more which causes the policy leaves to a person and takes for no failure.
func Left(spec *policy.Spec, c belief.Cause) bool {
	heal, resumes := spec.Repair.OnExternalStop == policy.ExternalStopHeal, spec.Repair.Has(fleet.StepResume)
	switch c {
	case belief.CausePaused:
		return !heal || !resumes
	case belief.CauseSuspended:
		return !resumes
	case belief.CauseStopped, belief.CauseShutdown:
		return !heal
	default:
		return false
	}
}

// OutOfHours reports whether the policy lets no repair begin at the time.
func OutOfHours(p *policy.Repair, at time.Time) bool { return closed(p.Windows, p.NotEvery, at) }

// closed reports whether the time is in none of the windows, where there are any, or in one of the others: worked out
// once more, from the minutes that were.
func closed(only, not []policy.Window, at time.Time) bool {
	stands := func(windows []policy.Window) bool {
		return slices.ContainsFunc(windows, func(w policy.Window) bool {
			for m := at.Truncate(time.Minute); m.After(at.Add(-w.For)); m = m.Add(-time.Minute) {
				t := m.In(w.Zone)
				on := func(set uint64, n int) bool { return set>>n&1 == 1 }
				date, week := on(w.Days, t.Day()), on(w.Weekdays, int(t.Weekday()))
				days := date && week
				if w.EitherDay {
					days = date || week
				}
				if days && on(w.Minutes, t.Minute()) && on(w.Hours, t.Hour()) && on(w.Months, int(t.Month())) {
					return true
				}
			}
			return false
		})
	}
	return stands(not) || len(only) > 0 && !stands(only)
}

// InUse is for how long a host must be in use again before a hold ends that its provider's maintenance placed.
const InUse = time.Minute

// Covered reports whether one of the holds covers the machine.
func Covered(m *belief.Machine, holds []belief.Hold) bool {
	lies := m.Current.Host
	if m.Current.None() && m.Repair != nil {
		lies = m.Repair.Target.Host
	}
	for i := range holds {
		h := &holds[i]
		if h.Only == "" && (h.Machine == m.Name || h.Machine == "" && (h.Host == "" || h.Host == lies)) {
			return true
		}
	}
	return false
}

// OfTwo are the reasons for which a person is told of what can make two of one.
func OfTwo(r fleet.Reason) bool {
	return slices.Contains([]fleet.Reason{fleet.ReasonTwoHosts, fleet.ReasonStoreOlder, fleet.ReasonInstallation,
		fleet.ReasonSecondRunning}, r)
}

// Believes reports whether the order has hale take the world for what is.
func Believes(o *fleet.Order) bool { return o.Kind == fleet.OrderRecover && o.Believe }

// Fails reports whether a record says that the machine fails although the wanted change had begun, so that what becomes
// of it is wanted: before that nothing was done, and what failed did so by itself. Once the old instance is removed for
// a new one, its build may fail.
func Fails(was *belief.Machine, is *belief.Repair, records []record.Record) bool {
	return was.Repair != nil && was.Repair.ID == is.ID && slices.ContainsFunc(records, func(r record.Record) bool {
		builds := is.Kind.Replaces() && is.Removed && r.Cause == belief.CauseBuild
		return r.Kind == record.IncidentOpen && !builds
	})
}

// Sparing reports whether the operation takes no machine away from those that it serves: with such ones a repair needs
// no place. A build that was not finished gets its mark once a start made it healthy.
func Sparing(op fleet.Op) bool {
	is := world.Op(op)
	return is == world.Start || is == world.Resume || is == world.Hook || is == world.Certify
}

// Unbooked reports whether the ledger has no machine of the number: it left, or the fleet never had so many. A store
// that was put back knows of none that came since.
func Unbooked(l *belief.Ledger, n int) bool {
	return l != nil && (n > l.Size+len(l.Left) || slices.Contains(l.Left, n))
}
