package kinds

import (
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Remarks are sentences about operations, for people.
type Remarks map[fleet.Op]Remark

// Remark is what is to know of an operation where the provider has it, and why it lacks it where it does.
type Remark struct{ Has, Lacks string }

// Of returns what is said of the skill; empty: nothing is to say.
func (r Remarks) Of(s provider.Skill) string {
	if s.Can {
		return r[s.Op].Has
	}
	return r[s.Op].Lacks
}
