package decide

import (
	"slices"

	"hale/internal/fleet"
	"hale/internal/guard"
)

// seekWitnesses notes the hosts on which a machine is silent, and none is heard of several that should be. A machine alone
// on its host has nobody to bear witness.
func (r *round) seekWitnesses(works []*work) {
	var silent []fleet.HostName
	for _, w := range works {
		if h := w.M.Current.Host; guard.Silent(w.M, w.View, &r.sit) && !slices.Contains(silent, h) {
			silent = append(silent, h)
		}
	}
	if len(silent) == 0 {
		return
	}
	now := make(map[int]*work, len(works))
	for _, w := range works {
		now[w.index] = w
	}
	expected := map[fleet.HostName]int{}
	for i := range r.s.Machines {
		m, v := &r.s.Machines[i].Machine, &r.s.Machines[i]
		if !slices.Contains(silent, m.Current.Host) {
			continue
		}
		if w := now[i]; w != nil {
			m, v = w.M, w.View
		}
		switch {
		case m.Quarantine != nil, r.cannotAnswer(m), guard.Surplus(m, &r.s.Spec):
		case heard(m, v):
			silent = slices.DeleteFunc(silent, func(h fleet.HostName) bool { return h == m.Current.Host })
		default:
			expected[m.Current.Host]++
		}
	}
	r.sit.Mute = slices.DeleteFunc(silent, func(h fleet.HostName) bool { return expected[h] < 2 })
}

// heard reports whether the machine answers, well or not.
func heard(m *fleet.Machine, v *fleet.View) bool {
	return m.Health.Verdict == fleet.VerdictHealthy || guard.Speaks(v)
}
