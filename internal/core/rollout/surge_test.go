package rollout_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// surges has a machine beyond the size come for the update.
func (s *story) surges() *belief.Machine {
	s.l = s.l.Surged(1, belief.Surge{Order: s.l.Update.Order}, "web")
	s.r.S.Spec.Size = s.l.Size
	name := s.l.Surge[len(s.l.Surge)-1].Machine
	s.r.S.Machines = append(s.r.S.Machines, situation.View{Machine: belief.Machine{Name: name}})
	return s.machine(len(s.r.S.Machines))
}

// serves has the update end on the machine beyond the size.
func (s *story) serves(m *belief.Machine) {
	m.Current = belief.Incarnation{ID: "new-vm", Certified: true}
	m.Health.Verdict = belief.VerdictHealthy
	s.changed(len(s.r.S.Machines))
}

// S39: no machine of the size is changed before the one beyond it serves, and then as many as serve beyond the size.
func TestOneBeyondTheSizeServesFirst(t *testing.T) {
	t.Parallel()
	s := tell(t, 3, policy.Update{Surge: 1})
	s.chose(0) // its place is not booked yet
	extra := s.surges()
	s.chose(0, "web-4")
	extra.Repair = &belief.Repair{Kind: belief.RepairUpdate, Order: "o1"}
	s.chose(0)
	extra.Repair = nil
	s.serves(extra)
	s.chose(0, "web-3")
	extra.Health.Verdict = belief.VerdictSuspect
	s.chose(0)
	if s.said(fleet.ReasonRolloutWaits) != 2 {
		t.Errorf("it is said %d times why it waits", s.said(fleet.ReasonRolloutWaits))
	}
}

// S56: the machine beyond the size tries the template, and when it fails the others keep theirs.
func TestOneBeyondTheSizeFails(t *testing.T) {
	t.Parallel()
	s := tell(t, 3, policy.Update{Surge: 1})
	extra := s.surges()
	extra.Change = &belief.Change{Order: "o0", Ended: fleet.ReasonRemoved} // one that had its number left long ago
	s.chose(0, "web-4")
	extra.Change.Order = "o1" // or by the plan that brought the other template, too
	s.chose(0, "web-4")
	extra.Change = &belief.Change{Order: "o1", Ended: fleet.ReasonNotVerified}
	s.chose(0)
	if s.l.Update.Stopped != fleet.ReasonUpdateStopped {
		t.Errorf("the update is stopped for %q", s.l.Update.Stopped)
	}
}

// S39: one that came for another order is not changed, whether it goes already or not.
func TestOneBeyondTheSizeOfAnotherOrderIsNotChanged(t *testing.T) {
	t.Parallel()
	s := tell(t, 3, policy.Update{Surge: 1})
	s.serves(s.surges())
	u := *s.l.Update
	u.Order, u.Edition = "o2", 3
	s.l = s.l.Updated(&u)
	s.l.Removals = []belief.Removal{{Machine: "web-4", Why: fleet.ReasonSurgeOver, Named: true}}
	s.chose(0) // it serves until so many others do, and stands in for none of the size
	s.serves(s.surges())
	s.chose(0, "web-2", "web-3") // as many as serve beyond the size, whatever they came for
}
