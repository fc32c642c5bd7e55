package health

import (
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Truth is Kleene's three-valued truth.
type Truth int8

// The truth values, and what a term is that has nothing to say: the condition is judged as if it did not stand there.
const (
	Unknown Truth = iota
	False
	True
	Absent
)

// Evaluate computes the condition, which is never Absent itself. A term is true when its check is down. Any, all and
// at_least are decided as soon as the known terms decide them; otherwise the unknown ones make the whole unknown. A
// condition without any term is unknown.
func Evaluate(c policy.Condition, term func(fleet.CheckName) Truth) Truth {
	if truth := evaluate(c, term); truth != Absent {
		return truth
	}
	return Unknown
}

func evaluate(c policy.Condition, term func(fleet.CheckName) Truth) Truth {
	if c.Op == policy.OpTerm {
		return term(c.Term)
	}
	yes, unknown, present := 0, 0, 0
	for _, sub := range c.Of {
		truth := evaluate(sub, term)
		if truth != Absent {
			present++
		}
		switch truth {
		case True:
			yes++
		case Unknown:
			unknown++
		case False, Absent:
		}
	}
	if present == 0 {
		return Absent
	}
	need := 1
	switch c.Op {
	case policy.OpAll:
		need = present
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
