package engine

import (
	"time"

	"hale/internal/core/fleet"
)

// hearPools takes in what the pools say of the fleet's machines.
func (t *term) hearPools(now fleet.Now) {
	if t.members == nil || len(t.own.Spec().Pools) == 0 {
		return
	}
	var words []fleet.PoolWord
	for _, m := range t.members(t.spec.Name) {
		m.Asked = now.Mono.Add(-time.Since(m.At))
		words = append(words, m.PoolWord)
	}
	t.own.SetMembers(words)
}
