package sim

import (
	"fmt"
	"time"

	"hale/internal/fleet"
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

// inspect looks at every belief, touched or not, at the truth about every instance, and at the judge's own running counts.
func (j *judge) inspect() {
	running := j.s.w.Running()
	afresh := judge{s: j.s, wishes: j.wishes, given: j.given, plans: j.plans}
	for i := range j.s.store.beliefs {
		m := &j.s.store.beliefs[i]
		name := string(j.s.spec.Name.Machine(i + 1))
		if n := running[name]; n > 1 && !j.vouched(name) {
			j.broken("L1", name, fmt.Sprintf("%d instances run at once", n))
		}
		if m.Name == "" {
			continue // never written
		}
		j.believed(m)
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

// believed checks what must hold of each belief by itself.
func (j *judge) believed(m *fleet.Machine) {
	name := string(m.Name)
	if err := m.Check(); err != nil {
		j.broken("belief", name, err.Error())
	}
	if m.Waiting == fleet.ReasonLawBroken {
		j.broken("belief", name, "hale itself found a law broken and stopped touching it")
	}
	if m.Quarantine != nil && (m.Incident == nil || !m.Incident.Paged) {
		j.broken("L8", name, "in quarantine, and nobody was told")
	}
}
