package provider

import (
	"slices"
	"strings"

	"hale/internal/core/fleet"
)

// Skill is one operation, and whether a provider has it.
type Skill struct {
	Op  fleet.Op
	Can bool
}

// Skills returns all operations of providers by name, and which of them the provider has.
func Skills(p Provider) []Skill {
	var out []Skill
	lacks := Cannot(p)
	for _, o := range everyone {
		out = append(out, Skill{o.op, true})
	}
	for _, a := range abilities {
		for _, o := range a.operations {
			out = append(out, Skill{o.op, !slices.Contains(lacks, o.op)})
		}
	}
	slices.SortFunc(out, func(a, b Skill) int { return strings.Compare(string(a.Op), string(b.Op)) })
	return out
}
