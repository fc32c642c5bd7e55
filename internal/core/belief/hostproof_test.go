package belief_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// What was left behind cut may write again once that was seen, from then on until it is gone; what was seen before it
// was left says nothing.
func TestL1ACutThatWasUndoneIsNotForgotten(t *testing.T) {
	t.Parallel()
	left := fleet.Now{Mono: 1000, Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	host := func(a fleet.Access, at fleet.Instant) fleet.Host {
		return fleet.Host{Name: "h1", Fence: fleet.Means{Access: a, AccessAt: at}}
	}
	for name, c := range map[string]struct {
		proof fleet.Proof
		seen  []fleet.Host
		open  bool
	}{
		"cut since":   {fleet.ProofAccessCut, []fleet.Host{host(fleet.AccessCut, 1001)}, false},
		"open since":  {fleet.ProofAccessCut, []fleet.Host{host(fleet.AccessOpen, 1001)}, true},
		"open before": {fleet.ProofAccessCut, []fleet.Host{host(fleet.AccessOpen, 1000)}, false},
		"open, and cut again": {fleet.ProofAccessCut, []fleet.Host{host(fleet.AccessOpen, 1001),
			host(fleet.AccessCut, 1002)}, true},
		"nobody knows": {fleet.ProofAccessCut, []fleet.Host{host(fleet.AccessUnknown, 0)}, false},
		"another host is open": {fleet.ProofAccessCut, []fleet.Host{{Name: "h2",
			Fence: fleet.Means{Access: fleet.AccessOpen, AccessAt: 1001}}}, false},
		"it was off, and not cut":    {fleet.ProofHostOff, []fleet.Host{host(fleet.AccessOpen, 1001)}, false},
		"somebody's word that it is": {fleet.ProofWord, []fleet.Host{host(fleet.AccessOpen, 1001)}, false},
	} {
		var m belief.Machine
		m.Leave(belief.Incarnation{ID: "old", Host: "h1"}, c.proof, left)
		before := slices.Clone(m.Left)
		was, told := m.Left, 0
		for _, h := range c.seen {
			told += len(m.Lapse(h))
		}
		if m.Rivalled() != c.open || (told == 1) != c.open || told > 1 {
			t.Errorf("%s: rivalled %t, told %d times", name, m.Rivalled(), told)
		}
		if !slices.Equal(was, before) {
			t.Errorf("%s: what others hold was changed", name)
		}
		m.Retrieve("old")
		if m.Rivalled() {
			t.Errorf("%s: rivalled by what is gone", name)
		}
	}
}

// A new owner has other clocks, and counts only what it sees itself.
func TestARestartCountsNoCutThatOthersSaw(t *testing.T) {
	t.Parallel()
	m := belief.Machine{Repair: &belief.Repair{
		Intent: &belief.Intent{Op: fleet.OpCreate},
		Climb: belief.Climb{
			Aim:   belief.Aim{Finding: belief.Finding{Proof: fleet.ProofAccessCut, ProvenAt: 5000}},
			Stage: belief.Stage{Phase: belief.PhaseAct},
		},
	}}
	m.Leave(belief.Incarnation{ID: "old", Host: "h1"}, fleet.ProofAccessCut, fleet.Now{Mono: 5000})
	was := m.Left
	m = m.Restart(fleet.Now{Mono: 10}, policy.Spec{})
	if m.Repair.ProvenAt != 0 || was[0].Since != 5000 {
		t.Errorf("%+v, %+v", m.Repair, was)
	}
	if m.Lapse(fleet.Host{Name: "h1", Fence: fleet.Means{Access: fleet.AccessOpen, AccessAt: 10}}); m.Rivalled() {
		t.Error("what was seen before the take-over counts")
	}
	if m.Lapse(fleet.Host{Name: "h1", Fence: fleet.Means{Access: fleet.AccessOpen, AccessAt: 11}}); !m.Rivalled() {
		t.Error("what was seen after the take-over does not count")
	}
}
