package judge

import (
	"fmt"
	"time"

	"hale/internal/sim/law"
	"hale/internal/sim/world"
)

// inspectEvery is how often the judge looks at the whole fleet, besides at the end.
const inspectEvery = 6 * time.Hour

// Patrol inspects the fleet again and again.
func (j *Judge) Patrol() {
	j.w.After(inspectEvery, func() {
		j.inspect()
		j.Patrol()
	})
}

// inspect looks at every belief, touched or not, at the truth about every instance, and at the judge's own running
// counts.
func (j *Judge) inspect() {
	for _, c := range law.Crowds(j.w) {
		j.truth.Stands(c)
	}
	afresh := Judge{w: j.w, store: j.store, options: j.options, spec: j.spec, wishes: j.wishes, plans: j.plans,
		holds: j.holds}
	for i := range j.store.Beliefs {
		m := &j.store.Beliefs[i]
		if m.Name == "" {
			continue // never written
		}
		if vm := j.w.Current(string(m.Name)); vm != nil && vm.Power == world.Running {
			j.truth.Holds(string(m.Name), law.Disks(vm))
		}
		j.truth.Believed(m)
		afresh.tally(*m, 1)
	}
	j.unknownCopies()
	if j.second != nil {
		j.second.inspect()
	}
	if afresh.failing != j.failing || afresh.inRepair != j.inRepair {
		j.Broken("judge", "", fmt.Sprintf("it counted %d failing and %d in repair, and there are %d and %d",
			j.failing, j.inRepair, afresh.failing, afresh.inRepair))
	}
}
