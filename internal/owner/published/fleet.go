package published

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/probe"
	"hale/internal/state/outbox"
)

// Fleet is one fleet as its owner sees it.
type Fleet struct {
	situation.State
	// Installation is the store's, by which instances are marked; empty: the fleet had no owner yet.
	Installation fleet.Installation

	Wanted policy.Spec // as configured
	// Revision is the store's at the last write of the fleet that is shown here; zero: there was none in this term.
	Revision int64
	Detail   string    // the error behind Acting, if one is
	Idle     time.Time // since when hale does not act; zero: it does, or that is not known
	// FromMemory says that verdicts are among the machines' that could not be written down.
	FromMemory bool
	// AsOf is when hale saw the machines so, where it has not looked at them since; zero: it does look.
	AsOf     time.Time
	Tally    guard.Tally
	Lots     []fleet.Lot // how the machines fare, place by place
	Machines []situation.View
	// Good is how many good answers count towards making a check up, of recovering machines, where Count asked.
	Good map[probe.ID]int
	Post outbox.Standing
	// Lease is for how long its owner surely still holds it, at the moment of the question; 0: it does not.
	Lease time.Duration
}

// Left reports whether the machine has gone by a person's order: nothing is there, and nothing is to be.
func (s *Fleet) Left(m *belief.Machine) bool {
	return guard.Surplus(m, &s.Spec) && m.Current.None() && m.Repair == nil && len(m.Strays) == 0
}

// Braked returns the brake under which the fleet stands, its own or a shared one, with its policy and its arithmetic.
func (s *Fleet) Braked() (belief.Brake, policy.Brake, guard.Tally) {
	b := guard.Braked(s.Brake, &s.Whole)
	policy, tally := guard.BrakePolicy(&b, &s.Spec.Limits), guard.Among(&b, s.Tally, s.Tolls)
	return b, policy, tally
}

// Pending returns what of the configuration waits for a person's word, because it would destroy something.
func (s *Fleet) Pending() change.Plan {
	return change.Pending(&s.Wanted, s.Whole.Ledger, s.Machines, s.Hosts)
}

// Unnoted is why hale's starts cannot be read or noted at the provider's, where something waits for that; empty: they
// can, or the provider does not answer at all, which says it.
func (s *Fleet) Unnoted() string {
	if s.Provider.Standing == fleet.ProviderDown || s.Spec.Mode != policy.ModeAct || !s.Spec.Rolled() {
		return ""
	}
	return s.Roll.Silent
}

// Believed returns the machines with what is known of each.
func (s *Fleet) Believed() func(yield func(*belief.Machine, *situation.View) bool) {
	return func(yield func(*belief.Machine, *situation.View) bool) {
		for i := range s.Machines {
			if !yield(&s.Machines[i].Machine, &s.Machines[i]) {
				return
			}
		}
	}
}
