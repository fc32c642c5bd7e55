package health

import (
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Truth is Kleene's three-valued truth.
type Truth int8

// The truth values.
const (
	Unknown Truth = iota
	False
	True
)

// Evaluate computes the condition. A term is true when its check is down. Any, all and at_least are decided as soon as
// the known terms decide them; otherwise the unknown ones make the whole unknown. An empty condition is unknown.
func Evaluate(c policy.Condition, term func(fleet.CheckName) Truth) Truth {
	if c.Op == policy.OpTerm {
		return term(c.Term)
	}
	if len(c.Of) == 0 {
		return Unknown
	}
	yes, unknown := 0, 0
	for _, sub := range c.Of {
		switch Evaluate(sub, term) {
		case True:
			yes++
		case Unknown:
			unknown++
		case False:
		}
	}
	need := 1
	switch c.Op {
	case policy.OpAll:
		need = len(c.Of)
	case policy.OpAtLeast:
		need = c.N
	case policy.OpAny, policy.OpTerm:
	}
	switch {
	case yes >= need:
		return True
	case yes+unknown < need:
		return False
	}
	return Unknown
}

// Mentions reports whether the condition rests on the term.
func Mentions(c policy.Condition, name fleet.CheckName) bool {
	if c.Op == policy.OpTerm {
		return c.Term == name
	}
	for _, sub := range c.Of {
		if Mentions(sub, name) {
			return true
		}
	}
	return false
}
