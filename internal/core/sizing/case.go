package sizing

import (
	"hale/internal/core/belief"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// CaseOf returns what the rule goes by in a fleet that has bounds. Where the size is only watched, it is the one that
// the fleet would have by now.
func CaseOf(s *situation.State, wanted *policy.Spec, machines []situation.View) Case {
	c := Case{Policy: wanted.Sizing, Size: s.Whole.Ledger.Asked(wanted), Gauges: s.Gauges, Now: s.Now,
		Moved: s.Whole.Sizing}
	if Watched(wanted) && c.Moved != nil && c.Moved.Would > 0 {
		c.Size = c.Policy.Bound(c.Moved.Would)
	}
	if o := s.Whole.Ledger.LastWord(wanted); o.Pinned(s.Now) {
		c.Pinned, c.Until = true, o.Pin.Ends
	}
	for i := range machines {
		m := &machines[i].Machine
		n, ok := m.Name.Ordinal()
		if ok && s.Spec.Has(n) && !s.Whole.Ledger.IsSpare(m.Name) && m.Quarantine == nil && (m.Current.None() ||
			m.Health.Verdict == belief.VerdictStarting) {
			c.Coming++
		}
	}
	return c
}

// Watched reports whether it is only recorded what opinions would do.
func Watched(wanted *policy.Spec) bool {
	return wanted.Mode == policy.ModeObserve || wanted.Sizing.Mode == policy.ModeObserve
}
