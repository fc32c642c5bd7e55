package sim

import (
	"fmt"
	"time"

	"hale/internal/sim/law"
	"hale/internal/sim/world"
)

// inspectEvery is how often the judge looks at the whole fleet, besides at the end.
const inspectEvery = 6 * time.Hour

// patrol inspects the fleet again and again.
func (j *judge) patrol() {
	j.s.w.After(inspectEvery, func() {
		j.inspect()
		j.patrol()
	})
}

// inspect looks at every belief, touched or not, at the truth about every instance, and at the judge's own running
// counts.
func (j *judge) inspect() {
	for _, c := range law.Crowds(j.s.w) {
		j.truth.Stands(c)
	}
	afresh := judge{s: j.s, wishes: j.wishes, plans: j.plans}
	for i := range j.s.store.beliefs {
		m := &j.s.store.beliefs[i]
		if m.Name == "" {
			continue // never written
		}
		if vm := j.s.w.Current(string(m.Name)); vm != nil && vm.Power == world.Running {
			j.truth.Holds(string(m.Name), law.Disks(vm))
		}
		j.truth.Believed(m)
		afresh.tally(*m, 1)
	}
	j.unknownCopies()
	if j.s.double != nil {
		j.s.double.judge.inspect()
	}
	if afresh.failing != j.failing || afresh.inRepair != j.inRepair {
		j.broken("judge", "", fmt.Sprintf("it counted %d failing and %d in repair, and there are %d and %d",
			j.failing, j.inRepair, afresh.failing, afresh.inRepair))
	}
}
