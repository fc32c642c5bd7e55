package belief

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Summary is what hale healed since a target was told last. It is never changed in place.
type Summary struct {
	Target policy.TargetName `json:",omitempty"`
	Since  time.Time
	Count  int           `json:",omitempty"` // repairs that worked
	Down   time.Duration `json:",omitempty"` // how long the machines were down, all together
	Steps  []StepCount   `json:",omitempty"` // sorted by step
	First  []HealedNote  `json:",omitempty"` // the first MaxHealed of them
}

// MaxHealed is how many repairs a summary names; the others are only counted.
const MaxHealed = 50

// StepCount is how often a step healed.
type StepCount struct {
	Step fleet.StepKind
	N    int
}

// HealedNote is one repair that worked.
type HealedNote struct {
	Member
	At   time.Time
	Took time.Duration
	Step fleet.StepKind
}

// With returns the summary with one repair more.
func (s Summary) With(n HealedNote) Summary {
	s.Count++
	s.Down += n.Took
	s.Steps = slices.Clone(s.Steps)
	at, known := slices.BinarySearchFunc(s.Steps, n.Step, func(c StepCount, step fleet.StepKind) int {
		return cmp.Compare(c.Step, step)
	})
	if !known {
		s.Steps = slices.Insert(s.Steps, at, StepCount{Step: n.Step})
	}
	s.Steps[at].N++
	if len(s.First) < MaxHealed {
		s.First = append(slices.Clone(s.First), n)
	}
	return s
}

// same reports whether the two say the same: a summary only grows until another one begins.
func (s Summary) same(o Summary) bool {
	return s.Target == o.Target && s.Count == o.Count && s.Since.Equal(o.Since)
}

// Member is one of the machines that a record about a fleet names.
type Member struct {
	Machine fleet.MachineName
	Alias   string `json:",omitempty"` // as in Record
}
