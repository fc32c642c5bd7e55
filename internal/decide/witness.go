package decide

import (
	"slices"

	"hale/internal/fleet"
	"hale/internal/guard"
)

// mute returns the hosts on which a machine is silent, and none is heard of several that should be. A machine alone on
// its host has no other to bear witness.
func mute(works []*work, all []fleet.View, s *guard.Situation, away func(*fleet.Machine) bool) []fleet.HostName {
	var silent []fleet.HostName
	for _, w := range works {
		if h := w.M.Current.Host; guard.Silent(w.M, w.View, s) && !slices.Contains(silent, h) {
			silent = append(silent, h)
		}
	}
	if len(silent) == 0 {
		return nil
	}
	now := make(map[int]*work, len(works))
	for _, w := range works {
		now[w.index] = w
	}
	expected := map[fleet.HostName]int{}
	for i := range all {
		m, v := &all[i].Machine, &all[i]
		if !slices.Contains(silent, m.Current.Host) {
			continue
		}
		if w := now[i]; w != nil {
			m, v = w.M, w.View
		}
		switch {
		case m.Quarantine != nil, away(m), guard.Surplus(m, &s.Spec):
		case heard(m, v):
			silent = slices.DeleteFunc(silent, func(h fleet.HostName) bool { return h == m.Current.Host })
		default:
			expected[m.Current.Host]++
		}
	}
	return slices.DeleteFunc(silent, func(h fleet.HostName) bool { return expected[h] < 2 })
}

// heard reports whether the machine answers, well or not.
func heard(m *fleet.Machine, v *fleet.View) bool {
	return m.Health.Verdict == fleet.VerdictHealthy || guard.Speaks(v)
}
